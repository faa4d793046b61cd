import { Refusal } from '../../kernel/refusal.ts'

/** One answer for everything that does not let an operator in. */
export const invalidOperatorToken = (): Refusal =>
  new Refusal(
    'unauthenticated',
    'invalid_token',
    'Send a valid operator\'s token as "Authorization: Bearer tpo_…", or sign in. ' +
      'This one is missing, malformed, unknown, expired or revoked.',
  )

export const roleTooLow = (needed: string, has: string): Refusal =>
  new Refusal('forbidden', 'forbidden', `This needs the role "${needed}", and yours is "${has}".`, { needed, has })

export const noSuchOperator = (): Refusal => new Refusal('missing', 'not_found', 'There is no such operator.')

export const noSuchOperatorToken = (): Refusal => new Refusal('missing', 'not_found', 'There is no such token.')

export const operatorRemoved = (): Refusal => new Refusal('forbidden', 'forbidden', 'This operator was removed.')

export const nameTaken = (name: string): Refusal =>
  new Refusal('conflict', 'conflict', `There is an operator called "${name}" already.`)

export const badName = (): Refusal =>
  new Refusal(
    'malformed',
    'invalid_request',
    'A name is 1 to 64 letters, digits, dots, dashes and underscores, and not "tool".',
    [{ field: 'name', problem: 'must be 1 to 64 letters, digits, dots, dashes and underscores, and not "tool"' }],
  )

export const lastOwner = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This is the last owner. Make another one first.')
