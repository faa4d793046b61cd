import { kopecks, toRoubles, zero } from '../../core/money.ts'
import {
  type CallPurpose,
  type PaymentProvider,
  type ProviderKind,
  type ProviderPayment,
  ProviderRefused,
} from '../../domains/payments/ports.ts'
import { createCall } from './calling.ts'
import * as reading from './reading.ts'

const provider = 'platega'
const usualUrl = 'https://app.platega.io'
const payableMs = 15 * 60_000

const bounds = { min: kopecks(1000n), max: kopecks(30_000_000n), payableMs }

const numbers: Readonly<Record<string, number>> = { platega_sbp: 2, platega_card: 11, platega_crypto: 13 }

/** A chargeback is a payment that was made and has gone back whole. */
const states: Readonly<Record<string, ProviderPayment['state']>> = {
  PENDING: 'pending',
  CONFIRMED: 'paid',
  CHARGEBACKED: 'paid',
  CANCELED: 'cancelled',
}

/**
 * Platega. It documents no idempotency keys and no list: a payment whose answer never came is found when its callback
 * brings our own id.
 */
export const platega: ProviderKind = {
  name: provider,
  methods: [
    { method: 'platega_sbp', name: 'SBP', ...bounds },
    { method: 'platega_card', name: 'Card', ...bounds },
    { method: 'platega_crypto', name: 'Cryptocurrency', ...bounds },
  ],
  settings: [
    {
      name: 'merchant_id',
      meaning: 'the merchant’s id, as the cabinet shows it',
      isRequired: true,
      isValid: (text) => /^[A-Za-z0-9-]{1,64}$/.test(text),
    },
    reading.urlSetting,
  ],
  needsSecret: true,
  isSandbox: false,
  connect,
}

function connect(settings: Readonly<Record<string, string>>, secret: string): PaymentProvider {
  const base = settings['url'] ?? usualUrl
  const merchant = settings['merchant_id'] ?? ''
  const call = createCall(provider)
  const headers = { 'X-MerchantId': merchant, 'X-Secret': secret }
  const get = (path: string, purpose: CallPurpose) => call(`${base}${path}`, { purpose, headers })
  const post = (path: string, json: reading.JsonFields) =>
    call(`${base}${path}`, { purpose: 'open', method: 'POST', headers, json })
  const pathOf = (providerId: string) => `/transaction/${encodeURIComponent(providerId)}`

  return {
    opensOnce: false,

    async open(request) {
      const { json } = await post('/transaction/process', {
        paymentMethod: numbers[request.method],
        paymentDetails: { amount: toRoubles(request.amount), currency: 'RUB' },
        description: request.description.slice(0, 64),
        return: request.returnUrl,
        failedUrl: request.returnUrl,
        payload: request.payment,
        metadata: { userId: request.payer, userName: request.payer },
      })
      const made = reading.fieldsOf(json)
      return reading.toOpened(provider, { id: made['transactionId'], url: made['redirect'] })
    },

    findOpened: async () => undefined,

    async find(providerId, purpose = 'poll') {
      const { status, json } = await get(pathOf(providerId), purpose)
      return status === 404 ? undefined : toPayment(providerId, reading.fieldsOf(json))
    },

    readNotification({ headers: sent, body }) {
      const isKnown = reading.isSameText(sent.get('x-merchantid') ?? '', merchant)
      // Both are always compared, so that the time tells nothing.
      if (!reading.isSameText(sent.get('x-secret') ?? '', secret) || !isKnown) reading.refuseUnauthenticated()
      const { id, payload } = reading.readNotificationBody(body)
      return { providerId: reading.readProviderId(id, /^[A-Za-z0-9-]{1,64}$/), reference: reading.textOf(payload) }
    },

    /** Platega cancels whole payments only, and may ask a person to agree. */
    async refund({ providerId, isWhole }) {
      if (!isWhole) throw new ProviderRefused(`${provider} gives back whole payments only`)
      const { supported } = reading.fieldsOf((await get(`${pathOf(providerId)}/cancel-supported`, 'open')).json)
      if (supported !== true) throw new ProviderRefused(`${provider} does not give this payment back`)
      const { accepted } = reading.fieldsOf((await post(`${pathOf(providerId)}/cancel`, {})).json)
      if (accepted !== true) throw new ProviderRefused(`${provider} did not accept to give this payment back`)
    },
  }
}

function toPayment(id: string, of: reading.JsonFields): ProviderPayment {
  const details = reading.fieldsOf(of['paymentDetails'])
  const status = reading.textOf(of['status']) ?? ''
  const amount = reading.readNumberAmount(details['amount'] ?? of['amount'])
  return reading.toProviderPayment(provider, {
    id,
    reference: of['payload'],
    state: states[status],
    amount,
    currency: details['currency'] ?? of['currency'],
    refunded: status === 'CHARGEBACKED' ? amount : zero,
  })
}
