import { Refusal } from '../../core/refusal.ts'

type TokenProblem = 'missing' | 'malformed' | 'unknown' | 'ended'

/** `ended` is answered only for a token found by the digest of its whole text, so it reveals no other token. */
export const invalidToken = (token: TokenProblem): Refusal =>
  new Refusal(`token_${token}`, {}, { token, charged: false })

export const customerBlocked = (): Refusal => new Refusal('customer_blocked', {}, { charged: false })

export const passwordsHidden = (): Refusal =>
  new Refusal('passwords_scope_missing', {}, { needed: 'passwords', charged: false })

export const noSuchCustomer = (): Refusal => new Refusal('customer_not_found')
export const noSuchToken = (): Refusal => new Refusal('token_not_found')
