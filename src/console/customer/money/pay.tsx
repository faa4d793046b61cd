import { Button, NumberInput, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import type { Payment, PaymentMethod } from '../../client/customer.ts'
import { go, useNow } from '../../shared/browser.ts'
import { Copyable } from '../../shared/copy.tsx'
import { Form, Select, useTyped } from '../../shared/form.tsx'
import { daysLeft, type Language, useMessages } from '../../shared/messages.tsx'
import { Facts, Hint, Notice, Outcome, Page, Panel, Reading, RefusalNotice } from '../../shared/parts.tsx'
import { QrCode } from '../../shared/qr.tsx'
import { clearRefusals, refresh } from '../../shared/queries.ts'
import { methodNames } from '../../shared/trade.ts'
import { api, usePurchase, useRead } from '../api.ts'
import { moneyMessages } from './messages.ts'

/** The payment methods with their names in the reader's language; none if the shop takes no payments. */
function useMethods(): readonly PaymentMethod[] {
  const { t: names } = useMessages(methodNames)
  const found = useRead('listPaymentMethods').data?.items ?? []
  return found.map((each) => ({ ...each, name: names[each.method] ?? each.name }))
}

type Begin = ReturnType<typeof usePurchase<'createPayment'>>

/** The payment has no number yet: its page is that of the newest one. */
const returnUrl = (): string => `${location.origin}/#/payments/last`

const toOptions = (methods: readonly PaymentMethod[]) => methods.map((each) => [each.method, each.name] as const)

/** The last payment, if it can still be paid: a payer who comes back finds it here. */
function useOpenPayment(): Payment | undefined {
  const last = useRead('listPayments', { query: { limit: 1 } }).data?.payments[0]
  return last?.status === 'pending' ? last : undefined
}

/** The begun payment, or an open one that fits. It stays on the page with its outcome until `another` is called. */
function useShownPayment(begin: Begin, fits: (open: Payment) => boolean) {
  const open = useOpenPayment()
  const [shown, setShown] = useState<Payment>()
  const [isPutAside, setPutAside] = useState(false)
  const found = begin.data ?? shown ?? (isPutAside || open === undefined || !fits(open) ? undefined : open)
  useEffect(() => {
    if (found !== undefined && shown === undefined && !isPutAside) setShown(found)
  }, [found, shown, isPutAside])
  const another = () => {
    begin.reset()
    setShown(undefined)
    setPutAside(true)
  }
  return [found, another] as const
}

export function TopUp() {
  const methods = useMethods()
  const begin = usePurchase('createPayment', { isKept: false })
  const [found, another] = useShownPayment(begin, () => true)
  if (methods.length === 0) return null
  return found ? (
    <Paying key={found.payment_id} begun={found} onAnother={another} />
  ) : (
    <TopUpForm methods={methods} begin={begin} />
  )
}

const presets = [500, 1000, 3000, 5000, 10_000]

function TopUpForm({ methods, begin }: { readonly methods: readonly PaymentMethod[]; readonly begin: Begin }) {
  const { t, format } = useMessages(moneyMessages)
  const [amount, setAmount] = useState<number | string>(1000)
  const [chosen, setChosen] = useState(methods[0]?.method ?? '')
  const email = useTyped()
  const code = useTyped()
  const method = methods.find((each) => each.method === chosen) ?? methods[0]
  if (method === undefined) return null
  const request = { amount_rub: Number(amount), method: method.method, ...(code.text !== '' && { code: code.text }) }
  const body = { ...request, return_url: returnUrl(), ...(method.email && { email: email.text }) }
  const isWithin = Number(amount) >= method.min_rub && Number(amount) <= method.max_rub
  return (
    <Panel title={t.topUp} className="stack">
      <div className="line">
        {presets
          .filter((each) => each >= method.min_rub && each <= method.max_rub)
          .map((each) => (
            <Button
              key={each}
              size="xs"
              variant={Number(amount) === each ? 'light' : 'default'}
              aria-pressed={Number(amount) === each}
              onClick={() => setAmount(each)}
            >
              {format.money(each)}
            </Button>
          ))}
      </div>
      <Form className="line fields" onSubmit={() => begin.buy(body)}>
        <NumberInput
          label={t.topUpAmount}
          value={amount}
          min={method.min_rub}
          max={method.max_rub}
          decimalScale={2}
          allowNegative={false}
          w="10rem"
          onChange={setAmount}
        />
        <Select label={t.method} value={method.method} options={toOptions(methods)} onChange={setChosen} />
        {method.email && <TextInput type="email" label={t.email} {...email.props} />}
        <TextInput label={t.code} autoComplete="off" maxLength={40} w="12rem" {...code.props} />
        <Button type="submit" disabled={!isWithin} loading={begin.isPending}>
          {t.pay}
        </Button>
      </Form>
      <Hint>
        {t.limits(format.money(method.min_rub), format.money(method.max_rub))}
        {method.fee_percent > 0 && ` ${t.fee(format.percent(method.fee_percent))}`}
      </Hint>
      {isWithin && request.code !== undefined && <Bonus request={request} />}
      <RefusalNotice error={begin.error} onAgain={() => begin.buy(body)} />
    </Panel>
  )
}

function Bonus({ request }: { readonly request: { amount_rub: number; method: string; code?: string } }) {
  const { t, format } = useMessages(moneyMessages)
  const [settled] = useDebouncedValue(request, 300)
  const quote = useRead('quotePayment', { query: settled }, { isWanted: settled.code !== undefined })
  if (quote.error !== null) return <RefusalNotice error={quote.error} />
  if (quote.data === undefined || quote.isPlaceholderData) return null
  return (
    <Notice tone="good">
      {t.bonus(format.exactMoney(quote.data.bonus_rub), format.exactMoney(quote.data.balance_grows_rub))}
    </Notice>
  )
}

type PaidOrder = Readonly<Record<string, unknown>> & { readonly product: 'dedicated' | 'traffic' | 'vpn' }

type BuyNowProps = {
  readonly price: number | undefined
  readonly order: PaidOrder
  /** The payment has come and the order is made: the page shows the outcome in place of its form. */
  readonly onBought: (payment: Payment) => void
}

/**
 * Pays what the balance lacks for an order; the shop buys at the price shown once the money has come. After a reload it
 * shows the open payment for the same product, so that the customer does not begin a second one.
 */
export function BuyNow({ price, order, onBought }: BuyNowProps) {
  const { t, format } = useMessages(moneyMessages)
  const methods = useMethods()
  const balance = useRead('getBalance').data?.balance_rub
  const begin = usePurchase('createPayment', { isKept: false })
  const [chosen, setChosen] = useState('')
  const email = useTyped()
  const isShort = price !== undefined && balance !== undefined && balance < price
  const [found, another] = useShownPayment(begin, (open) => isShort && open.purchase?.product === order.product)
  if (found) return <Paying key={found.payment_id} begun={found} onAnother={another} onBought={onBought} />
  if (price === undefined || balance === undefined || balance >= price) return null
  const missing = Math.round((price - balance) * 100) / 100
  const able = methods.filter((each) => each.max_rub >= missing)
  const method = able.find((each) => each.method === chosen) ?? able[0]
  if (method === undefined) return null
  const amount = Math.max(missing, method.min_rub)
  const start = () =>
    begin.buy({
      amount_rub: amount,
      method: method.method,
      return_url: returnUrl(),
      ...(method.email && { email: email.text }),
      purchase: { ...order, max_price_rub: price },
    })
  return (
    <div className="stack">
      {able.length > 1 && (
        <Select label={t.method} value={method.method} options={toOptions(able)} onChange={setChosen} />
      )}
      {method.email && <TextInput type="email" label={t.email} {...email.props} />}
      <Button size="md" loading={begin.isPending} onClick={start}>
        {t.buyNow(format.money(amount))}
      </Button>
      {method.fee_percent > 0 && <Hint>{t.fee(format.percent(method.fee_percent))}</Hint>}
      <RefusalNotice error={begin.error} onAgain={start} />
    </div>
  )
}

const isDone = ({ status, purchase }: Payment): boolean => status === 'paid' && purchase?.state !== 'waiting'

/** A payment, polled until it is paid and its purchase is made; then every query is read again. */
function usePayment(begun: Payment): Payment {
  const queries = useQueryClient()
  const { payment_id } = begun
  const payment =
    useQuery({
      queryKey: ['getPayment', payment_id],
      queryFn: () => api.call('getPayment', { params: { payment_id } }),
      refetchInterval: (query) => (query.state.data && isDone(query.state.data) ? false : 2_000),
      refetchIntervalInBackground: true,
    }).data ?? begun
  const state = `${payment.status} ${payment.purchase?.state ?? ''}`
  useEffect(() => {
    if (!state.startsWith('paid')) return
    clearRefusals()
    void refresh(queries)
  }, [state, queries])
  return payment
}

/** The link to a payment page; the shop's own is shown in the customer's language and time zone. */
function toPayPage(url: string, language: Language): string {
  if (!url.startsWith(`${location.origin}/pay/`)) return url
  return `${url}?${new URLSearchParams({ language, zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}`
}

type PayingProps = {
  readonly begun: Payment
  readonly onAnother: () => void
  readonly onBought?: (payment: Payment) => void
}

/** A payment until it is paid, and then its outcome. */
function Paying({ begun, onAnother, onBought }: PayingProps) {
  const { t, format, language } = useMessages(moneyMessages)
  const payment = usePayment(begun)
  const isBought = payment.purchase?.state === 'bought'
  useEffect(() => {
    if (isBought) onBought?.(payment)
  }, [isBought, onBought, payment])
  const another = (
    <Button variant="default" onClick={onAnother}>
      {t.another}
    </Button>
  )
  if (payment.status !== 'pending') return <Ended payment={payment}>{another}</Ended>
  return (
    <Panel title={t.payTitle(format.money(payment.to_pay_rub))} className="stack">
      {payment.purchase && <Text ta="center">{t.purchaseBuys(format.money(payment.purchase.price_rub))}</Text>}
      <div className="line">
        {payment.pay_url !== null && (
          <Button component="a" href={toPayPage(payment.pay_url, language)} target="_blank" rel="noopener">
            {t.openPay}
          </Button>
        )}
        {another}
      </div>
      {/* A phone cannot scan its own screen: it opens the payment page. */}
      {payment.qr !== null && (
        <div className={payment.pay_url === null ? '' : 'not-on-phone'}>
          <QrCode text={payment.qr} label={t.payCode} />
        </div>
      )}
      <TimeLeft until={payment.expires_at} />
    </Panel>
  )
}

/** Replaces the page of the newest payment by the page of its number. */
function NewestPayment() {
  const { t } = useMessages(moneyMessages)
  const newest = useRead('listPayments', { query: { limit: 1 } })
  const id = newest.data?.payments[0]?.payment_id
  useEffect(() => {
    if (id !== undefined) location.replace(`#/payments/${id}`)
  }, [id])
  return (
    <Page title={t.payment}>
      <Reading of={newest}>{() => <a href="#/money">{t.toMoney}</a>}</Reading>
    </Page>
  )
}

/** A payment with its outcome and receipt: the page that a payer comes back to. */
export function PaymentPage({ id }: { readonly id: string }) {
  const { t, format } = useMessages(moneyMessages)
  const payment = useQuery({
    queryKey: ['getPayment', id],
    queryFn: () => api.call('getPayment', { params: { payment_id: id } }),
    enabled: id !== 'last',
  })
  if (id === 'last') return <NewestPayment />
  return (
    <Page
      title={t.payment}
      about={payment.data && format.moment(payment.data.created_at)}
      actions={<a href="#/money">{t.toMoney}</a>}
    >
      <Reading of={payment} height={240}>
        {(found) => <Paying begun={found} onAnother={() => void go('/money')} />}
      </Reading>
    </Page>
  )
}

/** The amount paid, the amount that it has added to the balance, and the balance now. */
function Receipt({ of }: { readonly of: Payment }) {
  const { t, format } = useMessages(moneyMessages)
  const balance = useRead('getBalance').data
  return (
    <Facts
      of={[
        [t.paidBy, format.exactMoney(of.to_pay_rub)],
        of.fee_rub > 0 && [t.paidFee, format.exactMoney(of.fee_rub)],
        of.bonus_rub > 0 && [t.bonusSum, format.exactMoney(of.bonus_rub)],
        [t.added, <strong>{format.exactMoney(of.amount_rub + of.bonus_rub)}</strong>],
        balance !== undefined && [t.balanceNow, format.exactMoney(balance.balance_rub)],
        [t.number, <Copyable text={of.payment_id} label={t.number} />],
      ]}
    />
  )
}

function Ended({ payment, children }: { readonly payment: Payment; readonly children: ReactNode }) {
  const { t, format } = useMessages(moneyMessages)
  const isPaid = payment.status === 'paid'
  return (
    <Panel title={isPaid ? t.receipt : t.topUp} className="stack">
      <Notice tone={isPaid ? 'good' : 'warn'}>
        {isPaid ? t.paid(format.money(payment.amount_rub + payment.bonus_rub)) : t.ended[payment.status]}
      </Notice>
      {isPaid && <Receipt of={payment} />}
      {payment.purchase && <Purchase of={payment.purchase} />}
      <div className="line">{children}</div>
    </Panel>
  )
}

type PaidPurchaseProps = {
  readonly payment: Payment
  readonly onAgain: () => void
  /** Shown below the receipt: the services of the order with this number. */
  readonly children?: (order: string) => ReactNode
}

/** The outcome of a payment that has bought an order, in place of the form of the order. */
export function PaidPurchase({ payment, onAgain, children }: PaidPurchaseProps) {
  const { t } = useMessages(moneyMessages)
  const order = payment.purchase?.order_id
  return (
    <>
      <Panel>
        <Outcome title={t.purchaseBought}>
          <Receipt of={payment} />
          <div className="line">
            <Button component="a" href={pages[payment.purchase?.product ?? ''] ?? '#/orders'} onClick={onAgain}>
              {t.toBought}
            </Button>
            <Button variant="subtle" onClick={onAgain}>
              {t.buyMore}
            </Button>
          </div>
        </Outcome>
      </Panel>
      {typeof order === 'string' && children?.(order)}
    </>
  )
}

const pages: Readonly<Record<string, string>> = { dedicated: '#/dedicated', traffic: '#/premium', vpn: '#/vpn' }

function Purchase({ of }: { readonly of: NonNullable<Payment['purchase']> }) {
  const { t } = useMessages(moneyMessages)
  if (of.state === 'waiting') return <Text>{t.purchaseWaits}</Text>
  if (of.state !== 'bought') {
    return (
      <Notice tone="warn">
        {t.purchaseNot} {of.problem}
      </Notice>
    )
  }
  return (
    <Notice tone="good">
      {t.purchaseBought} <a href={pages[of.product] ?? '#/orders'}>{t.toBought}</a>
    </Notice>
  )
}

/** Counts down to the end of a payment: minutes and seconds, or days from two days on. */
function TimeLeft({ until }: { readonly until: string }) {
  const { t, format } = useMessages(moneyMessages)
  const nowAt = useNow(1_000)
  const seconds = Math.max(0, Math.floor((Date.parse(until) - nowAt) / 1_000))
  const shown =
    seconds > 2 * 86_400
      ? t.days(daysLeft(seconds * 1_000), format)
      : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  return (
    <Text ta="center" c="dimmed">
      {t.waiting} <span className="mono">{shown}</span>
    </Text>
  )
}
