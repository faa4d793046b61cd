import type { NodeExit } from '../../../../node-protocol/state.ts'
import type { Changed, Snapshot } from '../../../agent/snapshot.ts'
import type { StateChange } from './messages.ts'

/** One message holds so many at most. */
const mostAtOnce = 1000

const nothing: StateChange = {
  proxies: [],
  goneProxies: [],
  subusers: [],
  goneSubusers: [],
  exits: [],
  goneExits: [],
  gateways: [],
  goneGateways: [],
}

/** Keeps a reactor's snapshot the same as this thread's: all of it once, then what has changed. */
export function createStateFeed(snapshot: Snapshot) {
  let exits = new Map<string, NodeExit>()

  function* slices<Item>(items: readonly Item[]): Generator<Item[]> {
    for (let at = 0; at < items.length; at += mostAtOnce) yield items.slice(at, at + mostAtOnce)
  }

  function* changedExits(): Generator<StateChange> {
    const now = new Map([...snapshot.exits()].map((exit) => [exit.id, exit]))
    const gone = [...exits.keys()].filter((id) => !now.has(id))
    const fresh = [...now.values()].filter((exit) => exits.get(exit.id) !== exit)
    exits = now
    yield { ...nothing, goneExits: gone }
    for (const each of slices(fresh)) yield { ...nothing, exits: each }
  }

  return {
    *whole(): Generator<StateChange> {
      exits = new Map()
      // Gateways come before the exits that are theirs.
      for (const gateways of slices([...snapshot.gateways()])) yield { ...nothing, gateways }
      yield* changedExits()
      for (const proxies of slices([...snapshot.proxies()])) yield { ...nothing, proxies }
      for (const subusers of slices([...snapshot.subusers()])) yield { ...nothing, subusers }
    },

    *changed(change: Changed): Generator<StateChange> {
      for (const ids of slices(change.gateways ?? [])) {
        const gateways = ids.flatMap((id) => snapshot.findGateway(id) ?? [])
        yield { ...nothing, gateways, goneGateways: ids.filter((id) => !snapshot.findGateway(id)) }
      }
      if (change.exits) yield* changedExits()
      for (const usernames of slices(change.proxies)) {
        const proxies = usernames.flatMap((username) => snapshot.findProxy(username) ?? [])
        const goneProxies = usernames.filter((username) => !snapshot.findProxy(username))
        yield { ...nothing, proxies, goneProxies }
      }
      for (const ids of slices(change.subusers)) {
        const subusers = ids.flatMap((id) => snapshot.findSubuser(id) ?? [])
        const goneSubusers = ids.filter((id) => !snapshot.findSubuser(id))
        yield { ...nothing, subusers, goneSubusers }
      }
    },
  }
}
