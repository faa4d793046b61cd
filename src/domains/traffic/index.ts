import { bind } from '../../core/bind.ts'
import * as accounts from './accounts/movements.ts'
import * as accountStore from './accounts/store.ts'
import * as counts from './counts/counts.ts'
import * as countStore from './counts/store.ts'
import type { TrafficDeps } from './deps.ts'
import * as leases from './leases/leases.ts'
import { openLeaseReport } from './leases/report.ts'

export { createTrafficVerifier } from './audit.ts'

export type Traffic = ReturnType<typeof createTraffic>

/** Byte accounts, byte leases of nodes, and the counters that nodes report. */
export function createTraffic(deps: TrafficDeps) {
  const { deposit, transfer, balances, takeBack, expire } = accounts
  const { take, add, refuse, refusals, unbelieved, believedOf } = counts
  const { lapse, shut, countedBy, restore, held, quarantined } = leases
  return {
    accounts: {
      ...bind(deps, { deposit, transfer, balances, takeBack, expire }),
      lock: accountStore.lockAccount,
      lockPair: accounts.lockPair,
      left: accounts.left,
      restoredTo: accounts.restoredTo,
      list: accountStore.listAccounts,
      boughtWith: accountStore.boughtWith,
      movedWith: accountStore.movedWith,
      lotsOf: accountStore.lotsOf,
      holdersOf: accountStore.holdersOf,
      ordersNamedIn: accountStore.ordersNamedIn,
    },
    counts: {
      ...bind(deps, { take, add, refuse, refusals, unbelieved, believedOf }),
      totals: countStore.sumCounts,
      subjects: countStore.subjectsAfter,
      known: counts.known,
      disbelieve: counts.disbelieve,
      forget: countStore.forgetCounts,
    },
    leases: {
      ...bind(deps, { open: openLeaseReport, lapse, shut, countedBy, restore, held, quarantined }),
      promised: leases.promised,
      billedOf: leases.billedOf,
      billedBy: leases.billedBy,
    },
  }
}
