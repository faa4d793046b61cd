import { Refusal } from '../../kernel/refusal.ts'

const problems = {
  missing: 'Send an API token as "Authorization: Bearer <token>". This request has none.',
  malformed:
    'Send an API token as "Authorization: Bearer <token>". What was sent is not one: compare it with the original.',
  unknown: 'This API token is not known here. Check that it is for this shop, or create another one.',
  ended: 'This API token has expired or was revoked. Create another one.',
}

/**
 * Why a token was refused. `ended` is only for a token that existed, found by the digest of its whole text: a caller
 * who has that text learns nothing about other tokens.
 */
export const invalidToken = (token: keyof typeof problems): Refusal =>
  new Refusal('unauthenticated', 'invalid_token', problems[token], { token, charged: false })

export const customerBlocked = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'This customer is blocked. Ask the operator.', { charged: false })

export const wrongAddress = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'This token may not be used from this address.', { charged: false })

export const wrongScope = (needed: string): Refusal =>
  new Refusal('forbidden', 'forbidden', `This token lacks the scope "${needed}".`, { needed, charged: false })

export const passwordsHidden = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'Passwords, keys and secret links are shown only with the scope "passwords".', {
    needed: 'passwords',
    charged: false,
  })

export const noSuchCustomer = (): Refusal => new Refusal('missing', 'not_found', 'There is no such customer.')
export const noSuchToken = (): Refusal => new Refusal('missing', 'not_found', 'There is no such token.')

export const tooManyTokens = (most: number): Refusal =>
  new Refusal('conflict', 'conflict', `A customer has at most ${most} open tokens. Revoke one first.`, { limit: most })

export const tokensUsedUp = (most: number): Refusal =>
  new Refusal('conflict', 'conflict', `At most ${most} tokens can be made in a day. Try again tomorrow.`, {
    limit: most,
  })

export const shopIsProduction = (): Refusal =>
  new Refusal('conflict', 'conflict', 'TURNPIKE_SANDBOX_TOKEN is for a sandbox, and this shop is in production.')
