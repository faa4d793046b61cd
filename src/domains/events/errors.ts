import { fieldProblem } from '../../core/messages/problems.ts'
import { malformed, type Refusal } from '../../core/refusal.ts'

export const unknownType = (allowed: readonly string[]): Refusal =>
  malformed([{ ...fieldProblem('type', 'one_of', { allowed }), see: '/docs/events' }])
