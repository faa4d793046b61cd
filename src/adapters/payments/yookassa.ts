import { contains, readPrefix } from '../../core/address.ts'
import { type Kopecks, kopecks, toRoubleText } from '../../core/money.ts'
import { toIso } from '../../core/time.ts'
import {
  type CallPurpose,
  type OpenRequest,
  type PaymentProvider,
  type ProviderKind,
  type ProviderPayment,
  ProviderRefused,
} from '../../domains/payments/ports.ts'
import { createCall, type ProviderCall } from './calling.ts'
import * as reading from './reading.ts'

const provider = 'yookassa'
const usualUrl = 'https://api.yookassa.ru/v3'
/** The published sources of notifications, which are not signed. */
const publishedSources =
  '185.71.76.0/27;185.71.77.0/27;77.75.153.0/25;77.75.156.11/32;77.75.156.35/32;77.75.154.128/25;2a02:5180::/32'
const idPattern = /^[A-Za-z0-9-]{1,64}$/
const maxPages = 100

const types: Readonly<Record<string, string>> = { card: 'bank_card', sbp: 'sbp' }

const states: Readonly<Record<string, ProviderPayment['state']>> = {
  pending: 'pending',
  waiting_for_capture: 'pending',
  succeeded: 'paid',
  canceled: 'cancelled',
}

/** YooKassa, API v3: cards and SBP. */
export const yookassa: ProviderKind = {
  name: provider,
  methods: [
    { method: 'card', name: 'Card', min: kopecks(100n), max: kopecks(35_000_000n), payableMs: 3_600_000 },
    { method: 'sbp', name: 'SBP', min: kopecks(100n), max: kopecks(70_000_000n), payableMs: 3_600_000 },
  ],
  settings: [
    {
      name: 'shop_id',
      meaning: 'the number of the shop',
      isRequired: true,
      isValid: (text) => /^\d{1,20}$/.test(text),
    },
    {
      name: 'receipts',
      meaning:
        'on: a receipt is sent with every payment and refund (54-FZ), and customers give an e-mail address; or off',
      isRequired: false,
      isValid: (text) => text === 'on' || text === 'off',
    },
    {
      name: 'vat_code',
      meaning: 'the code of the VAT rate on receipts, 1 to 12; 1, none, unless said',
      isRequired: false,
      isValid: (text) => /^([1-9]|1[0-2])$/.test(text),
    },
    {
      name: 'sources',
      meaning: 'prefixes that notifications come from, separated by semicolons, in place of the published ones',
      isRequired: false,
      isValid: (text) => text.split(';').every((part) => readPrefix(part) !== undefined),
    },
    reading.urlSetting,
  ],
  needsSecret: true,
  isSandbox: false,
  connect,
}

function connect(settings: Readonly<Record<string, string>>, secret: string): PaymentProvider {
  const call = createCall(provider)
  const base = settings['url'] ?? usualUrl
  const Authorization = `Basic ${Buffer.from(`${settings['shop_id'] ?? ''}:${secret}`).toString('base64')}`
  const sources = (settings['sources'] ?? publishedSources).split(';').flatMap((part) => readPrefix(part) ?? [])
  const get = (path: string, purpose: CallPurpose) => call(`${base}${path}`, { purpose, headers: { Authorization } })
  const show = (id: string, purpose: CallPurpose) => get(`/payments/${encodeURIComponent(id)}`, purpose)
  const post = (path: string, key: string, json: unknown) => {
    const headers = { Authorization, 'Idempotence-Key': key }
    return call(`${base}${path}`, { purpose: 'open', method: 'POST', headers, json })
  }
  const listed = (query: Readonly<Record<string, string>>) => listPayments(get, query)

  return {
    // The same idempotency key within a day gives the same payment.
    opensOnce: true,

    async open(request) {
      const made = reading.fieldsOf((await post('/payments', request.payment, toCreate(request, settings))).json)
      return reading.toOpened(provider, { id: made['id'], url: payUrlOf(made) })
    },

    async findOpened(payment, createdAt) {
      const query = { 'created_at.gte': toIso(createdAt - 60_000), 'created_at.lte': toIso(createdAt + 2 * 3_600_000) }
      for await (const each of listed(query)) if (each.reference === payment) return each
      return undefined
    },

    async find(providerId, purpose = 'poll') {
      const { status, json } = await show(providerId, purpose)
      return status === 404 ? undefined : toPayment(reading.fieldsOf(json))
    },

    readNotification({ body, from }) {
      if (!from || !sources.some((prefix) => contains(prefix, from))) reading.refuseUnauthenticated()
      return { providerId: readNotifiedId(body), reference: null }
    },

    async refund({ providerId, amount, key }) {
      const payment = settings['receipts'] === 'on' ? reading.fieldsOf((await show(providerId, 'open')).json) : {}
      const request = {
        payment_id: providerId,
        amount: toAmount(amount),
        ...toRefundReceipt(payment, amount, settings),
      }
      refuseCancelled(await post('/refunds', key, request))
    },

    // YooKassa keeps a key for a day; an hour less allows for different clocks.
    refundKeyMs: 23 * 3_600_000,

    list: (fromAt, toAt) => listed({ 'created_at.gte': toIso(fromAt), 'created_at.lt': toIso(toAt) }),
  }
}

async function* listPayments(
  get: (path: string, purpose: CallPurpose) => ReturnType<ProviderCall>,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<ProviderPayment> {
  let cursor: string | null = null
  for (let page = 0; page < maxPages; page += 1) {
    const search = new URLSearchParams({ ...query, limit: '100', ...(cursor !== null && { cursor }) })
    const { json } = await get(`/payments?${search.toString()}`, 'poll')
    const { items, next_cursor: next } = reading.fieldsOf(json)
    for (const item of reading.itemsOf(items)) yield toPayment(item)
    cursor = reading.textOf(next)
    if (cursor === null) return
  }
}

/** The payment's id; a notification of a refund names it `payment_id`. */
function readNotifiedId(body: Uint8Array): string {
  const { event, object } = reading.readNotificationBody(body)
  const isRefund = reading.textOf(event)?.startsWith('refund.') === true
  return reading.readProviderId(reading.fieldsOf(object)[isRefund ? 'payment_id' : 'id'], idPattern)
}

function refuseCancelled({ status, json }: { readonly status: number; readonly json: unknown }): void {
  const state = status === 404 ? 'canceled' : reading.textOf(reading.fieldsOf(json)['status'])
  if (reading.needed(provider, state, 'a status') !== 'canceled') return
  throw new ProviderRefused(`${provider} gave nothing back`)
}

const toAmount = (amount: Kopecks) => ({ value: toRoubleText(amount), currency: 'RUB' })

const vatCodeOf = (settings: Readonly<Record<string, string>>): string => settings['vat_code'] ?? '1'

function toReceipt(
  email: string | undefined,
  of: { readonly description: string; readonly amount: Kopecks; readonly vatCode: string },
): object {
  const item = {
    description: of.description,
    quantity: 1,
    amount: toAmount(of.amount),
    vat_code: Number(of.vatCode),
    payment_subject: 'service',
    payment_mode: 'full_prepayment',
  }
  return { customer: { email }, items: [item] }
}

/**
 * The receipt of a partial refund: as the payment's, for the returned amount. YooKassa makes the receipt of a whole
 * refund itself, and a payment without a receipt needs none.
 */
function toRefundReceipt(
  payment: reading.JsonFields,
  amount: Kopecks,
  settings: Readonly<Record<string, string>>,
): { readonly receipt?: object } {
  if (reading.readAmount(reading.fieldsOf(payment['amount'])['value']) === amount) return {}
  const metadata = reading.fieldsOf(payment['metadata'])
  const email = reading.textOf(metadata['receipt_email'])
  if (email !== null) {
    const description = reading.textOf(payment['description']) ?? ''
    const vatCode = reading.textOf(metadata['receipt_vat_code']) ?? vatCodeOf(settings)
    return { receipt: toReceipt(email, { description, amount, vatCode }) }
  }
  if (reading.textOf(payment['receipt_registration']) === null) return {}
  throw new ProviderRefused(`${provider} knows no e-mail address for the receipt: refund it in its cabinet`)
}

function toCreate(request: OpenRequest, settings: Readonly<Record<string, string>>): object {
  const { email, amount } = request
  const description = request.description.slice(0, 128)
  const vatCode = vatCodeOf(settings)
  const hasReceipt = settings['receipts'] === 'on'
  return {
    amount: toAmount(amount),
    // Without this the payment is only authorised, and the money is never taken.
    capture: true,
    confirmation: { type: 'redirect', return_url: request.returnUrl },
    description,
    // The receipt of a refund needs both, and YooKassa does not show receipts. The shop itself stores no address.
    metadata: { payment_id: request.payment, ...(hasReceipt && { receipt_email: email, receipt_vat_code: vatCode }) },
    payment_method_data: { type: types[request.method] },
    ...(hasReceipt && { receipt: toReceipt(email, { description, amount, vatCode }) }),
  }
}

const payUrlOf = (of: reading.JsonFields): unknown => reading.fieldsOf(of['confirmation'])['confirmation_url']

function toPayment(of: reading.JsonFields): ProviderPayment {
  const amount = reading.fieldsOf(of['amount'])
  return reading.toProviderPayment(provider, {
    id: of['id'],
    reference: reading.fieldsOf(of['metadata'])['payment_id'],
    state: states[reading.textOf(of['status']) ?? ''],
    amount: reading.readAmount(amount['value']),
    currency: amount['currency'],
    isTest: of['test'] === true,
    refunded: reading.readAmount(reading.fieldsOf(of['refunded_amount'])['value']),
    url: payUrlOf(of),
  })
}
