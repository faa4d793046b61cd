import type { CustomerId, OrderId, TokenId } from '../../kernel/ids.ts'
import type { Kopecks } from '../../kernel/money.ts'

/** What plain JSON holds, for what an order remembers of the request and of its price. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain }

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
