import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { kopecks, toRoubleText } from '../../core/money.ts'
import { readIso } from '../../core/time.ts'
import {
  type CallPurpose,
  type OpenRequest,
  type PaymentProvider,
  type ProviderKind,
  type ProviderPayment,
  ProviderRefused,
} from '../../domains/payments/ports.ts'
import { createCall } from './calling.ts'
import * as reading from './reading.ts'

const provider = 'crypto_pay'
const hosts = { main: 'https://pay.crypt.bot', test: 'https://testnet-pay.crypt.bot' }
const payableMs = 3_600_000
const pageSize = 1000
const maxPages = 100
/** How many pages are searched for an invoice whose answer never came. */
const orphanPages = 5

const states: Readonly<Record<string, ProviderPayment['state']>> = {
  active: 'pending',
  paid: 'paid',
  expired: 'expired',
}

/**
 * Crypto Pay (@CryptoBot): an invoice in roubles, paid in a coin. The invoice's amount in roubles is credited. The API
 * has no idempotency keys and no refunds.
 */
export const cryptoPay: ProviderKind = {
  name: provider,
  methods: [{ method: 'crypto', name: 'Cryptocurrency', min: kopecks(1000n), max: kopecks(100_000_000n), payableMs }],
  settings: [
    {
      name: 'network',
      meaning: 'main, or test for @CryptoTestnetBot, whose coins are worth nothing; main unless said',
      isRequired: false,
      isValid: (text) => text === 'main' || text === 'test',
    },
    {
      name: 'assets',
      meaning: 'coins that are taken, separated by semicolons, like USDT;TON; all unless said',
      isRequired: false,
      isValid: (text) => /^[A-Z]{2,8}(;[A-Z]{2,8}){0,20}$/.test(text),
    },
    reading.urlSetting,
  ],
  needsSecret: true,
  isSandbox: false,
  connect,
}

function connect(settings: Readonly<Record<string, string>>, secret: string): PaymentProvider {
  const isTest = settings['network'] === 'test'
  const base = settings['url'] ?? hosts[isTest ? 'test' : 'main']
  const call = createCall(provider)
  const signingKey = createHash('sha256').update(secret).digest()

  async function ask(method: string, json: reading.JsonFields, purpose: CallPurpose): Promise<reading.JsonFields> {
    const headers = { 'Crypto-Pay-API-Token': secret }
    const { json: answer } = await call(`${base}/api/${method}`, { purpose, method: 'POST', headers, json })
    const { ok, result } = reading.fieldsOf(answer)
    if (ok !== true) throw new ProviderRefused(`${provider} refused ${method}`)
    return reading.fieldsOf(result)
  }

  async function* invoices(query: reading.JsonFields, pages: number, purpose: CallPurpose = 'poll') {
    for (let page = 0; page < pages; page += 1) {
      const { items } = await ask('getInvoices', { ...query, offset: page * pageSize, count: pageSize }, purpose)
      const found = reading.itemsOf(items)
      yield* found
      if (found.length < pageSize) return
    }
  }

  return {
    opensOnce: false,

    async open(request) {
      const made = await ask('createInvoice', toInvoice(request, settings['assets']), 'open')
      const expiresAt = readIso(reading.textOf(made['expiration_date']) ?? '') ?? null
      return reading.toOpened(provider, { id: idOf(made), url: made['bot_invoice_url'], expiresAt })
    },

    async findOpened(payment) {
      for await (const each of invoices({ fiat: 'RUB' }, orphanPages)) {
        if (each['payload'] === payment) return toPayment(each, isTest)
      }
      return undefined
    },

    async find(providerId, purpose) {
      for await (const each of invoices({ invoice_ids: providerId }, 1, purpose)) {
        if (idOf(each) === providerId) return toPayment(each, isTest)
      }
      return undefined
    },

    readNotification({ headers, body }) {
      if (!isSigned(headers.get('crypto-pay-api-signature') ?? '', body, signingKey)) reading.refuseUnauthenticated()
      const { invoice_id: id, payload } = reading.fieldsOf(reading.readNotificationBody(body)['payload'])
      return { providerId: reading.readProviderId(id, /^\d{1,18}$/), reference: reading.textOf(payload) }
    },

    async *list(fromAt, toAt) {
      for await (const each of invoices({ fiat: 'RUB' }, maxPages)) {
        const createdAt = readIso(reading.textOf(each['created_at']) ?? '') ?? 0
        if (createdAt >= fromAt && createdAt < toAt) yield toPayment(each, isTest)
      }
    },
  }
}

/** The signature is an HMAC over the bytes of the body as they came. */
function isSigned(signature: string, body: Uint8Array, key: Uint8Array): boolean {
  const right = createHmac('sha256', key).update(body).digest()
  return /^[0-9a-f]{64}$/i.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), right)
}

const toInvoice = (request: OpenRequest, assets: string | undefined) => ({
  currency_type: 'fiat',
  fiat: 'RUB',
  amount: toRoubleText(request.amount),
  ...(assets && { accepted_assets: assets.replaceAll(';', ',') }),
  description: request.description,
  payload: request.payment,
  expires_in: payableMs / 1000,
  paid_btn_name: 'callback',
  paid_btn_url: request.returnUrl,
})

const idOf = ({ invoice_id: id }: reading.JsonFields): unknown => (typeof id === 'number' ? String(id) : id)

const toPayment = (of: reading.JsonFields, isTest: boolean): ProviderPayment =>
  reading.toProviderPayment(provider, {
    id: idOf(of),
    reference: of['payload'],
    state: states[reading.textOf(of['status']) ?? ''],
    amount: reading.readAmount(of['amount']),
    currency: of['currency_type'] === 'fiat' ? of['fiat'] : of['asset'],
    isTest,
    url: of['bot_invoice_url'],
  })
