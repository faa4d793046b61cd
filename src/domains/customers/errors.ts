import type { CustomerId, TokenId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'

type TokenProblem = 'missing' | 'malformed' | 'unknown' | 'ended'

/** `ended` is answered only for a token found by the digest of its whole text, so it reveals no other token. */
export const invalidToken = (token: TokenProblem): Refusal =>
  new Refusal(`token_${token}`, {}, { token, charged: false })

/** A valid token lacks the scope. The API counts and logs the request as one of that token. */
export class ScopeMissing extends Refusal {
  readonly by: { readonly customer: CustomerId; readonly token: TokenId }

  constructor(needed: string, by: ScopeMissing['by']) {
    super('scope_missing', { needed }, { needed, charged: false })
    this.by = by
  }
}

export const customerBlocked = (): Refusal => new Refusal('customer_blocked', {}, { charged: false })

/** `order` is the order of an earlier purchase whose answer is not shown: it was charged. */
export const passwordsHidden = (order: string | null): Refusal =>
  new Refusal(
    'passwords_scope_missing',
    {},
    { needed: 'passwords', charged: order !== null, ...(order !== null && { order_id: order }) },
  )

export const noSuchCustomer = (): Refusal => new Refusal('customer_not_found')
export const noSuchToken = (): Refusal => new Refusal('token_not_found')
