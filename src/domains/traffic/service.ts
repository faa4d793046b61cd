import type { Sha256 } from '../../core/chain.ts'
import { type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import { createAccounts } from './accounts/service.ts'
import { createCounts } from './counts/service.ts'
import type { LeaseTerms } from './leases/rules.ts'
import { createLeases } from './leases/service.ts'

export type Traffic = ReturnType<typeof createTraffic>

/** Bytes: whose they are, what nodes may carry of them, and what nodes have counted. */
export function createTraffic(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  sha256: Sha256
  terms: LeaseTerms
  fleet: Pick<Fleet, 'findLink'>
}) {
  const counts = createCounts(deps)
  return { counts, accounts: createAccounts(deps), leases: createLeases({ ...deps, counts }) }
}
