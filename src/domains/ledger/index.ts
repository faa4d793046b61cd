import { bind } from '../../core/bind.ts'
import { refundsByDay, sumDays, sumRefundsBetween } from './days.ts'
import * as movements from './movements.ts'
import { findByKey, findPosting, isErased, listOfOrder, sumRefunds } from './store.ts'

export { type Charges, createKeptVerifier, createLedgerAudit, type LedgerAudit } from './audit.ts'
export { createLedgerWalks, type LedgerWalks } from './audit-walks.ts'
export { daysWalk } from './days.ts'
export type { Adjustment, Payer } from './movements.ts'
export { createLedgerReports, type LedgerReports } from './reports.ts'

const { open, lock, assertNotErased, ...moving } = movements

export type Ledger = ReturnType<typeof createLedger>

export const createLedger = (deps: movements.LedgerDeps) => ({
  ...bind(deps, { ...moving, sumDays }),
  ...bind(deps.db, { ofOrder: listOfOrder, refundsByDay, sumRefundsBetween }),
  open,
  lock,
  assertNotErased,
  /** Whether the customer was erased. While the account is locked, no erasure begins. */
  isErased,
  /** The sum of a charge's refunds. */
  refundedOf: sumRefunds,
  findPosting,
  findByKey,
})
