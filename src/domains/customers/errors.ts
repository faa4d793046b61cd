import { Refusal } from '../../kernel/refusal.ts'

/**
 * One answer for a token that is missing, malformed, unknown, expired or revoked: a stranger learns nothing from it.
 */
export const invalidToken = (): Refusal =>
  new Refusal(
    'unauthenticated',
    'invalid_token',
    'Send a valid API token as "Authorization: Bearer <token>". ' +
      'This one is missing, malformed, unknown, expired or revoked.',
  )

export const customerBlocked = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'This customer is blocked. Ask the operator.', { charged: false })

export const wrongAddress = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'This token may not be used from this address.', { charged: false })

export const wrongScope = (needed: string): Refusal =>
  new Refusal('forbidden', 'forbidden', `This token lacks the scope "${needed}".`, { needed, charged: false })

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
