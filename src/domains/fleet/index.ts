import { bind } from '../../core/bind.ts'
import * as useCases from './join.ts'
import { countLostGoods, forgetLost, lostGoods, mayListLost, noteLost, seeLostGoods } from './lost.ts'
import { acceptedPasswordKeys, ensurePasswordKey, makePasswordFor } from './password-keys.ts'
import { forgetSamples, history, recentBytesPerSecond, relayedBetween } from './samples.ts'
import { everKnown, findByName, findLink, lockPresent } from './store.ts'

export { createFleetVerifier } from './audit.ts'
export type { NewNode } from './join.ts'
export { createEntryPorts, type EntryPorts } from './lease-ports.ts'
export {
  createEndpointChange,
  createExitChange,
  createForgetting,
  createGatewaySide,
  createRemoval,
  type NodeSide,
  numberOf,
  type Position,
  type StateReader,
  type StateRow,
  type StateTable,
} from './nodes.ts'
export { createReach, type PublicHosts } from './reach.ts'
export { endJoinKeysAfterRestore } from './store.ts'

const { withCaches, ...cases } = useCases

export type Fleet = ReturnType<typeof createFleet>

/** The nodes: how they are added, join, authenticate and are kept out. */
export function createFleet(given: Parameters<typeof withCaches>[0]) {
  const deps = withCaches(given)
  return {
    ...bind(deps, { ...cases, acceptedPasswordKeys, ensurePasswordKey, makePasswordFor }),
    ...bind(given.db, { everKnown, findByName }),
    ...bind(given, {
      history,
      recentBytesPerSecond,
      relayedBetween,
      forgetSamples,
      mayListLost,
      noteLost,
      lostGoods,
      seeLostGoods,
      countLostGoods,
      forgetLost,
    }),
    findLink,
    lockPresent,
  }
}
