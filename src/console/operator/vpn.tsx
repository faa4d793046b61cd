import { Text } from '@mantine/core'
import type { Subscription } from '../client/operator.ts'
import { Act } from '../shared/act.tsx'
import { CopyIcon } from '../shared/copy.tsx'
import { useFormat } from '../shared/format.ts'
import { useWords } from '../shared/language.tsx'
import { Facts, Page, Panel, Reading, Status } from '../shared/parts.tsx'
import { Rows } from '../shared/rows.tsx'
import { api, useMay, useRead } from './api.ts'
import { thingsWords } from './things-words.ts'
import { operatorWords } from './words.ts'

export function VpnPage({ uuid }: { readonly uuid: string }) {
  const found = useRead('showVpn', { params: { uuid } })
  return (
    <Reading of={found} height={300}>
      {(subscription) => <Shown of={subscription} />}
    </Reading>
  )
}

function Shown({ of }: { readonly of: Subscription }) {
  const words = useWords(operatorWords)
  const things = useWords(thingsWords)
  const format = useFormat()
  const renews = of.auto_renew_months === null ? things.no : things.forMonths(format.number(of.auto_renew_months))
  return (
    <Page title={things.vpn} about={<span className="mono">{of.uuid}</span>} actions={<Actions of={of} />}>
      <Panel>
        <Facts
          of={[
            [
              words.status,
              <Status key="status" tone={of.status === 'ACTIVE' ? 'good' : 'quiet'}>
                {things.states[of.status] ?? of.status}
              </Status>,
            ],
            [
              words.customer,
              <a key="customer" href={`#/customers/${of.customer_id}`}>
                {of.customer_id}
              </a>,
            ],
            [words.until, format.moment(of.expires_at)],
            [things.renews, renews],
            [
              things.vpnNode,
              <Status key="node" tone={of.node === 'online' ? 'good' : 'bad'}>
                {of.node === 'online' ? words.online : words.offline}
              </Status>,
            ],
          ]}
        />
      </Panel>
      <Panel
        title={things.devices}
        aside={
          <span className="quiet">
            {format.number(of.devices.length)} / {format.number(of.device_limit)}
          </span>
        }
      >
        <Rows
          label={things.devices}
          rows={of.devices}
          keyOf={(row) => row.device_id}
          columns={[
            { name: 'name', label: things.device, show: (row) => row.name },
            {
              name: 'address',
              label: words.address,
              show: (row) => (
                <span className="mono">
                  {row.ipv4}
                  <small>{row.ipv6}</small>
                </span>
              ),
            },
            {
              name: 'key',
              label: things.key,
              show: (row) => (
                <span className="mono">
                  {row.public_key.slice(0, 12)}… <CopyIcon text={row.public_key} label={things.key} />
                </span>
              ),
            },
            { name: 'rx', label: things.received, isFigure: true, show: (row) => format.bytes(row.rx_bytes) },
            { name: 'tx', label: things.sent, isFigure: true, show: (row) => format.bytes(row.tx_bytes) },
          ]}
        />
      </Panel>
    </Page>
  )
}

function Actions({ of }: { readonly of: Subscription }) {
  const things = useWords(thingsWords)
  const format = useFormat()
  const may = useMay()
  const nodes = useRead('listNodes').data?.items.filter((each) => each.kind === 'vpn' && each.state !== 'closed')
  const params = { uuid: of.uuid }
  const isDisabled = of.status === 'DISABLED'
  if (!may('moveVpn')) return null
  return (
    <>
      <Act
        label={isDisabled ? things.enable : things.disable}
        about={isDisabled ? things.enableAbout : things.disableAbout}
        run={() => api.call(isDisabled ? 'enableVpn' : 'disableVpn', { params })}
      />
      <Act
        label={things.move}
        about={things.moveAbout}
        fields={[
          {
            name: 'node',
            label: things.vpnNode,
            kind: 'choice',
            options: (nodes ?? []).map(
              (each) => [each.name, each.location === '' ? each.name : `${each.name}, ${each.location}`] as const,
            ),
          },
        ]}
        run={({ node }) => api.call('moveVpn', { params, body: { node: String(node) } })}
        show={({ devices }) => <Text>{things.moved(format.number(devices))}</Text>}
      />
    </>
  )
}
