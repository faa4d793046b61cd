import { Refusal } from '../../core/refusal.ts'

type TokenProblem = 'missing' | 'malformed' | 'unknown' | 'ended'

/** What is wrong with a token, as customers are told of theirs: `ended` is said only of one that once existed. */
export const invalidOperatorToken = (token: TokenProblem): Refusal =>
  new Refusal(`operator_token_${token}`, {}, { token, charged: false })

export const roleTooLow = (needed: string, has: string): Refusal =>
  new Refusal('role_too_low', { needed, has }, { needed, has })

export const noSuchOperator = (): Refusal => new Refusal('operator_not_found')

export const noSuchOperatorToken = (): Refusal => new Refusal('token_not_found')

export const operatorRemoved = (): Refusal => new Refusal('operator_removed')

export const nameTaken = (name: string): Refusal => new Refusal('operator_name_taken', { name })

export const badName = (): Refusal =>
  new Refusal('operator_name_invalid', {}, [
    { field: 'name', problem: 'must be 1 to 64 letters, digits, dots, dashes and underscores, and not "tool"' },
  ])

export const lastOwner = (): Refusal => new Refusal('last_owner')
