import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import type { Vault } from '../../core/vault.ts'
import type { DomainEvent } from '../events/rules.ts'
import type { Posting } from '../ledger/rules.ts'

/** What plain JSON holds, for what an order remembers of the request and of its price. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain }

/**
 * What a customer asks for, as it was understood. Two requests with one key are the same if this is: so what a customer
 * may leave out and did is absent here, and a field that a later version adds does not make an old request another one.
 */
export type Asked = { readonly product: string; readonly action: string; readonly wish: Plain }

export type Order = {
  readonly id: OrderId
  readonly customer: CustomerId
  readonly product: string
  readonly action: string
  readonly price: Kopecks
  readonly chargeSeq: number | null
  readonly token: TokenId | null
  readonly wish: Plain
  readonly calculation: Plain
  readonly createdAt: number
}

/** How long the first answer to a key is kept. */
export const keyKeptMs = 7 * 86_400_000

/** 1 to 255 visible ASCII characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x21-\x7e]{1,255}$/.test(text)

/** One text for one meaning: an object's fields in the order of their names, and no white space. */
export function toCanonical(value: Plain): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(toCanonical).join(',')}]`
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${toCanonical(each)}`).join(',')}}`
}

const isList = (value: object): value is readonly Plain[] => Array.isArray(value)

/** What a stored answer belongs to. */
type Answered = {
  readonly customer: string
  readonly key: string
  readonly order: string | null
  readonly request: Uint8Array
  readonly at: number
}

/** A sealed answer is bound to all of its row: moved to another one, or under another request, it does not open. */
export const answerContext = ({ customer, key, order, request, at }: Answered): string =>
  `answer ${customer} ${key} ${order ?? ''} ${request.toHex()} ${at}`

export const openAnswer = (vault: Vault, stored: Answered & { readonly body: string }): string =>
  vault.open(Uint8Array.fromBase64(stored.body), answerContext(stored))

/** What a customer is told of money that was given back. */
export const refunded = (posting: Posting): DomainEvent => ({
  customer: posting.customer,
  type: 'order.refunded',
  order: posting.order,
  subject: posting.order,
  data: { amount_rub: toRoubles(posting.amount), balance_rub: toRoubles(posting.balanceAfter), reason: posting.note },
})
