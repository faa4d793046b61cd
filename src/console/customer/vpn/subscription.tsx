import { Button, Modal, Switch, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { VpnDevice, VpnSubscription } from '../../client/customer.ts'
import { Copyable } from '../../shared/copy.tsx'
import { Form, useTyped } from '../../shared/form.tsx'
import { useFormat } from '../../shared/format.ts'
import { useWords } from '../../shared/language.tsx'
import { useNow } from '../../shared/now.ts'
import { Facts, Panel, Status, type Tone } from '../../shared/parts.tsx'
import { RefusalNotice } from '../../shared/refusal-notice.tsx'
import { Rows } from '../../shared/rows.tsx'
import { sharedWords } from '../../shared/words.ts'
import { useChange, usePurchase } from '../api.ts'
import { Setup } from './setup.tsx'
import { TermChoice, usePrices } from './terms.tsx'
import { vpnWords } from './words.ts'

const tones: Readonly<Record<string, Tone>> = { ACTIVE: 'good', LIMITED: 'warn', DISABLED: 'bad' }

/** What is open over the page, and for which device. */
type Open =
  | { readonly form: 'renew' | 'add' | 'end' }
  | { readonly form: 'setup' | 'remove'; readonly device: VpnDevice }

export function Subscription({ of }: { readonly of: VpnSubscription }) {
  const words = useWords(vpnWords)
  const shared = useWords(sharedWords)
  const format = useFormat()
  const nowAt = useNow()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const { traffic } = of
  const limit = traffic.limit_bytes === null ? '' : ` / ${format.bytes(traffic.limit_bytes)}`
  return (
    <Panel
      title={`${words.until} ${format.day(of.expires_at)}`}
      aside={<Status tone={tones[of.status] ?? 'quiet'}>{words.statuses[of.status]}</Status>}
      className="stack"
    >
      <div className="halves">
        <Facts
          of={[
            [words.until, `${format.moment(of.expires_at)}, ${format.away(of.expires_at, nowAt)}`],
            [words.traffic, `${format.bytes(traffic.rx_bytes + traffic.tx_bytes)}${limit}`],
            [
              words.node,
              <Status key="node" tone={of.node === 'online' ? 'good' : 'bad'}>
                {of.node === 'online' ? words.online : words.offline}
              </Status>,
            ],
          ]}
        />
        <AutoRenew of={of} />
      </div>
      <Devices of={of} onOpen={setOpen} />
      <Link of={of} />
      <div className="line">
        <Button onClick={() => setOpen({ form: 'renew' })}>{words.renew}</Button>
        <Button
          variant="default"
          disabled={of.devices.length >= of.device_limit}
          onClick={() => setOpen({ form: 'add' })}
        >
          {words.add}
        </Button>
        <Button variant="subtle" color="gray" onClick={() => setOpen({ form: 'end' })}>
          {words.end}
        </Button>
      </div>
      <Modal
        opened={open !== undefined}
        onClose={close}
        size={open?.form === 'setup' ? 'lg' : 'md'}
        title={open && titleOf(open, words)}
        closeButtonProps={{ 'aria-label': shared.close }}
      >
        {open && <Opened of={of} open={open} onOpen={setOpen} onDone={close} />}
      </Modal>
    </Panel>
  )
}

const titleOf = (open: Open, words: (typeof vpnWords)['en']): string =>
  'device' in open ? open.device.name : { renew: words.renew, add: words.add, end: words.end }[open.form]

type OpenedProps = {
  readonly of: VpnSubscription
  readonly open: Open
  readonly onOpen: (open: Open) => void
  readonly onDone: () => void
}

function Opened({ of, open, onOpen, onDone }: OpenedProps): ReactNode {
  switch (open.form) {
    case 'renew':
      return <Renew of={of} onDone={onDone} />
    case 'add':
      return <AddDevice of={of} onAdded={(device) => onOpen({ form: 'setup', device })} />
    case 'setup':
      return <Setup uuid={of.uuid} device={open.device} />
    case 'remove':
      return <RemoveDevice of={of} device={open.device} onDone={onDone} />
    default:
      return <End of={of} onDone={onDone} />
  }
}

function AutoRenew({ of }: { readonly of: VpnSubscription }) {
  const words = useWords(vpnWords)
  const change = useChange('setVpnAutoRenew')
  return (
    <div className="stack">
      <Switch
        label={words.autoRenew}
        description={words.autoRenewAbout}
        checked={of.auto_renew.enabled}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ body: { uuid: of.uuid, enabled: event.currentTarget.checked } })}
      />
      <RefusalNotice error={change.error} />
    </div>
  )
}

function Devices({ of, onOpen }: { readonly of: VpnSubscription; readonly onOpen: (open: Open) => void }) {
  const words = useWords(vpnWords)
  const format = useFormat()
  const nowAt = useNow()
  return (
    <div>
      <div className="line ends">
        <strong>{words.devices}</strong>
        <span className="quiet">
          {words.devicesOf(format.number(of.devices.length), format.number(of.device_limit))}
        </span>
      </div>
      <Rows
        label={words.devices}
        rows={of.devices}
        keyOf={(row) => row.id}
        columns={[
          { name: 'name', label: words.name, show: (row) => row.name },
          {
            name: 'handshake',
            label: words.handshake,
            show: (row) => (row.last_handshake_at === null ? words.never : format.away(row.last_handshake_at, nowAt)),
          },
          { name: 'received', label: words.received, isFigure: true, show: (row) => format.bytes(row.rx_bytes) },
          { name: 'sent', label: words.sent, isFigure: true, show: (row) => format.bytes(row.tx_bytes) },
          {
            name: 'actions',
            label: words.show,
            isUnlabelled: true,
            show: (row) => (
              <span className="line row-actions">
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={`${words.show} ${row.name}`}
                  onClick={() => onOpen({ form: 'setup', device: row })}
                >
                  {words.show}
                </Button>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  color="gray"
                  aria-label={`${words.remove} ${row.name}`}
                  onClick={() => onOpen({ form: 'remove', device: row })}
                >
                  {words.remove}
                </Button>
              </span>
            ),
          },
        ]}
      />
    </div>
  )
}

function Link({ of }: { readonly of: VpnSubscription }) {
  const words = useWords(vpnWords)
  const reset = useChange('resetVpnLink')
  return (
    <div className="stack">
      <Facts
        of={[
          [
            words.link,
            of.subscription_url === null ? (
              words.hidden
            ) : (
              <Copyable key="link" text={of.subscription_url} label={words.link} />
            ),
          ],
        ]}
      />
      <div className="line ends">
        <Text size="sm" c="dimmed">
          {words.linkAbout}
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          loading={reset.isPending}
          onClick={() => reset.mutate({ body: { uuid: of.uuid } })}
        >
          {words.newLink}
        </Button>
      </div>
      <RefusalNotice error={reset.error} />
    </div>
  )
}

type FormProps = { readonly of: VpnSubscription; readonly onDone: () => void }

function Renew({ of, onDone }: FormProps) {
  const words = useWords(vpnWords)
  const format = useFormat()
  const prices = usePrices().data ?? []
  const purchase = usePurchase('renewVpn')
  const [period, setPeriod] = useState(1)
  const price = prices.find((each) => each.period === period)?.price_rub
  return (
    <div className="stack">
      <Text c="dimmed">{words.renewAbout}</Text>
      <TermChoice prices={prices} value={period} onChange={setPeriod} />
      <RefusalNotice error={purchase.error} />
      <Button
        disabled={price === undefined}
        loading={purchase.isPending}
        onClick={() => purchase.buy({ uuid: of.uuid, period }, onDone)}
      >
        {words.renewFor(format.money(price ?? 0))}
      </Button>
    </div>
  )
}

function AddDevice({ of, onAdded }: { readonly of: VpnSubscription; readonly onAdded: (device: VpnDevice) => void }) {
  const words = useWords(vpnWords)
  const add = useChange('addVpnDevice')
  const name = useTyped()
  const body = { uuid: of.uuid, ...(name.text !== '' && { name: name.text }) }
  return (
    <Form className="stack" onSubmit={() => add.mutate({ body }, { onSuccess: ({ device }) => onAdded(device) })}>
      <TextInput label={words.addName} maxLength={64} data-autofocus {...name.props} />
      <RefusalNotice error={add.error} />
      <Button type="submit" loading={add.isPending}>
        {words.add}
      </Button>
    </Form>
  )
}

function RemoveDevice({ of, device, onDone }: FormProps & { readonly device: VpnDevice }) {
  const words = useWords(vpnWords)
  const remove = useChange('removeVpnDevice')
  return (
    <div className="stack">
      <Text>{words.removeAbout(device.name)}</Text>
      <RefusalNotice error={remove.error} />
      <Button
        color="red"
        loading={remove.isPending}
        onClick={() => remove.mutate({ body: { uuid: of.uuid, device: device.id } }, { onSuccess: onDone })}
      >
        {words.remove}
      </Button>
    </div>
  )
}

function End({ of, onDone }: FormProps) {
  const words = useWords(vpnWords)
  const end = useChange('deleteVpn')
  return (
    <div className="stack">
      <Text>{words.endAbout}</Text>
      <RefusalNotice error={end.error} />
      <Button
        color="red"
        loading={end.isPending}
        onClick={() => end.mutate({ body: { uuid: of.uuid } }, { onSuccess: onDone })}
      >
        {words.end}
      </Button>
    </div>
  )
}
