import { contains, type Prefix, readPrefix } from '../../core/address.ts'
import { type Kopecks, kopecks, toRoubleText, zero } from '../../core/money.ts'
import { toIso } from '../../core/time.ts'
import {
  type CallPurpose,
  type Opened,
  type PaymentProvider,
  type ProviderKind,
  ProviderRefused,
  type Seen,
  type ToOpen,
} from '../../domains/payments/ports.ts'
import { type Call, createCall } from './calling.ts'
import {
  type Fields,
  fieldsOf,
  needed,
  readAmount,
  readNotificationBody,
  readPlace,
  readProviderId,
  refuseStranger,
  textOf,
  urlSetting,
} from './reading.ts'

const provider = 'yookassa'
const usualUrl = 'https://api.yookassa.ru/v3'
/** Where notifications come from, as published. They carry no signature: this, and asking again, is all there is. */
const publishedSources =
  '185.71.76.0/27;185.71.77.0/27;77.75.153.0/25;77.75.156.11/32;77.75.156.35/32;77.75.154.128/25;2a02:5180::/32'
const idPattern = /^[A-Za-z0-9-]{1,64}$/
const mostPages = 100

const types: Readonly<Record<string, string>> = { card: 'bank_card', sbp: 'sbp' }

const states: Readonly<Record<string, Seen['state']>> = {
  pending: 'pending',
  waiting_for_capture: 'pending',
  succeeded: 'paid',
  canceled: 'cancelled',
}

/** YooKassa, API v3: cards and SBP. What it answers is read as its OpenAPI description has it. */
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
      meaning: 'on: a receipt is sent with every payment (54-FZ), and customers give an e-mail address; or off',
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
    urlSetting,
  ],
  needsSecret: true,
  isSandbox: false,
  connect: (settings, secret) => connect(settings, secret, createCall(provider)),
}

function connect(settings: Readonly<Record<string, string>>, secret: string, call: Call): PaymentProvider {
  const base = settings['url'] ?? usualUrl
  const authorization = `Basic ${Buffer.from(`${settings['shop_id'] ?? ''}:${secret}`).toString('base64')}`
  const sources = (settings['sources'] ?? publishedSources).split(';').flatMap((part): Prefix[] => {
    const prefix = readPrefix(part)
    return prefix ? [prefix] : []
  })
  const get = (path: string, purpose: CallPurpose) =>
    call(`${base}${path}`, { purpose, headers: { Authorization: authorization } })
  const post = (path: string, key: string, json: unknown) =>
    call(`${base}${path}`, {
      purpose: 'open',
      method: 'POST',
      headers: { Authorization: authorization, 'Idempotence-Key': key },
      json,
    })

  async function* listed(query: Readonly<Record<string, string>>): AsyncGenerator<Fields> {
    let cursor: string | null = null
    for (let page = 0; page < mostPages; page += 1) {
      const search = new URLSearchParams({ ...query, limit: '100', ...(cursor !== null && { cursor }) })
      const { items, next_cursor: next } = fieldsOf((await get(`/payments?${search.toString()}`, 'poll')).json)
      yield* (Array.isArray(items) ? items : []).map(fieldsOf)
      cursor = textOf(next)
      if (cursor === null) return
    }
  }

  return {
    // The same key within a day gives the same payment.
    opensOnce: true,

    async open(wish: ToOpen): Promise<Opened> {
      const { json } = await post('/payments', wish.payment, toCreate(wish, settings))
      const made = fieldsOf(json)
      const payUrl = needed(provider, readPlace(fieldsOf(made['confirmation'])['confirmation_url']), 'a place to pay')
      return { providerId: needed(provider, textOf(made['id']), 'an id'), payUrl, qr: payUrl, expiresAt: null }
    },

    async findOpened(payment, createdAt) {
      const query = { 'created_at.gte': toIso(createdAt - 60_000), 'created_at.lte': toIso(createdAt + 2 * 3_600_000) }
      for await (const each of listed(query)) {
        const seen = toSeen(each)
        if (seen.reference === payment) return seen
      }
      return undefined
    },

    async find(providerId, purpose = 'poll') {
      const { status, json } = await get(`/payments/${encodeURIComponent(providerId)}`, purpose)
      return status === 404 ? undefined : toSeen(fieldsOf(json))
    },

    readNotification({ body, from }) {
      if (!from || !sources.some((prefix) => contains(prefix, from))) refuseStranger()
      const { event, object } = readNotificationBody(body)
      const of = fieldsOf(object)
      const isRefund = textOf(event)?.startsWith('refund.') === true
      return { providerId: readProviderId(isRefund ? of['payment_id'] : of['id'], idPattern), reference: null }
    },

    async refund({ providerId, amount, key }) {
      const { status, json } = await post('/refunds', key, { payment_id: providerId, amount: toAmount(amount) })
      const state = status === 404 ? 'canceled' : textOf(fieldsOf(json)['status'])
      if (needed(provider, state, 'a status') === 'canceled') throw new ProviderRefused(`${provider} gave nothing back`)
    },

    // It keeps a key for a day; an hour less, because its clock is not ours.
    refundKeyMs: 23 * 3_600_000,

    async *list(fromAt, toAt) {
      for await (const each of listed({ 'created_at.gte': toIso(fromAt), 'created_at.lt': toIso(toAt) })) {
        yield toSeen(each)
      }
    },
  }
}

const toAmount = (amount: Kopecks) => ({ value: toRoubleText(amount), currency: 'RUB' })

function toCreate(wish: ToOpen, settings: Readonly<Record<string, string>>): object {
  const item = {
    description: wish.description.slice(0, 128),
    quantity: 1,
    amount: toAmount(wish.amount),
    vat_code: Number(settings['vat_code'] ?? 1),
    payment_subject: 'service',
    payment_mode: 'full_prepayment',
  }
  return {
    amount: toAmount(wish.amount),
    // Two stages are what it does unless told otherwise: money that nobody ever takes.
    capture: true,
    confirmation: { type: 'redirect', return_url: wish.returnUrl },
    description: wish.description.slice(0, 128),
    metadata: { payment_id: wish.payment },
    payment_method_data: { type: types[wish.method] },
    ...(settings['receipts'] === 'on' && { receipt: { customer: { email: wish.email }, items: [item] } }),
  }
}

function toSeen(of: Fields): Seen {
  const amount = fieldsOf(of['amount'])
  const state = states[textOf(of['status']) ?? '']
  return {
    providerId: needed(provider, textOf(of['id']), 'an id'),
    reference: textOf(fieldsOf(of['metadata'])['payment_id']),
    state: needed(provider, state, 'a status that is known'),
    amount: needed(provider, readAmount(amount['value']), 'an amount'),
    currency: needed(provider, textOf(amount['currency']), 'a currency'),
    isTest: of['test'] === true,
    refunded: readAmount(fieldsOf(of['refunded_amount'])['value']) ?? zero,
    payUrl: readPlace(fieldsOf(of['confirmation'])['confirmation_url']),
  }
}
