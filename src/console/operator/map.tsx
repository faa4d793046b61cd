import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Country, Hint, Panel, Reading, Rows } from '../shared/parts.tsx'
import { type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { columns, rowCount, tiles } from './tiles.ts'

const mapMessages = messages({
  ...operatorTexts,
  title: pair('Map', 'Карта'),
  about: pair(
    'A tile is a country. The stronger its colour, the more customers have proxies there. A dot marks a node, a ' +
      'hollow dot a node that is not online. The shop does not look up where customers are.',
    'Плитка — страна. Чем гуще её цвет, тем больше покупателей с прокси в этой стране. Точка — узел, пустая точка — ' +
      'узел не на связи. Где находятся сами покупатели, магазин не определяет.',
  ),
  drawing: phrase(
    'Countries with nodes: {nodes}. Countries with proxies of customers: {held}.',
    'Стран с узлами: {nodes}. Стран с прокси покупателей: {held}.',
  ),
  perSecond: pair('Mbit/s', 'Мбит/с'),
  rateAbout: pair(
    'Mean of the last 1 to 6 minutes, both directions together.',
    'Среднее за последние 1–6 минут, оба направления вместе.',
  ),
  here: pair('Nodes', 'Узлы'),
})

type Live = OperatorAnswer<'getLiveNetwork'>
type Place = {
  readonly code: string
  readonly nodes: Live['nodes']
  readonly held: Live['countries'][number] | undefined
}

const size = 28

function placesOf({ nodes, countries }: Live): Place[] {
  const codes = new Set([
    ...nodes.flatMap(({ country_code: code }) => code ?? []),
    ...countries.map(({ country }) => country),
  ])
  const places = [...codes].map((code) => ({
    code,
    nodes: nodes.filter((each) => each.country_code === code),
    held: countries.find((each) => each.country === code),
  }))
  return places.toSorted(
    (a, b) => (b.held?.customers ?? 0) - (a.held?.customers ?? 0) || b.nodes.length - a.nodes.length,
  )
}

/** Open tunnels and Mbit/s of each node, and where nodes and customers' proxies are. */
export function LiveMap() {
  const { t } = useMessages(mapMessages)
  return (
    <Panel title={t.title} className="stack">
      <Reading of={useRead('getLiveNetwork', {}, { everyMs: 10_000 })} height={420}>
        {(live) => <Shown of={live} />}
      </Reading>
    </Panel>
  )
}

function Shown({ of }: { readonly of: Live }) {
  const { t, format } = useMessages(mapMessages)
  const places = placesOf(of)
  const max = Math.max(1, ...places.map(({ held }) => held?.customers ?? 0))
  const byCode = new Map(places.map((each) => [each.code, each]))
  const label = t.drawing(
    format.number(places.filter(({ nodes }) => nodes.length > 0).length),
    format.number(places.filter(({ held }) => held).length),
  )
  return (
    <>
      <Hint>{t.about}</Hint>
      <svg className="map" viewBox={`0 0 ${columns * size} ${rowCount * size}`} role="img" aria-label={label}>
        {tiles.map(({ code, column, row }) => (
          <TileOf key={code} code={code} x={column * size} y={row * size} place={byCode.get(code)} max={max} />
        ))}
      </svg>
      <Rows
        label={t.title}
        rows={places}
        keyOf={(row) => row.code}
        columns={(column) => [
          column(t.country, (row) => <Country code={row.code} />),
          column.text(t.here, (row) =>
            row.nodes.map(({ name }, index) => (
              <span key={name}>
                {index > 0 && ', '}
                <a href={`#/network/${name}`}>{name}</a>
              </span>
            )),
          ),
          column.number(t.tunnels, (row) =>
            format.number(row.nodes.reduce((sum, each) => sum + (each.tunnels ?? 0), 0)),
          ),
          column.number(t.perSecond, (row) =>
            format.number(row.nodes.reduce((sum, each) => sum + (each.mbit_per_second ?? 0), 0)),
          ),
          column.number(t.activeProxies, (row) => format.number(row.held?.proxies ?? 0)),
          column.number(t.customers, (row) => format.number(row.held?.customers ?? 0)),
        ]}
      />
      <Hint>{t.rateAbout}</Hint>
    </>
  )
}

type TileProps = {
  readonly code: string
  readonly x: number
  readonly y: number
  readonly place: Place | undefined
  readonly max: number
}

function TileOf({ code, x, y, place, max }: TileProps) {
  const customers = place?.held?.customers ?? 0
  const share = customers === 0 ? 0 : 0.12 + (0.33 * customers) / max
  const isUp = place?.nodes.some((each) => each.state === 'online') ?? false
  return (
    <g transform={`translate(${x} ${y})`}>
      <rect className="tile" width={size - 3} height={size - 3} rx={5} />
      {share > 0 && <rect className="tile-held" width={size - 3} height={size - 3} rx={5} opacity={share} />}
      <text className="tile-name" fontSize={9} x={(size - 3) / 2} y={16}>
        {code}
      </text>
      {place !== undefined && place.nodes.length > 0 && (
        <circle className={isUp ? 'tile-node' : 'tile-node away'} cx={size - 6} cy={4} r={3.5} />
      )}
    </g>
  )
}
