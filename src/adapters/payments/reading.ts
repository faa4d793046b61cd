import { createHash, timingSafeEqual } from 'node:crypto'
import { type Kopecks, kopecks, maxKopecks } from '../../core/money.ts'
import {
  NotTheProvider,
  type ProviderSetting,
  ProviderUnavailable,
  UnreadableNotification,
} from '../../domains/payments/ports.ts'

/** Fields of what somebody else has written: nothing in it is believed to be there, or of a kind. */
export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** `100`, `100.5` or `100.50`, with any number of zeros after that. Undefined for what is no such amount. */
export function readAmount(text: unknown): Kopecks | undefined {
  const [, whole, part = ''] = (typeof text === 'string' ? /^(\d{1,13})(?:\.(\d{1,18}))?$/.exec(text) : null) ?? []
  if (whole === undefined || !/^\d{0,2}0*$/.test(part)) return undefined
  const count = BigInt(whole) * 100n + BigInt(part.slice(0, 2).padEnd(2, '0'))
  return count > maxKopecks ? undefined : kopecks(count)
}

/** Roubles as a JSON number. One that is no whole number of kopecks is no amount. */
export function readNumberAmount(value: unknown): Kopecks | undefined {
  if (typeof value !== 'number' || !(value >= 0) || value > 1e12) return undefined
  const count = Math.round(value * 100)
  return Math.abs(value * 100 - count) < 1e-4 ? kopecks(BigInt(count)) : undefined
}

/** What an answer must hold, or nothing follows from it. */
export function needed<Value>(provider: string, value: Value | null | undefined, what: string): Value {
  if (value === null || value === undefined) throw new ProviderUnavailable(`${provider} answered without ${what}`)
  return value
}

/** Where payers are sent: a page of the provider's, and nothing that a browser would run. */
export function readPlace(value: unknown): string | null {
  const url = textOf(value)
  return url !== null && urlSetting.isValid(url) ? url : null
}

/** Compares without telling by its time where two texts part. */
export function isSameText(given: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(right))
}

export function readNotificationBody(body: Uint8Array): Fields {
  try {
    return fieldsOf(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)))
  } catch {
    throw new UnreadableNotification('the body is not JSON')
  }
}

/** A provider's own id as it may stand in an address. Whatever else is sent is none of its. */
export function readProviderId(value: unknown, pattern: RegExp): string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !pattern.test(text)) throw new UnreadableNotification('the body names no payment')
  return text
}

export const refuseStranger = (): never => {
  throw new NotTheProvider('it does not prove where it comes from')
}

/** Where the provider is reached, where that is not its usual address: a proxy, or a server for tests. */
export const urlSetting: ProviderSetting = {
  name: 'url',
  meaning: 'where its API is reached, unless at its usual address; https, or http on this machine',
  isRequired: false,
  isValid: (text) => {
    const url = URL.parse(text)
    // Settings are shown: a password in one would be too.
    if (url?.username !== '' || url.password !== '') return false
    return url?.protocol === 'https:' || (url?.protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(url.hostname))
  },
}
