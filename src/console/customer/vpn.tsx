import { Button, Switch, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { Payment, VpnDevice, VpnSubscription } from '../client/customer.ts'
import { useNow } from '../shared/browser.ts'
import { Copyable } from '../shared/copy.tsx'
import { Dialog } from '../shared/dialog.tsx'
import { Choices, Confirm, Select, SubmitForm, useTyped } from '../shared/form.tsx'
import { type Format, messages, names, pair, phrase, useMessages } from '../shared/messages.tsx'
import {
  Cell,
  Empty,
  Facts,
  Hint,
  MissingPage,
  OnOff,
  Outcome,
  Page,
  Panel,
  Reading,
  RefusalNotice,
  RowButton,
  Rows,
  Status,
  type Tone,
} from '../shared/parts.tsx'
import { protocolNames } from '../shared/trade.ts'
import { type CustomerAnswer, quoteEveryMs, useChange, usePurchase, useRead } from './api.ts'
import { BuyNow, PaidPurchase } from './money/pay.tsx'
import { useHasVpn, useVpnPrices } from './use-vpn.ts'
import { SetUp } from './vpn-set-up.tsx'

const vpnMessages = messages({
  title: 'VPN',
  about: pair(
    'For your phone and computer: one link for an app, or a QR code.',
    'Для телефона и компьютера: одна ссылка для приложения или QR-код.',
  ),
  none: pair('No subscription yet', 'Подписки пока нет'),
  noneAbout: pair(
    'Choose a term below. The first device is set up with the purchase.',
    'Выберите срок ниже. Первое устройство настраивается вместе с покупкой.',
  ),
  notSold: pair('VPN is not sold here', 'VPN здесь не продаётся'),
  notSoldAbout: pair('The price list of this shop has no VPN.', 'В прайс-листе этого магазина нет VPN.'),
  buy: pair('Buy a subscription', 'Купить подписку'),
  bought: pair('Your VPN is ready', 'VPN готов к работе'),
  boughtAbout: phrase('Bought for {price}, works until {moment}.', 'Куплен за {price}, работает до {moment}.'),
  toSubscriptions: pair('To my subscriptions', 'К моим подпискам'),
  renewed: phrase('Renewed until {moment} for {price}', 'Продлено до {moment} за {price}'),
  renew: pair('Renew', 'Продлить'),
  renewAbout: pair(
    'The months are added to the remaining term. Devices and keys do not change.',
    'Месяцы прибавляются к оставшемуся сроку. Устройства и ключи не меняются.',
  ),
  months: pair(
    (count: number, format: Format) => format.plural(count, 'month', 'months'),
    (count, format) => format.plural(count, 'месяц', 'месяца', 'месяцев'),
  ),
  noNode: pair(
    'No VPN node is online now. If the purchase is refused, nothing is charged. A VPN bought now connects when a ' +
      'node is online.',
    'Сейчас ни один узел VPN не на связи. Если магазин откажет в покупке, деньги не спишутся. Купленный сейчас VPN ' +
      'подключится, когда узел выйдет на связь.',
  ),
  perMonth: phrase('{price} a month', '{price} в месяц'),
  term: pair('Term', 'Срок'),
  deviceName: pair('Name of the first device', 'Имя первого устройства'),
  deviceHint: pair('Phone', 'Телефон'),
  location: pair('Location', 'Расположение'),
  renewFor: phrase('Renew for {price}', 'Продлить за {price}'),
  statuses: names({
    ACTIVE: pair('Active', 'Активна'),
    EXPIRED: pair('Expired', 'Истекла'),
    GRACE: pair('Expired', 'Истекла'),
    DISABLED: pair('Disabled', 'Отключена'),
    LIMITED: pair('Traffic used up', 'Трафик исчерпан'),
    NONE: pair('None', 'Нет'),
  }),
  node: pair('Node', 'Узел'),
  autoRenewAbout: pair(
    'One day before expiry, for the term of the last purchase',
    'За день до окончания, на срок последней покупки',
  ),
  devicesFull: pair(
    'All devices of this subscription are used. Remove a device, or buy a slot if slots are sold.',
    'Все устройства подписки заняты. Удалите устройство или докупите место, если места продаются.',
  ),
  devicesIn: phrase('Devices: {name}', 'Устройства: {name}'),
  devicesOf: phrase('{used} of {limit}', '{used} из {limit}'),
  handshake: pair('Last connection', 'Последнее подключение'),
  show: pair('Set up', 'Настроить'),
  removeAbout: phrase(
    '{name} is disconnected at once, and its key is deleted.',
    '{name} сразу отключится, его ключ будет удалён.',
  ),
  slots: pair('More devices', 'Больше устройств'),
  slotsAbout: pair(
    'They can be used until the end of the subscription. Each renewal renews them at this price.',
    'Места действуют до конца подписки. Каждое продление продлевает и их, по этой цене.',
  ),
  slotsCount: pair('How many', 'Сколько'),
  slotsOf: pair(
    (count: number, format: Format) => format.plural(count, 'device', 'devices'),
    (count, format) => format.plural(count, 'устройство', 'устройства', 'устройств'),
  ),
  slotsBought: phrase('Now {limit} devices at most, for {price}', 'Теперь устройств не больше {limit}, за {price}'),
  slotsRenewed: phrase('Of this {price} for {count}.', 'Из них {price} за {count}.'),
  removeAll: pair('Remove all devices', 'Удалить все устройства'),
  removeAllAbout: pair(
    'All devices are disconnected at once, and their keys are deleted. The secret link stays.',
    'Все устройства сразу отключатся, их ключи будут удалены. Секретная ссылка останется.',
  ),
  add: pair('Add a device', 'Добавить устройство'),
  addName: pair('Name of the device', 'Имя устройства'),
  link: pair('Secret link', 'Секретная ссылка'),
  linkAbout: pair(
    'The link shows the configuration to anyone who opens it. Open it on your phone and do not share it.',
    'Ссылка показывает конфигурацию любому, кто её откроет. Откройте её на телефоне и никому не передавайте.',
  ),
  rename: pair('Name', 'Название'),
  nameClear: pair('Leave it empty to remove the name.', 'Чтобы убрать название, оставьте поле пустым.'),
  renameAbout: pair('Only you see the name.', 'Название видите только вы.'),
  subscriptionName: pair('Name of the subscription', 'Название подписки'),
  unnamed: phrase('VPN until {day}', 'VPN до {day}'),
  save: pair('Save', 'Сохранить'),
  end: pair('End the subscription', 'Прекратить подписку'),
  endAbout: phrase(
    'Devices are disconnected at once. We refund {sum} to your balance.',
    'Устройства сразу отключатся. Вернём {sum} на баланс.',
  ),
  endWithout: pair(
    'Devices are disconnected at once. Nothing is refunded.',
    'Устройства сразу отключатся. Возврата не будет.',
  ),
})

const buyingId = 'buy-vpn'

/** Scrolls to the form and moves the focus to its first choice. */
function toBuying(): void {
  const form = document.getElementById(buyingId)
  form?.scrollIntoView()
  form?.querySelector('input')?.focus()
}

export function VpnPage() {
  const { t } = useMessages(vpnMessages)
  const isSold = useVpnPrices().data?.length !== 0
  const hasVpn = useHasVpn()
  const held = useRead('getVpn', {}, { everyMs: 10_000 })
  const purchase = usePurchase('buyVpn')
  const [paid, setPaid] = useState<Payment>()
  if (purchase.data) return <BoughtVpn bought={purchase.data} onClose={purchase.reset} />
  if (paid) {
    return (
      <Page title={t.bought}>
        <PaidPurchase payment={paid} onAgain={() => setPaid(undefined)}>
          {(order) => <OrderedVpn order={order} />}
        </PaidPurchase>
      </Page>
    )
  }
  if (!hasVpn) return <MissingPage icon="shield" title={t.notSold} about={t.notSoldAbout} />
  return (
    <Page title={t.title} about={t.about}>
      <Reading of={held} height={300}>
        {({ items }) =>
          items.length === 0 ? (
            <Panel>
              <Empty icon="shield" title={t.none} about={t.noneAbout}>
                {isSold && (
                  <Button variant="light" onClick={toBuying}>
                    {t.buy}
                  </Button>
                )}
              </Empty>
            </Panel>
          ) : (
            items.map((each) => <Subscription key={each.uuid} of={each} isSold={isSold} />)
          )
        }
      </Reading>
      {isSold && <Buying purchase={purchase} onPaid={setPaid} />}
    </Page>
  )
}

/** The subscription of an order that a payment has bought. */
function OrderedVpn({ order }: { readonly order: string }) {
  const found = useRead('getOrder', { params: { order_id: order } }).data
  const uuid = found?.delivered[0]?.['uuid']
  const held = useRead('getVpn', {}, { everyMs: 5_000 }).data?.items.find((each) => each.uuid === uuid)
  const [device] = held?.devices ?? []
  return held && device ? (
    <Panel>
      <SetUp of={held} device={device} />
    </Panel>
  ) : null
}

type BoughtVpnProps = { readonly bought: CustomerAnswer<'buyVpn'>; readonly onClose: () => void }

/** The bought subscription with the code of its first device, in place of the form. */
function BoughtVpn({ bought, onClose }: BoughtVpnProps) {
  const { t, format } = useMessages(vpnMessages)
  const { uuid, price_rub, expires_at } = bought
  const held = useRead('getVpn', {}, { everyMs: 5_000 }).data?.items.find((each) => each.uuid === uuid)
  const [device] = held?.devices ?? []
  return (
    <Page title={t.bought} about={t.boughtAbout(format.money(price_rub), format.moment(expires_at))}>
      <Panel className="stack">
        {held && device && <SetUp of={held} device={device} />}
        <div>
          <Button variant="default" onClick={onClose}>
            {t.toSubscriptions}
          </Button>
        </div>
      </Panel>
    </Page>
  )
}

type Prices = Extract<CustomerAnswer<'quoteVpn'>, { prices: unknown }>['prices']

/** The terms on sale; for a subscription, with the slots that its renewal renews. */
type TermChoiceProps = Readonly<{ prices: Prices; value: number; onChange: (months: number) => void }>

function TermChoice({ prices, value, onChange }: TermChoiceProps) {
  const { t, format } = useMessages(vpnMessages)
  const options = prices.map(({ period, price_rub, price_per_month_rub }) => ({
    value: period,
    label: (
      <>
        {t.months(period, format)}
        <br />
        <strong>{format.money(price_rub)}</strong>
      </>
    ),
    note: t.perMonth(format.money(price_per_month_rub)),
  }))
  return <Choices legend={t.term} value={value} options={options} onChange={onChange} />
}

type BuyingProps = {
  readonly purchase: ReturnType<typeof usePurchase<'buyVpn'>>
  readonly onPaid: (payment: Payment) => void
}

function Buying({ purchase, onPaid }: BuyingProps) {
  const { t, format } = useMessages(vpnMessages)
  const prices = useVpnPrices()
  const locations = useRead('listVpnLocations').data?.locations ?? []
  const [period, setPeriod] = useState(1)
  const name = useTyped()
  const [location, setLocation] = useState('')
  const price = prices.data?.find((each) => each.period === period)?.price_rub
  const order = { period, ...(name.text !== '' && { name: name.text }), ...(location !== '' && { location }) }
  const buy = () => purchase.buy({ ...order, max_price_rub: price })
  return (
    <Panel title={t.buy} className="stack" id={buyingId}>
      <Reading of={prices}>{(all) => <TermChoice prices={all} value={period} onChange={setPeriod} />}</Reading>
      {!prices.isServed && <Text role="status">{t.noNode}</Text>}
      <div className="line fields">
        <TextInput label={t.deviceName} placeholder={t.deviceHint} maxLength={64} {...name.props} />
        {locations.length > 1 && (
          <Select
            label={t.location}
            value={location}
            options={[['', t.any], ...locations.map((each) => [each.location, each.city ?? each.location] as const)]}
            onChange={setLocation}
          />
        )}
        <Button disabled={price === undefined} loading={purchase.isPending} onClick={buy}>
          {t.buyFor(format.money(price ?? 0))}
        </Button>
      </div>
      <RefusalNotice error={purchase.error} onAgain={buy} />
      <BuyNow price={price} order={{ product: 'vpn', ...order }} onBought={onPaid} />
    </Panel>
  )
}

const tones: Readonly<Record<string, Tone>> = { ACTIVE: 'good', LIMITED: 'warn', DISABLED: 'bad' }

type Open =
  | { readonly form: 'renew' | 'add' | 'slots' | 'removeAll' | 'rename' | 'end' }
  | { readonly form: 'setup' | 'remove'; readonly device: VpnDevice }

function Subscription({ of, isSold }: { readonly of: VpnSubscription; readonly isSold: boolean }) {
  const { t, format } = useMessages(vpnMessages)
  const nowAt = useNow()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const { traffic } = of
  const limit = traffic.limit_bytes === null ? '' : ` / ${format.bytes(traffic.limit_bytes)}`
  return (
    <Panel
      title={of.name ?? t.unnamed(format.day(of.expires_at))}
      aside={<Status tone={tones[of.status] ?? 'quiet'}>{t.statuses[of.status]}</Status>}
      className="stack"
    >
      <div className="halves">
        <Facts
          of={[
            [t.until, `${format.moment(of.expires_at)}, ${format.away(of.expires_at, nowAt)}`],
            [t.traffic, `${format.bytes(traffic.rx_bytes + traffic.tx_bytes)}${limit}`],
            [t.node, <OnOff isOn={of.node === 'online'} on={t.online} off={t.offline} />],
          ]}
        />
        <AutoRenew of={of} />
      </div>
      <Devices of={of} onOpen={setOpen} />
      {of.devices.length >= of.device_limit && <p className="quiet">{t.devicesFull}</p>}
      <SecretLink of={of} />
      <div className="line">
        {isSold && <Button onClick={() => setOpen({ form: 'renew' })}>{t.renew}</Button>}
        <Button
          variant="default"
          disabled={of.devices.length >= of.device_limit}
          onClick={() => setOpen({ form: 'add' })}
        >
          {t.add}
        </Button>
        <Slots of={of} onOpen={() => setOpen({ form: 'slots' })} />
        <Button variant="default" onClick={() => setOpen({ form: 'rename' })}>
          {t.rename}
        </Button>
        {of.devices.length > 1 && (
          <Button variant="subtle" color="gray" onClick={() => setOpen({ form: 'removeAll' })}>
            {t.removeAll}
          </Button>
        )}
        <Button variant="subtle" color="gray" onClick={() => setOpen({ form: 'end' })}>
          {t.end}
        </Button>
      </div>
      <Dialog
        opened={open !== undefined}
        onClose={close}
        size={open?.form === 'setup' ? 'lg' : 'md'}
        title={open && ('device' in open ? open.device.name : t[open.form])}
      >
        {open && <Opened of={of} open={open} onOpen={setOpen} onDone={close} />}
      </Dialog>
    </Panel>
  )
}

type FormProps = { readonly of: VpnSubscription; readonly onDone: () => void }

type OpenedProps = FormProps & { readonly open: Open; readonly onOpen: (open: Open) => void }

function Opened({ open, onOpen, ...form }: OpenedProps): ReactNode {
  switch (open.form) {
    case 'renew':
      return <Renew {...form} />
    case 'slots':
      return <BuySlots {...form} />
    case 'removeAll':
      return <RemoveAll {...form} />
    case 'rename':
      return <Rename {...form} />
    case 'add':
      return <AddDevice of={form.of} onAdded={(device) => onOpen({ form: 'setup', device })} />
    case 'setup':
      return <SetUp of={form.of} device={open.device} />
    case 'remove':
      return <RemoveDevice {...form} device={open.device} />
    default:
      return <End {...form} />
  }
}

function AutoRenew({ of }: { readonly of: VpnSubscription }) {
  const { t } = useMessages(vpnMessages)
  const change = useChange('setVpnAutoRenew')
  return (
    <div className="stack">
      <Switch
        label={t.autoRenew}
        description={t.autoRenewAbout}
        checked={of.auto_renew.enabled}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ body: { uuid: of.uuid, enabled: event.currentTarget.checked } })}
      />
      <RefusalNotice error={change.error} />
    </div>
  )
}

function Devices({ of, onOpen }: { readonly of: VpnSubscription; readonly onOpen: (open: Open) => void }) {
  const { t, format } = useMessages(vpnMessages)
  const nowAt = useNow()
  return (
    <div>
      <div className="line ends">
        <strong>{t.devices}</strong>
        <span className="quiet">{t.devicesOf(format.number(of.devices.length), format.number(of.device_limit))}</span>
      </div>
      <Rows
        label={t.devicesIn(of.name ?? t.unnamed(format.day(of.expires_at)))}
        rows={of.devices}
        keyOf={(row) => row.id}
        columns={(column) => [
          column.text(t.name, (row) => row.name),
          column(t.handshake, (row) =>
            row.last_seen_at === null ? (
              t.never
            ) : (
              <Cell
                note={[row.last_protocol && (protocolNames[row.last_protocol] ?? row.last_protocol), row.last_node]
                  .filter((each) => each !== null)
                  .join(' · ')}
              >
                {format.away(row.last_seen_at, nowAt)}
              </Cell>
            ),
          ),
          column.amount(t.received, (row) => row.rx_bytes, format.bytes),
          column.amount(t.sent, (row) => row.tx_bytes, format.bytes),
          column.action(t.show, (device) => (
            <span className="line row-actions">
              <RowButton label={t.show} of={device.name} onClick={() => onOpen({ form: 'setup', device })} />
              <RowButton label={t.remove} of={device.name} isQuiet onClick={() => onOpen({ form: 'remove', device })} />
            </span>
          )),
        ]}
      />
    </div>
  )
}

function SecretLink({ of: { uuid, subscription_url: url } }: { readonly of: VpnSubscription }) {
  const { t } = useMessages(vpnMessages)
  const reset = useChange('resetVpnLink')
  return (
    <div className="stack">
      <Facts of={[[t.link, url === null ? t.hidden : <Copyable text={url} label={t.link} />]]} />
      <div className="line ends">
        <Hint>{t.linkAbout}</Hint>
        <Button
          size="compact-sm"
          variant="default"
          loading={reset.isPending}
          onClick={() => reset.mutate({ body: { uuid } })}
        >
          {t.newLink}
        </Button>
      </div>
      <RefusalNotice error={reset.error} />
    </div>
  )
}

function Renew({ of, onDone }: FormProps) {
  const { t, format } = useMessages(vpnMessages)
  const prices = useVpnPrices(of.uuid).data ?? []
  const purchase = usePurchase('renewVpn')
  const [period, setPeriod] = useState(1)
  const chosen = prices.find((each) => each.period === period)
  const price = chosen?.price_rub
  if (purchase.data) {
    const { expires_at, price_rub } = purchase.data
    return (
      <Outcome title={t.renewed(format.moment(expires_at), format.money(price_rub))}>
        <Button onClick={onDone}>{t.close}</Button>
      </Outcome>
    )
  }
  return (
    <div className="stack">
      <Text c="dimmed">{t.renewAbout}</Text>
      <TermChoice prices={prices} value={period} onChange={setPeriod} />
      {chosen !== undefined && chosen.slots > 0 && (
        <Text>{t.slotsRenewed(format.money(chosen.slots_price_rub), t.slotsOf(chosen.slots, format))}</Text>
      )}
      <RefusalNotice error={purchase.error} />
      <Button
        disabled={price === undefined}
        loading={purchase.isPending}
        onClick={() => purchase.buy({ uuid: of.uuid, period, max_price_rub: price })}
      >
        {t.renewFor(format.money(price ?? 0))}
      </Button>
    </div>
  )
}

const useSlotPrices = () => {
  const { data } = useRead('quoteVpnSlots', {}, { everyMs: quoteEveryMs })
  return data && 'prices' in data ? data.prices : []
}

/** The button to more devices, where they are sold and the subscription runs. */
function Slots({ of, onOpen }: { readonly of: VpnSubscription; readonly onOpen: () => void }) {
  const { t } = useMessages(vpnMessages)
  const isRunning = of.status === 'ACTIVE' || of.status === 'LIMITED'
  if (useSlotPrices().length === 0 || !isRunning) return null
  return (
    <Button variant="default" onClick={onOpen}>
      {t.slots}
    </Button>
  )
}

function BuySlots({ of, onDone }: FormProps) {
  const { t, format } = useMessages(vpnMessages)
  const prices = useSlotPrices()
  const purchase = usePurchase('increaseVpnDevices')
  const [count, setCount] = useState(1)
  const price = prices.find((each) => each.count === count)?.price_rub
  if (purchase.data) {
    const { device_limit, price_rub } = purchase.data
    return (
      <Outcome title={t.slotsBought(format.number(device_limit), format.money(price_rub))}>
        <Button onClick={onDone}>{t.close}</Button>
      </Outcome>
    )
  }
  const options = prices.map((each) => ({
    value: each.count,
    label: (
      <>
        {t.slotsOf(each.count, format)}
        <br />
        <strong>{format.money(each.price_rub)}</strong>
      </>
    ),
  }))
  return (
    <div className="stack">
      <Text c="dimmed">{t.slotsAbout}</Text>
      <Choices legend={t.slotsCount} value={count} options={options} onChange={setCount} />
      <RefusalNotice error={purchase.error} />
      <Button
        disabled={price === undefined}
        loading={purchase.isPending}
        onClick={() => purchase.buy({ uuid: of.uuid, count, max_price_rub: price })}
      >
        {t.buyFor(format.money(price ?? 0))}
      </Button>
    </div>
  )
}

function RemoveAll({ of: { uuid }, onDone }: FormProps) {
  const { t } = useMessages(vpnMessages)
  const change = useChange('resetVpnDevices', onDone)
  const remove = () => change.mutate({ body: { uuid } })
  return <Confirm about={t.removeAllAbout} label={t.removeAll} color="red" change={change} onConfirm={remove} />
}

function AddDevice({ of, onAdded }: { readonly of: VpnSubscription; readonly onAdded: (device: VpnDevice) => void }) {
  const { t } = useMessages(vpnMessages)
  const change = useChange('addVpnDevice', ({ device }) => onAdded(device))
  const name = useTyped()
  const body = { uuid: of.uuid, ...(name.text !== '' && { name: name.text }) }
  return (
    <SubmitForm label={t.add} change={change} onSubmit={() => change.mutate({ body })}>
      <TextInput label={t.addName} maxLength={64} data-autofocus {...name.props} />
    </SubmitForm>
  )
}

function Rename({ of, onDone }: FormProps) {
  const { t } = useMessages(vpnMessages)
  const change = useChange('setVpnName', onDone)
  const { text, props } = useTyped(of.name ?? '')
  // An empty name removes it.
  const body = { uuid: of.uuid, name: text === '' ? null : text }
  return (
    <SubmitForm
      label={t.save}
      change={change}
      isReady={text !== (of.name ?? '')}
      onSubmit={() => change.mutate({ body })}
    >
      <TextInput
        label={t.subscriptionName}
        description={`${t.renameAbout} ${t.nameClear}`}
        maxLength={64}
        data-autofocus
        {...props}
      />
    </SubmitForm>
  )
}

function RemoveDevice({ of, device, onDone }: FormProps & { readonly device: VpnDevice }) {
  const { t } = useMessages(vpnMessages)
  const change = useChange('removeVpnDevice', onDone)
  const remove = () => change.mutate({ body: { uuid: of.uuid, device: device.id } })
  return <Confirm about={t.removeAbout(device.name)} label={t.remove} color="red" change={change} onConfirm={remove} />
}

function End({ of, onDone }: FormProps) {
  const { t, format } = useMessages(vpnMessages)
  const change = useChange('deleteVpn', onDone)
  // After the deletion the shop has no quote.
  const isWanted = !change.isPending && !change.isSuccess
  const quote = useRead('quoteVpnRefund', { query: { uuid: of.uuid } }, { isWanted, everyMs: 10_000 })
  const end = () => change.mutate({ body: { uuid: of.uuid } })
  return (
    <Reading of={quote}>
      {({ refund_rub: sum }) => (
        <Confirm
          about={sum > 0 ? t.endAbout(format.exactMoney(sum)) : t.endWithout}
          label={t.end}
          color="red"
          change={change}
          onConfirm={end}
        />
      )}
    </Reading>
  )
}
