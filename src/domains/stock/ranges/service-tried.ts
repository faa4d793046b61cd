import { type Address, formatAddress, formatPrefix, readPrefix } from '../../../core/address.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Tx } from '../../../db/transaction.ts'
import { mostWrittenOut, sizeOf } from '../rules.ts'
import {
  isNormal,
  isProofDue,
  leasedWithinMs,
  type MayServe,
  mayCarry,
  prefixesAround,
  proofMs,
  type Range,
  type Run,
  type Trial,
  type Tried,
  within,
  without,
} from './rules.ts'
import { inParts } from './rules-plan.ts'
import { give, isBlock, placesOf } from './service-carrying.ts'
import * as store from './store.ts'
import { leasedCarriers, writeProofs } from './store-proofs.ts'

/** What nodes say of ranges, what they prove of them, and so who carries what. */
export function createTried(deps: {
  db: Database
  clock: Clock
  live: () => Promise<string[]>
  judge: () => Promise<MayServe>
}) {
  const { db, clock } = deps

  /**
   * What changes in who carries a range when a node says this of it. Tells whether all of its places are to be claimed
   * for the node, which is the caller's to do for many ranges at once.
   */
  function apply(
    tx: Tx,
    range: Range,
    said: Tried,
    before: readonly Trial[],
    { node, alive, mayServe }: { node: string; alive: readonly string[]; mayServe: MayServe },
  ): boolean {
    const own = before.find((each) => each.node === node)
    const others = before.filter((each) => each.node !== node)
    const there = entitled(range, others, alive, mayServe)
    const lost = without(own?.served ?? [], said.served)
    const which = placesOf(range, lost)
    if (which && lost.length > 0) {
      store.release(tx, which, node, clock())
      if (isBlock(range)) store.releaseBlock(tx, range.prefix, node)
      for (const other of others) {
        if (mayServe(range, other)) give(tx, range, within(lost, other.served), other.node, there)
      }
    }
    if (!mayServe(range, own)) return false
    const gained = others.length > 0 ? said.served : without(said.served, own?.served ?? [])
    const isPlain = !isBlock(range) && there.length === alive.length
    if (isPlain && placesOf(range, gained)?.addresses === 'all') return true
    give(tx, range, gained, node, there)
    return false
  }

  /** What a node says of so many ranges as one transaction takes. */
  async function hear(node: string, said: readonly Tried[], alive: readonly string[]): Promise<void> {
    if (await isKnown(node, said)) return
    const ids = said.map((each) => each.range)
    const by = { node, alive: [...alive, node], mayServe: await deps.judge() }
    await db.transactLong(async (tx) => {
      const ranges = await store.lockRanges(tx, ids)
      const trials = await store.trialsByRange(tx, ids)
      const nowMs = clock()
      const written: Parameters<typeof store.writeTrials>[1][number][] = []
      const wholly: number[] = []
      for (const each of said) {
        const range = ranges.get(each.range)
        if (range?.state !== 'in' || !mayCarry(range, node) || !fits(range, each.served)) continue
        const before = trials.get(range.id) ?? []
        if (apply(tx, range, each, before, by)) wholly.push(range.id)
        const own = before.find((trial) => trial.node === node)
        if (!own || !says(own, each)) written.push({ node, ...each, changedAt: nowMs })
      }
      store.claimAll(tx, wholly, node, by.alive)
      store.writeTrials(tx, written)
    })
  }

  /** Whether a node has said nothing new, and nobody else's share could fall to it. Most reports end here. */
  async function isKnown(node: string, said: readonly Tried[]): Promise<boolean> {
    const byRange = await store.trialsByRange(
      db,
      said.map((each) => each.range),
    )
    return said.every((each) => {
      const [own, ...others] = (byRange.get(each.range) ?? []).toSorted((a) => (a.node === node ? -1 : 1))
      return own?.node === node && others.length === 0 && says(own, each)
    })
  }

  /**
   * Whether only the node itself can have called from this address. An address that is leased, or was lately, is also
   * used by its customer, and a hostile node may be that customer. Then the call counts only for the node that carries
   * the address, and only while no other live node claims to serve the range: a customer of that one could have called.
   */
  async function isOwnCall(
    node: string,
    from: string,
    trials: ReadonlyMap<number, readonly Trial[]>,
    alive: readonly string[],
  ): Promise<boolean> {
    const carriers = await leasedCarriers(db, from, clock() - leasedWithinMs)
    if (carriers.length === 0) return true
    const isElsewhere = (each: Trial) => each.node !== node && each.served.length > 0 && alive.includes(each.node)
    return carriers.every((each) => each === node) && ![...trials.values()].flat().some(isElsewhere)
  }

  /**
   * Writes down that a node has proven ranges that are on no named gateway, and gives it what it claims of them, all in
   * one transaction. `from` is the address that the shop saw, or null for the shop's own socket.
   */
  async function prove(node: string, ids: readonly number[], from: string | null): Promise<void> {
    const mayServe = await deps.judge()
    // Where no proof is asked for, none is kept.
    if (mayServe({ homes: [] }, undefined)) return
    const ownOf = (trials: readonly Trial[] | undefined) => trials?.find((each) => each.node === node)
    const known = await store.trialsByRange(db, ids)
    const due = ids.filter((id) => isProofDue(ownOf(known.get(id)), from, clock()))
    if (due.length === 0) return
    const alive = await deps.live()
    if (from !== null && !(await isOwnCall(node, from, known, alive))) return
    await db.transactLong(async (tx) => {
      const ranges = [...(await store.lockRanges(tx, due)).values()].filter(isAnybodys)
      const trials = await store.trialsByRange(tx, due)
      const nowMs = clock()
      writeProofs(
        tx,
        node,
        ranges.map((each) => each.id),
        { from, provenAt: nowMs, endsAt: nowMs + proofMs },
      )
      for (const range of ranges) {
        const said = trials.get(range.id) ?? []
        const own = ownOf(said)
        if (!own || mayServe(range, own)) continue
        const others = said.filter((each) => each !== own)
        give(tx, range, own.served, node, entitled(range, others, [...alive, node], mayServe))
      }
    })
  }

  return {
    /**
     * Takes what a node says of ranges. What it was not told to try is passed over, and what another node carries that
     * still serves stays with that one: so a node that lies takes nothing from others. Nor does it get what is on no
     * named gateway before it has proven it. A node that is met at the shop's own socket runs as the shop's own user,
     * and that is its proof.
     */
    async tried(node: string, said: readonly Tried[], isLocal = false): Promise<void> {
      const alive = await deps.live()
      const claimed = said.filter((each) => isLocal && each.served.length > 0).map((each) => each.range)
      for (const part of inParts(claimed)) await prove(node, part, null)
      for (const part of inParts(said)) await hear(node, part, alive)
    },

    /**
     * A node has called the shop, which saw this address: a proof for the range that the address is in, unless a
     * customer could have called from it.
     */
    async seen(node: string, from: Address): Promise<void> {
      const found = await store.rangesWith(db, prefixesAround(from).map(formatPrefix))
      const ids = [...found.values()].filter(isAnybodys).map((each) => each.id)
      if (ids.length > 0) await prove(node, ids, formatAddress(from))
    },
  }
}

/** On sale, and on no named gateway. */
const isAnybodys = (range: Range): boolean => range.state === 'in' && range.homes.length === 0

/** The nodes that are there, without those that claim a range and have not proven it: these keep it from nobody. */
function entitled(
  range: Range,
  others: readonly Trial[],
  alive: readonly string[],
  mayServe: MayServe,
): readonly string[] {
  const unproven = others.filter((each) => !mayServe(range, each)).map((each) => each.node)
  return unproven.length === 0 ? alive : alive.filter((node) => !unproven.includes(node))
}

/** Whether a node speaks of addresses that the range has. */
function fits(range: Range, served: readonly Run[]): boolean {
  const prefix = readPrefix(range.prefix)
  if (!prefix) return false
  const size = sizeOf(prefix)
  return isNormal(served, size > mostWrittenOut ? 1 : Number(size))
}

const says = (trial: Trial, said: Tried): boolean =>
  trial.seenAs === said.seenAs &&
  JSON.stringify([trial.served, trial.problems]) === JSON.stringify([said.served, said.problems])
