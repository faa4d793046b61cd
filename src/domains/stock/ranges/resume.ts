import { readPrefix } from '../../../core/address.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database } from '../../../db/transaction.ts'
import { give } from './prove.ts'
import {
  indexOf,
  inParts,
  isBlock,
  type MayServe,
  type Planned,
  type PlannedRange,
  standsStill,
  type UnderWay,
} from './rules.ts'
import * as store from './store.ts'

/** An import that was begun this long ago is over. */
const importMs = 3_600_000
/** An import without progress for this long was broken off. */
const standstillMs = 120_000
/** A second import of the same addresses looks more often and waits less. */
const lookEveryMs = 500
const looksAtStandstill = 20
const maxLooks = 1_200
const adoptAtOnce = 2_000

/** Resumes or ends imports that were broken off by a kill, a reboot or a lost database. */
export function createUnfinished(deps: {
  db: Database
  clock: Clock
  live: () => Promise<string[]>
  judge: () => Promise<MayServe>
}) {
  const { db, clock } = deps
  /** Each import at its last progress. */
  const seen = new Map<number, { readonly import: UnderWay; readonly sinceAt: number }>()

  const isLongAgo = (each: UnderWay): boolean => clock() - each.begunAt > importMs

  async function adoptOne(begunAt: number): Promise<void> {
    for (;;) {
      const ids = await store.comingOf(db, begunAt, adoptAtOnce)
      if (ids.length === 0) return
      await db.transactLong(async (tx) => store.adoptComing(tx, ids, clock()))
    }
  }

  /** Waits until the imports are finished or without progress; refuses if they still run after 10 minutes. */
  async function untilStill(begun: ReadonlySet<number>): Promise<void> {
    let before = new Map<number, UnderWay>()
    for (let look = 0, still = 0; look < maxLooks; look += 1) {
      const now = (await store.importsUnderWay(db)).filter((each) => begun.has(each.begunAt) && !isLongAgo(each))
      still = now.every((each) => standsStill(before.get(each.begunAt), each)) ? still + 1 : 0
      if (now.length === 0 || still >= looksAtStandstill) return
      before = new Map(now.map((each) => [each.begunAt, each]))
      await Bun.sleep(lookEveryMs)
    }
    throw new Refusal('addresses_being_added')
  }

  return {
    underWay: (): Promise<UnderWay[]> => store.importsUnderWay(db),

    /** Puts on sale what was written of imports that were begun more than an hour ago. */
    async adoptOld(): Promise<void> {
      for (const each of await store.importsUnderWay(db)) if (isLongAgo(each)) await adoptOne(each.begunAt)
    },

    /**
     * Puts on sale what was written of imports without progress for two minutes, and returns them. A process that wakes
     * up later opens its ranges once more.
     */
    async adoptStill(): Promise<UnderWay[]> {
      const nowMs = clock()
      const now = await store.importsUnderWay(db)
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

    /** Waits for other imports of these addresses. */
    async untilNobodyAdds(addresses: readonly string[]): Promise<void> {
      if ((await store.importsUnderWay(db)).length === 0) return
      const ranges = await coming()
      const touched = new Set(addresses.map(indexOf(ranges)))
      const theirs = ranges.filter((each) => touched.has(each.range.id))
      await untilStill(new Set(theirs.map((each) => each.range.createdAt)))
    },

    /** Ranges of broken-off imports: not in yet with any of these addresses, or in and without some of them. */
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

    /** Finishes complete ranges. Nodes are sent the new ones; for the others their reports count. */
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
          const freshIds = fresh.map((each) => each.id)
          store.setState(tx, freshIds, 'in', nowMs)
        })
      }
    },
  }

  /** Ranges whose addresses are slots. */
  async function writtenOut(): Promise<PlannedRange[]> {
    return (await store.listRanges(db)).flatMap((range) => {
      const prefix = readPrefix(range.prefix)
      return prefix && !isBlock(range) ? [{ prefix, range }] : []
    })
  }

  async function coming(): Promise<PlannedRange[]> {
    return (await writtenOut()).filter((each) => each.range.state === 'coming')
  }
}
