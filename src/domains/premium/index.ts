import { bind } from '../../core/bind.ts'
import { announceLow } from './announce.ts'
import { balance, buy, buyerOf, held, pools, quote } from './buy.ts'
import type { PremiumDeps } from './deps.ts'
import * as exitCases from './exits/exits.ts'
import { isLocal, listExits, listReports } from './exits/store.ts'
import { move, passOn, remove } from './move.ts'
import { createPremiumNodes } from './nodes.ts'
import { delivered, endingOf, refund } from './refund.ts'
import { generate } from './subusers/generate.ts'
import * as subusers from './subusers/manage.ts'
import * as whitelist from './subusers/whitelist.ts'
import { cacheBlocked, forgetHosts, forgetUsage, limitNewHosts, takeReport } from './usage/metering.ts'
import { mayHaveLeft, usage } from './usage/usage.ts'

export { createAccessVerifier, createPremiumVerifier } from './audit.ts'

export type Premium = ReturnType<typeof createPremium>

/** Premium proxies: sub-users, exits, the sale of traffic, and the metering of what gateways report. */
export function createPremium(given: PremiumDeps) {
  const { cacheServing, ...ofExits } = exitCases
  const cached = { serving: cacheServing(given), blocked: cacheBlocked(given), newHosts: limitNewHosts(given) }
  const ofReader = bind(given.db, { list: listExits, reports: listReports, isLocal })
  const exits = { ...bind({ ...given, ...cached }, ofExits), ...ofReader }
  const deps = { ...given, ...cached, exits }
  return {
    ...bind(deps, { generate, usage, mayHaveLeft, remove, passOn }),
    subusers: bind(deps, subusers),
    whitelist: bind(deps, whitelist),
    exits,
    traffic: {
      ...bind(deps, { quote, pools, held, buy, balance, move, refund, delivered, announceLow }),
      ending: endingOf(deps),
      buyer: buyerOf(deps),
    },
    metering: bind(deps, { takeReport, forgetUsage, forgetHosts }),
    nodes: createPremiumNodes(deps),
  }
}
