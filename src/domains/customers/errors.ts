import { Refusal } from '../../core/refusal.ts'

type TokenProblem = 'missing' | 'malformed' | 'unknown' | 'ended'

/**
 * Why a token was refused. `ended` is only for a token that existed, found by the digest of its whole text: a caller
 * who has that text learns nothing about other tokens.
 */
export const invalidToken = (token: TokenProblem): Refusal =>
  new Refusal(`token_${token}`, {}, { token, charged: false })

export const customerBlocked = (): Refusal => new Refusal('customer_blocked', {}, { charged: false })

export const wrongAddress = (): Refusal => new Refusal('token_address_not_allowed', {}, { charged: false })

export const wrongScope = (needed: string): Refusal =>
  new Refusal('scope_missing', { needed }, { needed, charged: false })

export const passwordsHidden = (): Refusal =>
  new Refusal(
    'passwords_scope_missing',
    {},
    {
      needed: 'passwords',
      charged: false,
    },
  )

export const noSuchCustomer = (): Refusal => new Refusal('customer_not_found')
export const noSuchToken = (): Refusal => new Refusal('token_not_found')

export const tooManyTokens = (most: number): Refusal => new Refusal('token_limit', { most }, { limit: most })

export const tokensUsedUp = (most: number): Refusal =>
  new Refusal(
    'daily_token_limit',
    { most },
    {
      limit: most,
    },
  )

export const shopIsProduction = (): Refusal => new Refusal('sandbox_token_in_production')
