import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { kopecks, toRoubleText, zero } from '../../core/money.ts'
import { readIso } from '../../core/time.ts'
import {
  type CallPurpose,
  type Opened,
  type PaymentProvider,
  type ProviderKind,
  ProviderRefused,
  type Seen,
  type ToOpen,
} from '../../domains/payments/ports.ts'
import { createCall } from './calling.ts'
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

const provider = 'crypto_pay'
const hosts = { main: 'https://pay.crypt.bot', test: 'https://testnet-pay.crypt.bot' }
const payableMs = 3_600_000
const pageSize = 1000
const mostPages = 100
/** How far back an invoice is looked for whose answer never came. */
const orphanPages = 5

const states: Readonly<Record<string, Seen['state']>> = { active: 'pending', paid: 'paid', expired: 'expired' }

/**
 * Crypto Pay (@CryptoBot): an invoice in roubles, paid in a coin. What is credited is the invoice's amount in roubles,
 * never what the coin was worth. It knows no keys that make a repetition harmless, and gives nothing back.
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
    urlSetting,
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

  /** A no is told in the answer as well as by its status. */
  async function ask(method: string, json: Fields, purpose: CallPurpose): Promise<unknown> {
    const headers = { 'Crypto-Pay-API-Token': secret }
    const answer = fieldsOf((await call(`${base}/api/${method}`, { purpose, method: 'POST', headers, json })).json)
    if (answer['ok'] !== true) throw new ProviderRefused(`${provider} refused ${method}`)
    return answer['result']
  }

  async function* invoices(query: Fields, pages: number, purpose: CallPurpose = 'poll'): AsyncGenerator<Fields> {
    for (let page = 0; page < pages; page += 1) {
      const part = { ...query, offset: page * pageSize, count: pageSize }
      const { items } = fieldsOf(await ask('getInvoices', part, purpose))
      const found = Array.isArray(items) ? items.map(fieldsOf) : []
      yield* found
      if (found.length < pageSize) return
    }
  }

  return {
    opensOnce: false,

    async open(wish: ToOpen): Promise<Opened> {
      const invoice = {
        currency_type: 'fiat',
        fiat: 'RUB',
        amount: toRoubleText(wish.amount),
        ...(settings['assets'] && { accepted_assets: settings['assets'].replaceAll(';', ',') }),
        description: wish.description,
        payload: wish.payment,
        expires_in: payableMs / 1000,
        paid_btn_name: 'callback',
        paid_btn_url: wish.returnUrl,
      }
      const made = fieldsOf(await ask('createInvoice', invoice, 'open'))
      const payUrl = needed(provider, readPlace(made['bot_invoice_url']), 'a place to pay')
      return {
        providerId: String(needed(provider, idOf(made), 'an id')),
        payUrl,
        qr: payUrl,
        expiresAt: readIso(textOf(made['expiration_date']) ?? '') ?? null,
      }
    },

    async findOpened(payment) {
      for await (const each of invoices({ fiat: 'RUB' }, orphanPages)) {
        if (each['payload'] === payment) return toSeen(each, isTest)
      }
      return undefined
    },

    async find(providerId, purpose) {
      for await (const each of invoices({ invoice_ids: providerId }, 1, purpose)) {
        if (String(idOf(each)) === providerId) return toSeen(each, isTest)
      }
      return undefined
    },

    readNotification({ headers, body }) {
      // Over the bytes as they came: what was read and written again is another text.
      const right = createHmac('sha256', signingKey).update(body).digest()
      const given = headers.get('crypto-pay-api-signature') ?? ''
      if (!/^[0-9a-f]{64}$/i.test(given) || !timingSafeEqual(Buffer.from(given, 'hex'), right)) refuseStranger()
      const invoice = fieldsOf(readNotificationBody(body)['payload'])
      return { providerId: readProviderId(invoice['invoice_id'], /^\d{1,18}$/), reference: textOf(invoice['payload']) }
    },

    async *list(fromAt, toAt) {
      for await (const each of invoices({ fiat: 'RUB' }, mostPages)) {
        const createdAt = readIso(textOf(each['created_at']) ?? '') ?? 0
        if (createdAt >= fromAt && createdAt < toAt) yield toSeen(each, isTest)
      }
    },
  }
}

const idOf = (invoice: Fields): number | string | null => {
  const id = invoice['invoice_id']
  return typeof id === 'number' || typeof id === 'string' ? id : null
}

function toSeen(of: Fields, isTest: boolean): Seen {
  const isFiat = of['currency_type'] === 'fiat'
  return {
    providerId: String(needed(provider, idOf(of), 'an id')),
    reference: textOf(of['payload']),
    state: needed(provider, states[textOf(of['status']) ?? ''], 'a status that is known'),
    amount: needed(provider, readAmount(of['amount']), 'an amount'),
    currency: needed(provider, textOf(isFiat ? of['fiat'] : of['asset']), 'a currency'),
    isTest,
    refunded: zero,
    payUrl: readPlace(of['bot_invoice_url']),
  }
}
