import { kopecks, toRoubles, zero } from '../../core/money.ts'
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
  isSameText,
  needed,
  readNotificationBody,
  readNumberAmount,
  readPlace,
  readProviderId,
  refuseStranger,
  textOf,
  urlSetting,
} from './reading.ts'

const provider = 'platega'
const usualUrl = 'https://app.platega.io'
const payableMs = 15 * 60_000
const longestDescription = 64
const bounds = { min: kopecks(1000n), max: kopecks(30_000_000n), payableMs }

const numbers: Readonly<Record<string, number>> = { platega_sbp: 2, platega_card: 11, platega_crypto: 13 }

/** What it calls a chargeback is a payment that was made, and has gone back whole. */
const states: Readonly<Record<string, Seen['state']>> = {
  PENDING: 'pending',
  CONFIRMED: 'paid',
  CHARGEBACKED: 'paid',
  CANCELED: 'cancelled',
}

/**
 * Platega. It documents no key that makes a repetition harmless and no list: a payment whose answer never came is found
 * when its callback brings our own id back.
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
    urlSetting,
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
  const post = (path: string, json: Fields) =>
    call(`${base}${path}`, { purpose: 'open', method: 'POST', headers, json })
  const pathOf = (providerId: string) => `/transaction/${encodeURIComponent(providerId)}`

  return {
    opensOnce: false,

    async open(wish: ToOpen): Promise<Opened> {
      const { json } = await post('/transaction/process', {
        paymentMethod: numbers[wish.method],
        paymentDetails: { amount: toRoubles(wish.amount), currency: 'RUB' },
        description: wish.description.slice(0, longestDescription),
        return: wish.returnUrl,
        failedUrl: wish.returnUrl,
        payload: wish.payment,
        metadata: { userId: wish.payer, userName: wish.payer },
      })
      const made = fieldsOf(json)
      const payUrl = needed(provider, readPlace(made['redirect']), 'a place to pay')
      return {
        providerId: needed(provider, textOf(made['transactionId']), 'an id'),
        payUrl,
        qr: payUrl,
        expiresAt: null,
      }
    },

    findOpened: async () => undefined,

    async find(providerId, purpose = 'poll') {
      const { status, json } = await get(pathOf(providerId), purpose)
      return status === 404 ? undefined : toSeen(providerId, fieldsOf(json))
    },

    readNotification({ headers: sent, body }) {
      const isKnown = isSameText(sent.get('x-merchantid') ?? '', merchant)
      // Both are compared whatever the first one is, so that the time tells nothing.
      if (!isSameText(sent.get('x-secret') ?? '', secret) || !isKnown) refuseStranger()
      const callback = readNotificationBody(body)
      return {
        providerId: readProviderId(callback['id'], /^[A-Za-z0-9-]{1,64}$/),
        reference: textOf(callback['payload']),
      }
    },

    /** It cancels whole payments only, and may want a person of its own to agree; what came of it is asked for. */
    async refund({ providerId, isWhole }) {
      if (!isWhole) throw new ProviderRefused(`${provider} gives back whole payments only`)
      const { supported } = fieldsOf((await get(`${pathOf(providerId)}/cancel-supported`, 'open')).json)
      if (supported !== true) throw new ProviderRefused(`${provider} does not give this payment back`)
      const { accepted } = fieldsOf((await post(`${pathOf(providerId)}/cancel`, {})).json)
      if (accepted !== true) throw new ProviderRefused(`${provider} did not accept to give this payment back`)
    },
  }
}

function toSeen(providerId: string, of: Fields): Seen {
  const details = fieldsOf(of['paymentDetails'])
  const status = textOf(of['status']) ?? ''
  const amount = needed(provider, readNumberAmount(details['amount'] ?? of['amount']), 'an amount')
  return {
    providerId,
    reference: textOf(of['payload']),
    state: needed(provider, states[status], 'a status that is known'),
    amount,
    currency: needed(provider, textOf(details['currency'] ?? of['currency']), 'a currency'),
    isTest: false,
    refunded: status === 'CHARGEBACKED' ? amount : zero,
    payUrl: null,
  }
}
