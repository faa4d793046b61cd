import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks, subtract, toRoubles, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Vault } from '../../core/vault.ts'
import type { DomainEvent } from '../events/rules.ts'
import type { Account, Posting } from '../ledger/rules.ts'
import type { Metadata } from '../metadata/rules.ts'

/** Plain JSON: the input of an order and the calculation of its price. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain }

/** Every value that JSON.parse returns is plain. */
const isParsed = (value: unknown): value is Plain => value !== undefined

export function readPlain(written: string): Plain {
  const value: unknown = JSON.parse(written)
  if (!isParsed(value)) throw new TypeError('JSON has no undefined')
  return value
}

/** How many services of an order are shown. */
export const maxDelivered = 200

/** A field of a JSON object, if it has that type. Orders are read with these: a stored calculation is not trusted. */
export const valueIn = (of: Plain, name: string): Plain | undefined => (isObject(of) ? of[name] : undefined)

export function numberIn(of: Plain, name: string): number | undefined {
  const value = valueIn(of, name)
  return typeof value === 'number' ? value : undefined
}

export function textIn(of: Plain, name: string): string | undefined {
  const value = valueIn(of, name)
  return typeof value === 'string' ? value : undefined
}

export function listIn(of: Plain, name: string): readonly Plain[] | undefined {
  const value = valueIn(of, name)
  return isList(value) ? value : undefined
}

/** `metadata` of a stored purchase. */
export function metadataIn(of: Plain): Metadata {
  const stored = valueIn(of, 'metadata')
  const entries = stored === undefined || !isObject(stored) ? [] : Object.entries(stored)
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

const isList = (value: Plain | undefined): value is readonly Plain[] => Array.isArray(value)

const isObject = (value: Plain): value is { readonly [name: string]: Plain } =>
  typeof value === 'object' && value !== null && !isList(value)

/**
 * The input of a purchase after parsing. Two requests under one key are the same if this is equal: optional fields that
 * were left out are absent, so that a field added by a later version does not change an old request.
 */
export type OrderInput = {
  readonly product: string
  readonly action: string
  readonly input: Plain
  /** It makes no order and charges nothing: only its answer is stored under the key. */
  readonly isUnordered?: true
}

export type Order = {
  readonly id: OrderId
  readonly customer: CustomerId
  readonly product: string
  readonly action: string
  readonly price: Kopecks
  readonly chargeSeq: number | null
  readonly token: TokenId | null
  readonly input: Plain
  /** How the price was computed. */
  readonly calculation: Plain
  readonly createdAt: number
  /** The HTTP request that made it; null for a job's, a command's and an order before 0.3. */
  readonly requestId: string | null
  /** Its idempotency key, which a purchase after `keyKeptMs` may use again; null without one and after an erasure. */
  readonly key: string | null
}

/**
 * What an order is refunded when service worth `unused` ends, never more than what is left of its price. `of` is
 * 'order' if `unused` is all that ended of the order so far: earlier refunds are subtracted from it. It is 'part' if
 * other services of the order may have ended and been refunded before: earlier refunds are subtracted from the price.
 */
export function dueAtEnd(price: Kopecks, refundedBefore: Kopecks, unused: Kopecks, of: 'order' | 'part'): Kopecks {
  const left = subtract(price, refundedBefore)
  const due = of === 'order' ? unused - refundedBefore : unused
  return due <= 0n ? zero : kopecks(due < left ? due : left)
}

/** How long the first answer under a key is kept. */
export const keyKeptMs = 7 * 86_400_000

/** 1 to 255 visible ASCII characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x21-\x7e]{1,255}$/.test(text)

const maxKeyText = 64

/** A key as it was sent, and as a free action stores it. */
export type KeyForms = readonly [text: string, ofFree: string]

/**
 * Free actions store the digest of a long key: a customer can repeat them under new keys at no cost. Purchases store
 * the text, so that a shop of the version before, beside this one, finds it.
 */
export const keyForms = (sha256: (text: string) => Uint8Array, key: string): KeyForms => [
  key,
  key.length <= maxKeyText ? key : `sha256:${sha256(key).toBase64({ alphabet: 'base64url', omitPadding: true })}`,
]

/** Canonical JSON: object fields sorted by name, no white space. */
export function toCanonical(value: Plain): string {
  if (isList(value)) return `[${value.map(toCanonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${toCanonical(each)}`).join(',')}}`
}

/** Refuses a price above the highest that the buyer accepts. Without such a limit every price is accepted. */
export function assertPriceWithin(maxPrice: Kopecks | undefined, price: Kopecks): void {
  if (maxPrice === undefined || price <= maxPrice) return
  const prices = { price_rub: toRoubles(price), max_price_rub: toRoubles(maxPrice) }
  throw new Refusal('price_changed', prices, { ...prices, charged: false })
}

/** The row of a stored answer. */
export type AnswerRow = {
  readonly customer: string
  readonly key: string
  readonly order: string | null
  readonly request: Uint8Array
  readonly at: number
}

/** A sealed answer is bound to all of its row: moved to another row or request, it does not open. */
export const answerContext = ({ customer, key, order, request, at }: AnswerRow): string =>
  `answer ${customer} ${key} ${order ?? ''} ${request.toHex()} ${at}`

export const openAnswer = (vault: Vault, stored: AnswerRow & { readonly body: string }): string =>
  vault.open(Uint8Array.fromBase64(stored.body), answerContext(stored))

/** The event of a purchase. */
export const created = (order: Order, balance: Kopecks, metadata: Metadata): DomainEvent => ({
  customer: order.customer,
  type: 'order.created',
  order: order.id,
  subject: order.id,
  data: {
    product: order.product,
    action: order.action,
    price_rub: toRoubles(order.price),
    balance_rub: toRoubles(balance),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  },
})

/** The event of a movement that takes a balance below the customer's threshold; none if it was below it before. */
export function balanceLow(
  { alertBelow }: Pick<Account, 'alertBelow'>,
  { customer, order, amount, balanceAfter }: Pick<Posting, 'customer' | 'order' | 'amount' | 'balanceAfter'>,
): readonly DomainEvent[] {
  const before = balanceAfter - amount
  if (alertBelow === null || before < alertBelow || balanceAfter >= alertBelow) return []
  const data = { threshold_rub: toRoubles(alertBelow), balance_rub: toRoubles(balanceAfter) }
  return [{ customer, type: 'balance.low', order, subject: null, data }]
}

/** The event that tells a customer of a refund. */
export const refunded = (posting: Posting): DomainEvent => ({
  customer: posting.customer,
  type: 'order.refunded',
  order: posting.order,
  subject: posting.order,
  data: { amount_rub: toRoubles(posting.amount), balance_rub: toRoubles(posting.balanceAfter), reason: posting.note },
})

/** What became of an order's price. */
export const orderStates = ['paid', 'partly_refunded', 'refunded', 'free'] as const
export type OrderState = (typeof orderStates)[number]

export const orderSorts = ['newest', 'oldest', 'dearest', 'cheapest'] as const
type OrderSort = (typeof orderSorts)[number]

/** Which orders of all customers to list. Ids grow with time: `from` and `below` are the bounds of a time. */
export type AllOrdersFilter = {
  readonly customer: CustomerId | undefined
  readonly product: string | undefined
  readonly from: string
  readonly below: string
  readonly minPrice: Kopecks | undefined
  readonly maxPrice: Kopecks | undefined
  readonly state: OrderState | undefined
  readonly sort: OrderSort
  /** The last row of the page before. */
  readonly after: { readonly price: Kopecks; readonly id: string } | undefined
  readonly limit: number
}

/** An order with what was refunded of it. */
export type OrderWithState = { readonly order: Order; readonly refunded: Kopecks; readonly state: OrderState }

export function stateOf(price: Kopecks, back: Kopecks): OrderState {
  if (price === 0n) return 'free'
  if (back === 0n) return 'paid'
  return back < price ? 'partly_refunded' : 'refunded'
}
