import type { Tx } from '../../../db/transaction.ts'
import * as subscriptions from '../store.ts'
import * as peers from '../store-peers.ts'
import type { VpnDeps } from '../subscriptions.ts'
import { judgePlace, type Place, type SeenPlace } from './rules.ts'
import * as places from './store.ts'

const forgetAfterMs = 10 * 60_000

/** Takes the machines that nodes have seen, and returns those that may not use their device. */
export async function takePlaces(deps: VpnDeps, tx: Tx, seen: readonly SeenPlace[]): Promise<SeenPlace[]> {
  if (seen.length === 0) return []
  const owners = await peers.findOwners(tx, [...new Set(seen.map(({ device }) => device))])
  const bySubscription = Map.groupBy(seen, ({ device }) => owners.get(device)?.uuid)
  const uuids = [...bySubscription.keys()].filter((uuid) => uuid !== undefined)
  if (uuids.length === 0) return []
  const nowMs = deps.clock()
  const locked = await subscriptions.lockMany(tx, uuids.toSorted())
  const known = Map.groupBy(await places.listPlaces(tx, uuids), (each) => each.subscription)
  const refused: SeenPlace[] = []
  for (const { uuid, deviceLimit } of locked) {
    let there: readonly Place[] = known.get(uuid) ?? []
    // Machines that were active go first: a new one is judged by what is known then.
    const own = (bySubscription.get(uuid) ?? []).toSorted((a, b) => Number(a.isNew) - Number(b.isNew))
    for (const each of own) {
      const activeAt = Math.min(each.activeAt, nowMs)
      const { isAdmitted, evicted } = judgePlace(deviceLimit, there, { ...each, activeAt }, nowMs)
      if (evicted) places.deletePlace(tx, evicted)
      if (!isAdmitted) refused.push(each)
      else places.putPlace(tx, { ...each, subscription: uuid, beganAt: nowMs, activeAt })
      const before = there.find(({ device, place }) => device === each.device && place === each.place)
      const isGone = (of: Place) => of === evicted || of === before
      const put = isAdmitted ? [{ ...each, beganAt: before?.beganAt ?? nowMs, activeAt }] : []
      there = [...there.filter((of) => !isGone(of)), ...put]
    }
  }
  return refused
}

/** Deletes machines that have not been active for ten minutes. Call again while it returns the limit. */
export const forgetPlaces = (deps: VpnDeps, limit: number): Promise<number> =>
  deps.db.transact((tx) => places.deleteSilent(tx, deps.clock() - forgetAfterMs, limit))
