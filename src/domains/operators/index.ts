import { bind } from '../../core/bind.ts'
import { withCaches } from './deps.ts'
import * as useCases from './operators.ts'
import { assertPresentIn, assertRole, lockPresentIn, setRole } from './roles.ts'
import { entriesAfter, listOperators } from './store.ts'

export { type Acting, createActing } from './acting.ts'
export { createOperatorsVerifier } from './audit.ts'

export type Operators = ReturnType<typeof createOperators>

export const createOperators = (given: Parameters<typeof withCaches>[0]) => ({
  ...bind(withCaches(given), useCases),
  /** `logAfter` is the audit log above a number, oldest first. */
  ...bind(given.db, { list: listOperators, logAfter: entriesAfter }),
  assertPresentIn,
  lockPresentIn,
  assertRole,
  setRole,
})
