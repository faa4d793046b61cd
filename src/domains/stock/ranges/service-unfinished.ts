import { readPrefix } from '../../../core/address.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database } from '../../../db/transaction.ts'
import { beingAdded } from '../errors.ts'
import { mostWrittenOut, sizeOf } from '../rules.ts'
import { type MayServe, standsStill, type UnderWay } from './rules.ts'
import { indexOf, inParts, type Planned, type PlannedRange } from './rules-plan.ts'
import { give } from './service-carrying.ts'
import * as store from './store.ts'
import * as unfinished from './store-unfinished.ts'

/** An import that was begun so long ago is over, one way or the other. */
const importMs = 3_600_000
/** One of which nothing has come for so long, while a shop looked, was broken off. */
const standstillMs = 120_000
/** Whoever adds the same addresses looks more often, and does not want to wait for so long. */
const lookEveryMs = 500
const looksAtStandstill = 20
const mostLooks = 1_200
const adoptAtOnce = 2_000

/** What became of imports that were broken off: by a kill, a reboot, a database that went away. */
export function createUnfinished(deps: {
  db: Database
  clock: Clock
  live: () => Promise<string[]>
  judge: () => Promise<MayServe>
}) {
  const { db, clock } = deps
  /** What a shop saw of each import when something had last come of it. */
  const seen = new Map<number, { readonly import: UnderWay; readonly sinceAt: number }>()

  const isLongAgo = (each: UnderWay): boolean => clock() - each.begunAt > importMs

  async function adoptOne(begunAt: number): Promise<void> {
    for (;;) {
      const ids = await unfinished.comingOf(db, begunAt, adoptAtOnce)
      if (ids.length === 0) return
      await db.transactLong(async (tx) => unfinished.adoptComing(tx, ids, clock()))
    }
  }

  /** Waits until what somebody else adds is in or stands still; an import that goes on for longer is his. */
  async function untilStill(begun: ReadonlySet<number>): Promise<void> {
    let before = new Map<number, UnderWay>()
    for (let look = 0, still = 0; look < mostLooks; look += 1) {
      const now = (await unfinished.importsUnderWay(db)).filter((each) => begun.has(each.begunAt) && !isLongAgo(each))
      still = now.every((each) => standsStill(before.get(each.begunAt), each)) ? still + 1 : 0
      if (now.length === 0 || still >= looksAtStandstill) return
      before = new Map(now.map((each) => [each.begunAt, each]))
      await Bun.sleep(lookEveryMs)
    }
    throw beingAdded()
  }

  return {
    underWay: (): Promise<UnderWay[]> => unfinished.importsUnderWay(db),

    /** Puts on sale what has come of imports that were begun long ago. */
    async adoptOld(): Promise<void> {
      for (const each of await unfinished.importsUnderWay(db)) if (isLongAgo(each)) await adoptOne(each.begunAt)
    },

    /**
     * Puts on sale what has come of imports in which nothing has happened for two minutes of looking. One whose process
     * lives changes in seconds; should it have slept so long and go on, it opens its ranges once more. Tells which.
     */
    async adoptStill(): Promise<UnderWay[]> {
      const nowMs = clock()
      const now = await unfinished.importsUnderWay(db)
      for (const begunAt of seen.keys()) if (!now.some((each) => each.begunAt === begunAt)) seen.delete(begunAt)
      const adopted: UnderWay[] = []
      for (const each of now) {
        const before = seen.get(each.begunAt)
        if (!standsStill(before?.import, each)) seen.set(each.begunAt, { import: each, sinceAt: nowMs })
        else if (before && nowMs - before.sinceAt >= standstillMs) {
          await adoptOne(each.begunAt)
          adopted.push(each)
        }
      }
      return adopted
    },

    /** What somebody is adding of these addresses is waited for. */
    async untilNobodyAdds(addresses: readonly string[]): Promise<void> {
      if ((await unfinished.importsUnderWay(db)).length === 0) return
      const ranges = await coming()
      const touched = new Set(addresses.map(indexOf(ranges)))
      const theirs = ranges.filter((each) => touched.has(each.range.id))
      await untilStill(new Set(theirs.map((each) => each.range.createdAt)))
    },

    /** The ranges that were to hold these: not in yet and with any of them, or in and without some of them. */
    async leftBehind(all: readonly string[], missing: readonly string[]): Promise<Planned> {
      const ranges = missing.length === 0 ? await coming() : await writtenOut()
      const byAddress = indexOf(ranges)
      const lacking = new Set(missing.map(byAddress))
      const touched = new Set(all.map(byAddress))
      const left = ranges.filter(
        ({ range }) => lacking.has(range.id) || (range.state === 'coming' && touched.has(range.id)),
      )
      return { ranges: left, byAddress: indexOf(left) }
    },

    /**
     * Finishes ranges that were left behind, now that all of their addresses are there. Nodes are told of those that
     * they have not heard of; of the others they have said already what they can use.
     */
    async finish({ ranges }: Planned, homes: readonly string[]): Promise<void> {
      const [alive, mayServe] = await Promise.all([deps.live(), deps.judge()])
      for (const part of inParts(ranges)) {
        await db.transactLong(async (tx) => {
          const ids = part.map((each) => each.range.id)
          const held = [...(await store.lockRanges(tx, ids)).values()]
          const trials = await store.trialsByRange(tx, ids)
          const nowMs = clock()
          const fresh = held.filter((each) => each.state === 'coming')
          for (const range of fresh) store.setHomes(tx, range.id, homes, nowMs)
          for (const range of held) {
            for (const trial of trials.get(range.id) ?? []) {
              if (mayServe(range, trial)) give(tx, range, trial.served, trial.node, alive)
            }
          }
          store.setState(
            tx,
            fresh.map((each) => each.id),
            'in',
            nowMs,
          )
        })
      }
    },
  }

  /** Ranges whose addresses are places, each of them. */
  async function writtenOut(): Promise<PlannedRange[]> {
    return (await store.listRanges(db)).flatMap((range) => {
      const prefix = readPrefix(range.prefix)
      return prefix && sizeOf(prefix) <= mostWrittenOut ? [{ prefix, range }] : []
    })
  }

  async function coming(): Promise<PlannedRange[]> {
    return (await writtenOut()).filter((each) => each.range.state === 'coming')
  }
}
