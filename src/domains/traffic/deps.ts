import type { Sha256 } from '../../core/chain.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import type { LeaseTerms } from './leases/rules.ts'

export type TrafficDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly stalls: Stalls
  readonly sha256: Sha256
  readonly terms: LeaseTerms
  readonly fleet: Pick<Fleet, 'findLink'>
}
