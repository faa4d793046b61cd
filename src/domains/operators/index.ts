import { bind } from '../../core/bind.ts'
import * as useCases from './operators.ts'
import { entriesAfter, listActions, listEntries, listOperators } from './store.ts'

export { type Acting, createActing } from './acting.ts'
export { createOperatorsVerifier } from './audit.ts'

export type Operators = ReturnType<typeof createOperators>

const { withCaches, assertPresentIn, lockPresentIn, assertRole, setRole, ...cases } = useCases

export const createOperators = (given: Parameters<typeof withCaches>[0]) => ({
  ...bind(withCaches(given), cases),
  /** The audit log: `log` below a number, newest first; `logAfter` above it, oldest first; `logOf` some actions. */
  ...bind(given.db, { list: listOperators, log: listEntries, logAfter: entriesAfter, logOf: listActions }),
  assertPresentIn,
  lockPresentIn,
  assertRole,
  setRole,
})
