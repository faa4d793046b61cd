import { Text } from '@mantine/core'
import type { Subscription } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { CopyIcon } from '../shared/copy.tsx'
import { type Format, messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Cell, Facts, OnOff, Page, Panel, Reading, Rows, Status } from '../shared/parts.tsx'
import { protocolNames } from '../shared/trade.ts'
import { api, useMay, useRead } from './api.ts'
import { operatorTexts } from './messages.ts'
import { CustomerLink, Mono } from './parts.tsx'

const vpnMessages = messages({
  ...operatorTexts,
  vpn: pair('VPN subscription', 'Подписка VPN'),
  forMonths: pair(
    (count: number, format: Format) => `for ${format.plural(count, 'month', 'months')}`,
    (count, format) => `на ${format.plural(count, 'месяц', 'месяца', 'месяцев')}`,
  ),
  device: pair('Device', 'Устройство'),
  key: pair('Public key', 'Открытый ключ'),
  move: pair('Move to a node', 'Перенести на узел'),
  moveAbout: pair(
    'Keys, addresses and traffic counters stay the same. The customer changes nothing.',
    'Ключи, адреса и счётчики трафика сохраняются. Покупателю ничего менять не нужно.',
  ),
  vpnNode: pair('VPN node', 'Узел VPN'),
  moved: phrase('Moved. Devices: {devices}', 'Перенесено. Устройств: {devices}'),
  disable: pair('Disable', 'Отключить'),
  disableAbout: pair(
    'Devices stop within 2 seconds. The term keeps running.',
    'Устройства остановятся в течение 2 секунд. Срок продолжает идти.',
  ),
  enable: pair('Enable', 'Включить'),
  enableAbout: pair('Devices work again at once.', 'Устройства заработают сразу.'),
})

export const VpnPage = ({ uuid }: { readonly uuid: string }) => (
  <Reading of={useRead('showVpn', { params: { uuid } })} height={300}>
    {(subscription) => <Shown of={subscription} />}
  </Reading>
)

function Shown({ of }: { readonly of: Subscription }) {
  const { t, format } = useMessages(vpnMessages)
  const used = `${format.number(of.devices.length)} / ${format.number(of.device_limit)}`
  return (
    <Page title={t.vpn} about={<Mono>{of.uuid}</Mono>} actions={<Actions of={of} />}>
      <Panel>
        <Facts
          of={[
            [
              t.status,
              <Status tone={of.status === 'ACTIVE' ? 'good' : 'quiet'}>{t.states[of.status] ?? of.status}</Status>,
            ],
            [t.customer, <CustomerLink id={of.customer_id} name={of.customer_name} />],
            [t.until, format.moment(of.expires_at)],
            [t.renews, of.auto_renew_months === null ? t.no : t.forMonths(of.auto_renew_months, format)],
            [t.vpnNode, <OnOff isOn={of.node === 'online'} on={t.online} off={t.offline} />],
          ]}
        />
      </Panel>
      <Panel title={t.devices} aside={<span className="quiet">{used}</span>}>
        <Rows
          label={t.devices}
          rows={of.devices}
          keyOf={(row) => row.device_id}
          columns={(column) => [
            column.text(t.device, (row) => row.name),
            column(t.address, (row) => (
              <span className="mono">
                {row.ipv4}
                <small>{row.ipv6}</small>
              </span>
            )),
            column(t.key, (row) => (
              <span className="mono">
                {row.public_key.slice(0, 12)}… <CopyIcon text={row.public_key} label={t.key} />
              </span>
            )),
            column(t.seen, (row) =>
              row.last_seen_at === null ? (
                t.never
              ) : (
                <Cell
                  note={[row.last_protocol && (protocolNames[row.last_protocol] ?? row.last_protocol), row.last_node]
                    .filter((each) => each !== null)
                    .join(' · ')}
                >
                  {format.moment(row.last_seen_at)}
                </Cell>
              ),
            ),
            column.amount(t.received, (row) => row.rx_bytes, format.bytes),
            column.amount(t.sent, (row) => row.tx_bytes, format.bytes),
          ]}
        />
      </Panel>
    </Page>
  )
}

function Actions({ of }: { readonly of: Subscription }) {
  const { t, format } = useMessages(vpnMessages)
  const may = useMay()
  const nodes = useRead('listNodes').data?.items.filter((each) => each.kind === 'vpn' && each.state !== 'closed') ?? []
  const params = { uuid: of.uuid }
  const isDisabled = of.status === 'DISABLED'
  if (!may('moveVpn')) return null
  const options = nodes.map(({ name, location }) => [name, location === '' ? name : `${name}, ${location}`] as const)
  return (
    <>
      <Act
        label={isDisabled ? t.enable : t.disable}
        about={isDisabled ? t.enableAbout : t.disableAbout}
        run={() => api.call(isDisabled ? 'enableVpn' : 'disableVpn', { params })}
      />
      <Act
        label={t.move}
        about={t.moveAbout}
        fields={[{ name: 'node', label: t.vpnNode, kind: 'choice', options }]}
        run={({ node }) => api.call('moveVpn', { params, body: { node: String(node) } })}
        show={({ devices }) => <Text>{t.moved(format.number(devices))}</Text>}
      />
    </>
  )
}
