import { Refusal } from '../../kernel/refusal.ts'

const problems = {
  missing: 'Send an operator\'s token as "Authorization: Bearer tpo_…", or sign in. This request has neither.',
  malformed: 'Send an operator\'s token as "Authorization: Bearer tpo_…". What was sent is not one: check its text.',
  unknown: "This operator's token is not known here. Check that it is for this shop, or create another one.",
  ended: "This operator's token has expired or was revoked, or the operator was removed. Create another one.",
}

/** What is wrong with a token, as customers are told of theirs: `ended` is said only of one that once existed. */
export const invalidOperatorToken = (token: keyof typeof problems): Refusal =>
  new Refusal('unauthenticated', 'invalid_token', problems[token], { token, charged: false })

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
