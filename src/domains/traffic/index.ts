import { bind } from '../../core/bind.ts'
import * as accounts from './accounts/movements.ts'
import * as accountStore from './accounts/store.ts'
import { takeDueAlert } from './alerts/alerts.ts'
import { dueAccounts, restartAlert } from './alerts/store.ts'
import * as counts from './counts/counts.ts'
import * as countStore from './counts/store.ts'
import type { TrafficDeps } from './deps.ts'
import * as leases from './leases/leases.ts'
import { openLeaseReport } from './leases/report.ts'
import { listQuarantined } from './leases/store.ts'

export { createTrafficVerifier } from './audit.ts'

export type Traffic = ReturnType<typeof createTraffic>

/** Byte accounts, byte leases of nodes, and the counters that nodes report. */
export function createTraffic(deps: TrafficDeps) {
  const { deposit, transfer, balances, reclaim, expire, lockPair, left, restoredTo } = accounts
  const { boughtWith, refundedWith, movedWith, lotsOf, holdersOf, ordersNamedIn } = accountStore
  const { take, add, refuse, known, disbelieve } = counts
  const { listRefused, listUnbelieved, sumBelieved, sumAtNodes, sumByNode, sumCounts, subjectsAfter, forgetCounts } =
    countStore
  const { lapse, closeNode, countedBy, restore, held, promised, billedOf, billedBy } = leases
  return {
    accounts: {
      ...bind(deps, { deposit, transfer, balances, reclaim, expire }),
      lockPair,
      left,
      restoredTo,
      boughtWith,
      refundedWith,
      movedWith,
      lotsOf,
      holdersOf,
      ordersNamedIn,
      lock: accountStore.lockAccount,
      list: accountStore.listAccounts,
    },
    counts: {
      ...bind(deps, { take, add, refuse }),
      ...bind(deps.db, {
        byNode: sumByNode,
        refusals: listRefused,
        unbelieved: listUnbelieved,
        believedOf: sumBelieved,
      }),
      known,
      disbelieve,
      totals: sumCounts,
      atNodes: sumAtNodes,
      subjects: subjectsAfter,
      forget: forgetCounts,
    },
    alerts: { restart: restartAlert, takeDue: takeDueAlert, ...bind(deps.db, { dueAccounts }) },
    leases: {
      ...bind(deps, { open: openLeaseReport, lapse, closeNode, countedBy, restore, held }),
      ...bind(deps.db, { quarantined: listQuarantined }),
      promised,
      billedOf,
      billedBy,
    },
  }
}
