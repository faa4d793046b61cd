import { Refusal } from '../../core/refusal.ts'

type TokenProblem = 'missing' | 'malformed' | 'unknown' | 'ended'

/** `ended` is answered only for a token that existed. */
export const invalidOperatorToken = (token: TokenProblem): Refusal =>
  new Refusal(`operator_token_${token}`, {}, { token, charged: false })

export const noSuchOperator = (): Refusal => new Refusal('operator_not_found')

export const operatorRemoved = (): Refusal => new Refusal('operator_removed')
