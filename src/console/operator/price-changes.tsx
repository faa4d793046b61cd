import { Text } from '@mantine/core'
import { type Format, useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Rows } from '../shared/rows.tsx'
import { type Trade, tradeWords } from '../shared/trade-words.ts'
import type { Answer } from './api.ts'
import { type Change, readChange } from './price-paths.ts'
import { priceWords } from './price-words.ts'
import { operatorWords } from './words.ts'

type Effect = Answer<'compareCatalogue'>['effects'][number]

/** Each leaf of the list that differs: what it was, and what it would be. */
export function Differences({ changes }: { readonly changes: readonly string[] }) {
  const words = useWords(operatorWords)
  const prices = useWords(priceWords)
  const format = useFormat()
  const trade = useWords(tradeWords)
  return (
    <Rows
      label={words.changes}
      rows={changes.map(readChange)}
      keyOf={(row) => row.path}
      columns={[
        {
          name: 'what',
          label: words.what,
          isText: true,
          show: (row) => (
            <span>
              {sayPath(row, prices.pricePaths, trade, format)}
              <small className="mono">{row.path}</small>
            </span>
          ),
        },
        { name: 'before', label: prices.before, isFigure: true, show: (row) => <del>{row.before ?? '—'}</del> },
        { name: 'after', label: prices.afterwards, isFigure: true, show: (row) => <ins>{row.after ?? '—'}</ins> },
      ]}
    />
  )
}

type Paths = Readonly<Record<string, string>>

/** What is a list in a price list, counted from one by people. */
const listed = ['tiers', 'volume', 'term']

/** The parts of a path that say something, in the reader's words; the path itself stands beneath. */
function sayPath({ path }: Change, paths: Paths, trade: Trade, format: Format): string {
  const [product = '', ...parts] = path.split('.')
  const said = parts.flatMap((part, index) => {
    if (parts[index - 1] === 'kinds') return [trade.ipvs[part] ?? part]
    if (parts[index - 1] === 'countries') return [format.country(part)]
    if (parts[index - 1] === 'pools') return [trade.pools[part] ?? part]
    if (listed.includes(parts[index - 1] ?? '') && /^\d+$/.test(part)) return [String(Number(part) + 1)]
    const word = paths[part] ?? (/^\d+$/.test(part) ? part : undefined)
    return word === undefined ? [] : [word]
  })
  return [trade.products[product] ?? product, ...said].join(' · ')
}

/** Whom it concerns: who has something of it now, and what will be renewed at the other price. */
export function Effects({ of }: { readonly of: readonly Effect[] }) {
  const words = useWords(operatorWords)
  const prices = useWords(priceWords)
  const format = useFormat()
  const trade = useWords(tradeWords)
  if (of.length === 0) return <Text c="dimmed">{prices.noEffects}</Text>
  const nameOf = ({ product, country, ipv, pool }: Effect) =>
    [
      trade.products[product] ?? product,
      ...(country === null ? [] : [format.country(country)]),
      ...(ipv === null ? [] : [words.kinds[ipv] ?? ipv]),
      ...(pool === null ? [] : [trade.pools[pool] ?? pool]),
    ].join(' · ')
  return (
    <Rows
      label={prices.effects}
      rows={of}
      keyOf={nameOf}
      columns={[
        { name: 'what', label: words.what, isText: true, show: nameOf },
        { name: 'customers', label: words.customers, isFigure: true, show: (row) => format.number(row.customers) },
        { name: 'services', label: prices.services, isFigure: true, show: (row) => format.number(row.services) },
        {
          name: 'renewals',
          label: prices.renewals,
          isFigure: true,
          show: (row) => (
            <span>
              {format.number(row.renewals)}
              {row.lost > 0 && <small>{prices.lostRenewals(format.number(row.lost))}</small>}
            </span>
          ),
        },
        {
          name: 'before',
          label: prices.renewedBefore,
          isFigure: true,
          show: (row) => (row.renewals === 0 ? '—' : format.exactMoney(row.before_rub)),
        },
        {
          name: 'after',
          label: prices.renewedAfter,
          isFigure: true,
          show: (row) => (row.renewals === 0 ? '—' : format.exactMoney(row.after_rub)),
        },
      ]}
    />
  )
}
