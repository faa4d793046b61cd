import { bind } from '../../core/bind.ts'
import * as useCases from './operators.ts'
import { entriesAfter, listOperators } from './store.ts'

export { type Acting, createActing } from './acting.ts'
export { createOperatorsVerifier } from './audit.ts'

export type Operators = ReturnType<typeof createOperators>

const { withCaches, assertPresentIn, lockPresentIn, assertRole, setRole, ...cases } = useCases

export const createOperators = (given: Parameters<typeof withCaches>[0]) => ({
  ...bind(withCaches(given), cases),
  /** `logAfter` is the audit log above a number, oldest first. */
  ...bind(given.db, { list: listOperators, logAfter: entriesAfter }),
  assertPresentIn,
  lockPresentIn,
  assertRole,
  setRole,
})
