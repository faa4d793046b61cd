import { Text } from '@mantine/core'
import { useState } from 'react'
import type { Node } from '../client/operator.ts'
import { go } from '../shared/browser.ts'
import { Chart } from '../shared/chart.tsx'
import { Choices } from '../shared/form.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Facts, Notice, Page, Panel, Reading, Rows } from '../shared/parts.tsx'
import { protocolNames } from '../shared/trade.ts'
import { api, type OperatorAnswer, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { NodeActions } from './network.tsx'
import { NodeStatus } from './nodes-table.tsx'
import { Mono, OnceShown } from './parts.tsx'
import { RoleAct } from './role-act.tsx'

const nodeMessages = messages({
  ...operatorTexts,
  endpoint: pair('Address for customers', 'Адрес для покупателей'),
  usualEndpoint: pair('from the settings', 'из настроек'),
  version: pair('Version', 'Версия'),
  bandwidth: pair('Bandwidth', 'Канал'),
  megabits: phrase('{count} Mbit/s', '{count} Мбит/с'),
  rename: pair('Rename', 'Переименовать'),
  newName: pair('New name', 'Новое имя'),
  setEndpoint: pair('Change the address', 'Изменить адрес'),
  setEndpointAbout: pair(
    'Customers and other gateways reach the node at this host and port.',
    'По этому хосту и порту узел доступен покупателям и другим шлюзам.',
  ),
  port: pair('Port', 'Порт'),
  removeNodeAbout: pair(
    'Removes the closed node for good. Its name becomes free; what it relayed stays in the books.',
    'Удаляет закрытый узел навсегда. Имя освободится, учтённый трафик сохранится.',
  ),
  newKey: pair('New join key', 'Новый ключ'),
  newKeyAbout: pair(
    'The node keeps serving until it joins with the new key.',
    'Узел продолжает работать, пока не подключится с новым ключом.',
  ),
  paths: pair('Paths of customers', 'Пути покупателей'),
  path: pair('Entry → exit', 'Вход → выход'),
  over: pair('Connection', 'Соединение'),
  overs: { tls: pair('TLS', 'TLS'), plain: pair('plain port', 'открытый порт') },
  pathStates: {
    up: pair('connected', 'есть связь'),
    down: pair('no connection', 'нет связи'),
    unknown: pair('not reported', 'нет данных'),
  },
  canUse: pair('Usable addresses', 'Доступных адресов'),
  history: pair('History', 'История'),
  span: pair('Period', 'Период'),
  day: pair('Day', 'Сутки'),
  month: pair('Month', 'Месяц'),
  rate: pair('Traffic per second', 'Трафик в секунду'),
  cpu: pair('Processor, % of one core', 'Процессор, % одного ядра'),
  errors: pair('Errors per minute', 'Ошибок в минуту'),
  highest: phrase('highest: {value}', 'наибольшее: {value}'),
  noHistory: pair(
    'The first point appears within 10 minutes after the node reports.',
    'Первая точка появится в течение 10 минут после того, как узел выйдет на связь.',
  ),
  offlineTitle: pair('The node does not report.', 'Узел не выходит на связь.'),
  offlineSteps: pair(
    'Run “turnpike doctor” on its machine: it checks the service, the network and the link to this shop, and says ' +
      'what to do. If the machine does not answer, ask the hosting provider. Proxies move to other gateways that ' +
      'have the same addresses; the term of an interrupted proxy is paused.',
    'Выполните «turnpike doctor» на его машине: команда проверит службу, сеть и связь с этим магазином и ' +
      'подскажет, что делать. Если машина не отвечает, обратитесь к хостингу. Прокси переедут на другие шлюзы с ' +
      'теми же адресами, срок прерванных прокси не идёт.',
  ),
  save: pair('Save', 'Сохранить'),
  vpnLinks: pair('VPN protocols and links', 'Протоколы и ссылки VPN'),
  vpnLinksAbout: pair(
    'The protocols that this gateway serves to VPN devices, and how links name it. A protocol that is off ends at ' +
      'once, with its open connections. Apps take the rest with their next refresh, within 12 hours.',
    'Протоколы VPN этого шлюза и то, как его называют ссылки. Выключенный протокол прекращается сразу, вместе с ' +
      'открытыми соединениями. Остальное приложения возьмут при обновлении, в течение 12 часов.',
  ),
  fingerprint: pair('Fingerprint (ClientHello)', 'Отпечаток (ClientHello)'),
  linkPort: pair('Port in links; 0 as reported', 'Порт в ссылках; 0 — как у шлюза'),
  linkXmux: pair('Connections for XHTTP; 0 as in the app', 'Соединений для XHTTP; 0 — как в приложении'),
  linkProtocols: pair('Protocols that are on', 'Включённые протоколы'),
  linkAlpn: pair('ALPN in links', 'ALPN в ссылках'),
  asUsual: pair('as usual', 'как обычно'),
  noAlpn: pair('none', 'нет'),
  linkGroup: pair(
    'Group with a part of the traffic (vpn.groups of the price list); empty for none',
    'Группа с долей трафика (vpn.groups прайс-листа); пусто — без группы',
  ),
  neverJoined: pair(
    'The node has never joined. Create a join key and run the command on its machine.',
    'Узел ещё не подключался. Создайте ключ и выполните команду на его машине.',
  ),
})

export const NodePage = ({ name }: { readonly name: string }) => (
  <Reading of={useRead('showNode', { params: { name } }, { everyMs: 5_000 })} height={300}>
    {(found) => <Shown of={found} />}
  </Reading>
)

function Shown({ of: { node, ranges, settings_host: host } }: { readonly of: OperatorAnswer<'showNode'> }) {
  const { t, format } = useMessages(nodeMessages)
  const orDash = (value: number | null, write: (value: number) => string) => (value === null ? '—' : write(value))
  return (
    <Page title={node.name} about={t.nodeKinds[node.kind]} actions={<Actions of={node} />}>
      {node.state === 'offline' && (
        <Notice tone="warn">
          <Text fw={600}>{t.offlineTitle}</Text>
          <Text size="sm">{node.joined_at === null ? t.neverJoined : t.offlineSteps}</Text>
        </Notice>
      )}
      <Panel>
        <Facts
          of={[
            [t.status, <NodeStatus node={node} />],
            [t.seen, node.last_seen_at === null ? t.never : format.moment(node.last_seen_at)],
            [t.location, [node.location, node.city].filter(Boolean).join(', ')],
            [
              t.endpoint,
              node.endpoint === null ? (
                [host, t.usualEndpoint].filter(Boolean).join(', ')
              ) : (
                <Mono>{`${node.endpoint.host}:${node.endpoint.port}`}</Mono>
              ),
            ],
            [t.version, node.version ?? '—'],
            [t.bandwidth, t.megabits(format.number(node.link_mbit))],
            [t.tunnels, orDash(node.tunnels, format.number)],
            [t.relayed, orDash(node.carried_bytes, format.bytes)],
          ]}
        />
      </Panel>
      <History name={node.name} />
      <Paths of={node.paths} />
      {ranges.length > 0 && (
        <Panel title={t.ranges}>
          <Rows
            label={t.ranges}
            rows={ranges}
            keyOf={(row) => row.range}
            columns={(column) => [
              column(
                t.range,
                (row) => <Mono>{row.range}</Mono>,
                (row) => row.range,
              ),
              column.amount(t.canUse, (row) => row.can_use, format.number),
              column.text(t.problems, (row) => row.problems.join('; ')),
            ]}
          />
        </Panel>
      )}
    </Page>
  )
}

function Paths({ of }: { readonly of: Node['paths'] }) {
  const { t } = useMessages(nodeMessages)
  if (of.length === 0) return null
  return (
    <Panel title={t.paths}>
      <Rows
        label={t.paths}
        rows={of}
        keyOf={(row) => `${row.entry} ${row.exit}`}
        columns={(column) => [
          column(t.path, (row) => <Mono>{`${row.entry} → ${row.exit}`}</Mono>),
          column.text(t.over, (row) => t.overs[row.over]),
          column.text(t.status, (row) => t.pathStates[row.state]),
          column.text(t.problems, (row) => row.reason ?? ''),
        ]}
      />
    </Panel>
  )
}

const gatewayProtocols = ['vless', 'xhttp', 'websocket', 'trojan', 'http', 'naive', 'trusttunnel'] as const

/** All of them are the default, to which a later version may add one. */
const toProtocols = (chosen: string): string =>
  chosen === '' ? 'none' : chosen === gatewayProtocols.join(',') ? 'default' : chosen

/** How links of VPN apps name a gateway, and which protocols it serves. */
function VpnLinks({ of }: { readonly of: Node }) {
  const { t } = useMessages(nodeMessages)
  const { fingerprint, alpn, port, protocols, group, xmux } = of.vpn_links
  const names = ['default', 'firefox', 'chrome', 'safari', 'edge', 'ios', 'android', 'random', 'randomized'] as const
  return (
    <RoleAct
      operation="vpnNode"
      label={t.vpnLinks}
      submit={t.save}
      about={t.vpnLinksAbout}
      fields={[
        {
          name: 'fingerprint',
          label: t.fingerprint,
          kind: 'choice',
          options: names.map((each) => [each, each === 'default' ? t.asUsual : each] as const),
          initial: fingerprint ?? 'default',
        },
        {
          name: 'alpn',
          label: t.linkAlpn,
          kind: 'choice',
          options: [
            ['default', t.asUsual],
            ['h2', 'h2'],
            ['http/1.1', 'http/1.1'],
            ['h2,http/1.1', 'h2, http/1.1'],
            ['http/1.1,h2', 'http/1.1, h2'],
            ['none', t.noAlpn],
          ],
          initial: alpn === null ? 'default' : alpn.join(',') || 'none',
        },
        { name: 'port', label: t.linkPort, kind: 'number', initial: port ?? 0 },
        {
          name: 'protocols',
          label: t.linkProtocols,
          kind: 'several',
          options: gatewayProtocols.map((each) => [each, protocolNames[each] ?? each] as const),
          initial: (protocols ?? gatewayProtocols).join(','),
          isOptional: true,
        },
        { name: 'group', label: t.linkGroup, initial: group ?? '', isOptional: true },
        { name: 'xmux', label: t.linkXmux, kind: 'number', initial: xmux ?? 0 },
      ]}
      run={(given) =>
        api.call('vpnNode', {
          params: { name: of.name },
          body: {
            fingerprint: names.find((each) => each === given['fingerprint']) ?? 'default',
            alpn: String(given['alpn']),
            port: Number(given['port']),
            protocols: toProtocols(String(given['protocols'])),
            group: String(given['group']) || 'default',
            xmux: Number(given['xmux']),
          },
        })
      }
    />
  )
}

function Actions({ of }: { readonly of: Node }) {
  const { t } = useMessages(nodeMessages)
  const params = { name: of.name }
  return (
    <>
      <RoleAct
        operation="renameNode"
        label={t.rename}
        fields={[{ name: 'name', label: t.newName, initial: of.name }]}
        run={async ({ name }) => {
          const { name: now } = await api.call('renameNode', { params, body: { new_name: String(name) } })
          await go(`/network/${now}`)
        }}
      />
      <RoleAct
        operation="endpointNode"
        label={t.setEndpoint}
        about={t.setEndpointAbout}
        fields={[
          { name: 'host', label: t.host, initial: of.endpoint?.host ?? '' },
          { name: 'port', label: t.port, kind: 'number', initial: of.endpoint?.port ?? '' },
        ]}
        run={({ host, port }) => api.call('endpointNode', { params, body: { host: String(host), port: Number(port) } })}
      />
      {of.kind === 'gateway' && <VpnLinks of={of} />}
      {of.state !== 'closed' && (
        <RoleAct
          operation="keyNode"
          label={t.newKey}
          about={t.newKeyAbout}
          run={() => api.call('keyNode', { params })}
          show={({ command }) => <OnceShown text={command} about={t.nodeKey} />}
        />
      )}
      {of.state === 'closed' && (
        <RoleAct
          operation="removeNode"
          label={t.remove}
          about={t.removeNodeAbout}
          look={{ color: 'red', variant: 'outline' }}
          run={async () => {
            await api.call('removeNode', { params })
            await go('/network')
          }}
        />
      )}
      <NodeActions node={of} />
    </>
  )
}

type Point = OperatorAnswer<'getNodeHistory'>['items'][number]

/** Graphs of what the shop keeps: every five minutes for a day, every hour for a month. */
function History({ name }: { readonly name: string }) {
  const { t, format } = useMessages(nodeMessages)
  const [span, setSpan] = useState<'day' | 'month'>('day')
  const found = useRead('getNodeHistory', { params: { name }, query: { span } }, { everyMs: 60_000 })
  const percent = (value: number) => format.percent(value)
  return (
    <Panel title={t.history} className="stack">
      <Choices
        legend={t.span}
        value={span}
        isNarrow
        options={[
          { value: 'day', label: t.day },
          { value: 'month', label: t.month },
        ]}
        onChange={setSpan}
      />
      <Reading of={found}>
        {({ items }) =>
          items.length === 0 ? (
            <Text c="dimmed">{t.noHistory}</Text>
          ) : (
            <div className="halves">
              <Graph label={t.tunnels} points={items} of={(each) => each.tunnels} write={format.number} />
              <Graph label={t.rate} points={items} of={(each) => each.bytes_per_second} write={format.bytes} />
              <Graph label={t.cpu} points={items} of={(each) => each.cpu_percent} write={percent} />
              <Graph label={t.errors} points={items} of={(each) => each.errors_per_minute} write={format.number} />
            </div>
          )
        }
      </Reading>
    </Panel>
  )
}

type GraphProps = {
  readonly label: string
  readonly points: readonly Point[]
  readonly of: (point: Point) => number | null
  readonly write: (value: number) => string
}

/** One figure over time; hidden if the node does not report it. */
function Graph({ label, points, of, write }: GraphProps) {
  const { t } = useMessages(nodeMessages)
  const known = points.flatMap((each) => {
    const value = of(each)
    return value === null ? [] : [{ at: Date.parse(each.at), value }]
  })
  if (known.length === 0) return null
  const text = `${label}, ${t.highest(write(Math.max(...known.map((each) => each.value))))}`
  return (
    <div>
      <Text size="sm" fw={600}>
        {text}
      </Text>
      <Chart
        label={text}
        times={known.map((each) => each.at)}
        series={[{ label, values: known.map((each) => each.value) }]}
        write={write}
      />
    </div>
  )
}
