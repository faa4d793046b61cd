import { createHash, timingSafeEqual } from 'node:crypto'
import { type Kopecks, kopecks, maxKopecks, zero } from '../../core/money.ts'
import {
  NotTheProvider,
  type OpenedPayment,
  type ProviderPayment,
  type ProviderSetting,
  ProviderUnavailable,
  UnreadableNotification,
} from '../../domains/payments/ports.ts'

/** Fields of an unparsed JSON object. */
export type JsonFields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is JsonFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fieldsOf = (value: unknown): JsonFields => (isObject(value) ? value : {})

export const itemsOf = (value: unknown): JsonFields[] => (Array.isArray(value) ? value.map(fieldsOf) : [])

export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** `100`, `100.5` or `100.50`, with any number of zeros after that. Undefined for any other text. */
export function readAmount(text: unknown): Kopecks | undefined {
  const [, whole, part = ''] = (typeof text === 'string' ? /^(\d{1,13})(?:\.(\d{1,18}))?$/.exec(text) : null) ?? []
  if (whole === undefined || !/^\d{0,2}0*$/.test(part)) return undefined
  const count = BigInt(whole) * 100n + BigInt(part.slice(0, 2).padEnd(2, '0'))
  return count > maxKopecks ? undefined : kopecks(count)
}

/** Roubles as a JSON number, which must be a whole number of kopecks. */
export function readNumberAmount(value: unknown): Kopecks | undefined {
  if (typeof value !== 'number' || !(value >= 0) || value > 1e12) return undefined
  const count = Math.round(value * 100)
  return Math.abs(value * 100 - count) < 1e-4 ? kopecks(BigInt(count)) : undefined
}

/** A required part of an answer. */
export function needed<Value>(provider: string, value: Value | null | undefined, what: string): Value {
  if (value === null || value === undefined) throw new ProviderUnavailable(`${provider} answered without ${what}`)
  return value
}

/** The page where the payer pays: an http(s) address, so that no browser runs it. */
function readPayUrl(value: unknown): string | null {
  const url = textOf(value)
  return url !== null && urlSetting.isValid(url) ? url : null
}

/** Reads a provider's answer to `open`. */
export function toOpened(
  provider: string,
  { id, url, expiresAt = null }: { readonly id: unknown; readonly url: unknown; readonly expiresAt?: number | null },
): OpenedPayment {
  const payUrl = needed(provider, readPayUrl(url), 'a place to pay')
  return { providerId: needed(provider, textOf(id), 'an id'), payUrl, qr: payUrl, expiresAt }
}

/** Reads a provider's payment. An answer without one of its required parts is as good as none. */
export function toProviderPayment(
  provider: string,
  of: {
    readonly id: unknown
    readonly reference: unknown
    readonly state: ProviderPayment['state'] | undefined
    readonly amount: Kopecks | undefined
    readonly currency: unknown
    readonly isTest?: boolean
    readonly refunded?: Kopecks | undefined
    readonly url?: unknown
  },
): ProviderPayment {
  return {
    providerId: needed(provider, textOf(of.id), 'an id'),
    reference: textOf(of.reference),
    state: needed(provider, of.state, 'a status that is known'),
    amount: needed(provider, of.amount, 'an amount'),
    currency: needed(provider, textOf(of.currency), 'a currency'),
    isTest: of.isTest ?? false,
    refunded: of.refunded ?? zero,
    payUrl: readPayUrl(of.url),
  }
}

/** Compares in constant time. */
export function isSameText(given: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(right))
}

export function readNotificationBody(body: Uint8Array): JsonFields {
  try {
    return fieldsOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)))
  } catch {
    throw new UnreadableNotification('the body is not JSON')
  }
}

/** A provider's id, which becomes part of a URL. */
export function readProviderId(value: unknown, pattern: RegExp): string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !pattern.test(text)) throw new UnreadableNotification('the body names no payment')
  return text
}

export const refuseUnauthenticated = (): never => {
  throw new NotTheProvider('it does not prove where it comes from')
}

/** Another base URL of the provider's API: a proxy, or a server for tests. */
export const urlSetting: ProviderSetting = {
  name: 'url',
  meaning: 'where its API is reached, unless at its usual address; https, or http on this machine',
  isRequired: false,
  isValid: (text) => {
    const url = URL.parse(text)
    // Settings are shown to operators, so they hold no password.
    if (url?.username !== '' || url.password !== '') return false
    return url?.protocol === 'https:' || (url?.protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(url.hostname))
  },
}
