import { base32Digit as digit, isBase32, readBase32 } from './base32.ts'

declare const kind: unique symbol
type Id<Of extends string> = string & { readonly [kind]: Of }

export type CustomerId = Id<'customer'>
export type TokenId = Id<'token'>
export type OrderId = Id<'order'>
export type NodeId = Id<'node'>
export type PeerId = Id<'peer'>
export type SubuserId = Id<'subuser'>
export type ExitId = Id<'exit'>
export type OperatorId = Id<'operator'>
export type OperatorTokenId = Id<'operator_token'>
export type SessionId = Id<'session'>
export type LinkId = Id<'link'>
export type PaymentId = Id<'payment'>
export type NoticeId = Id<'notice'>
export type WebhookId = Id<'webhook'>
export type DeliveryId = Id<'delivery'>
export type MailingId = Id<'mailing'>
export type LetterId = Id<'letter'>

const prefixes = {
  customer: 'cus',
  token: 'tok',
  order: 'ord',
  node: 'nod',
  peer: 'dev',
  subuser: 'sub',
  exit: 'ext',
  operator: 'opr',
  operator_token: 'otk',
  session: 'ses',
  link: 'lnk',
  payment: 'pay',
  notice: 'ntc',
  webhook: 'whk',
  delivery: 'dlv',
  mailing: 'mlg',
  letter: 'ltr',
} as const
type Kind = keyof typeof prefixes

/** Owns the operators' alerts and endpoints as a customer owns events and endpoints. No customer gets this id. */
export const operatorsOwner = `${prefixes.customer}_${'0'.repeat(26)}` as CustomerId

/** 80 random bits make a clash within one millisecond practically impossible. */
export const idRandomBytes = 10

/** Random source, injected. */
export type RandomBytes = (count: number) => Uint8Array

/** `ord_` and 26 characters: 48 bits of time, 80 random bits. Ids sort by time and exist before the row is written. */
export function makeId<K extends Kind>(of: K, nowMs: number, random: RandomBytes): Id<K> {
  const chance = random(idRandomBytes)
  return `${prefixes[of]}_${timeText(nowMs)}${fiveBytesText(chance, 0)}${fiveBytesText(chance, 5)}` as Id<K>
}

/** Checks the shape of an id, without asking the database. */
export function readId<K extends Kind>(of: K, text: string): Id<K> | undefined {
  const prefix = `${prefixes[of]}_`
  if (!text.startsWith(prefix) || text.length !== prefix.length + 26) return undefined
  return isBase32(text.slice(prefix.length)) ? (text as Id<K>) : undefined
}

/** The ids in a text such as JSON, each once; of subscriptions, which are UUIDs, too. */
export const idsIn = (text: string): string[] => [
  ...new Set(text.match(/[a-z]{3}_[0-9a-z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)),
]

/** Lower bound of the ids made from this instant on. */
export const firstId = (of: Kind, atMs: number): string => `${prefixes[of]}_${timeText(atMs)}${'0'.repeat(16)}`

export const timeOfId = (id: string): number => readBase32(id.slice(id.indexOf('_') + 1).slice(0, 10))

/** 50 bits in ten characters, in halves, because bit operations have 32 bits. */
const timeText = (ms: number): string => halfText(Math.floor(ms / 2 ** 25)) + halfText(ms % 2 ** 25)

const halfText = (value: number): string =>
  digit(value >>> 20) + digit(value >>> 15) + digit(value >>> 10) + digit(value >>> 5) + digit(value)

function fiveBytesText(bytes: Uint8Array, from: number): string {
  const at = (index: number): number => bytes[from + index] ?? 0
  const high = (at(0) << 12) | (at(1) << 4) | (at(2) >> 4)
  const low = ((at(2) & 15) << 16) | (at(3) << 8) | at(4)
  return [high, low].map((bits) => digit(bits >> 15) + digit(bits >> 10) + digit(bits >> 5) + digit(bits)).join('')
}
