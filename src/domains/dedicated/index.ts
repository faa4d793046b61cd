import { bind } from '../../core/bind.ts'
import { allowSource, disallowSource, resetPasswords } from './access.ts'
import { announceEnds } from './announce.ts'
import { verifierOf } from './audit.ts'
import { buy, buyerOf, quote } from './buy.ts'
import { forgetDays, trafficByDay } from './days/days.ts'
import { end, endingOf, releaseOverdue } from './end.ts'
import { createDedicatedNodes } from './nodes.ts'
import {
  countActive,
  countByCountry,
  countEnding,
  countSold,
  delivered,
  findNamed,
  held,
  holdersOf,
  listOf,
  show,
} from './operate.ts'
import { interrupt, listInterrupted, restore } from './outages/outages.ts'
import { outagesOf } from './outages/store.ts'
import { createOutageWatch } from './outages/watch.ts'
import { prolong, quoteProlonging, renewDue, setRenewal } from './prolong.ts'
import {
  type DedicatedDeps,
  findOwned,
  list,
  listByComment,
  load,
  pagesOf,
  setComment,
  setProtocol,
  trafficOf,
} from './proxies.ts'
import { move, quarantine, retire, survey } from './ranges.ts'
import { replace, replaceByOperator } from './replace.ts'

export type { BoughtProxies } from './buy.ts'
export { noEntrance, noHttps } from './errors.ts'
export type { Looked, OutageWatch } from './outages/watch.ts'
export type { Prolonged } from './prolong.ts'
export type { OpenProxy, ProxyTraffic } from './proxies.ts'

export type Dedicated = ReturnType<typeof createDedicated>
export type DedicatedUpkeep = Dedicated['upkeep']
export type Outages = Dedicated['outages']
export type ProxyOperator = Dedicated['operator']
export type RangeOperator = Dedicated['ranges']

export const createDedicated = (deps: DedicatedDeps) => ({
  ...bind(deps, { quote, buy, quoteProlonging, prolong, setRenewal, replace }),
  ...bind(deps, { list, listByComment, pagesOf, load, trafficOf, trafficByDay, setProtocol, setComment, findOwned }),
  ...bind(deps, { allowSource, disallowSource, resetPasswords }),
  buyer: buyerOf(deps),
  /** Periodic tasks. */
  upkeep: bind(deps, { release: releaseOverdue, renew: renewDue, announce: announceEnds, forgetDays }),
  outages: { ...bind(deps, { interrupt, restore, list: listInterrupted }), of: outagesOf },
  outageWatch: createOutageWatch(deps),
  operator: {
    ...bind(deps, {
      show,
      listOf,
      findNamed,
      countActive,
      countByCountry,
      countEnding,
      countSold,
      held,
      holdersOf,
      delivered,
    }),
    ...bind(deps, { end, replace: replaceByOperator }),
    ending: endingOf(deps),
  },
  /** The operator's actions on whole ranges. */
  ranges: bind(deps, { survey, move, retire, quarantine }),
  nodes: createDedicatedNodes(deps),
  verifier: verifierOf(deps),
})
