import { readPrefix } from '../../../core/address.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { StockDeps } from '../deps.ts'
import { give } from './prove.ts'
import { indexOf, inParts, isBlock, isStalled, type Planned, type PlannedRange, type UnderWay } from './rules.ts'
import { judge, live } from './served.ts'
import * as store from './store.ts'

/** An import that was begun this long ago is over. */
const importMs = 3_600_000
/** An import without progress for this long was broken off. */
const stalledMs = 120_000
/** A second import of the same addresses looks more often and waits less. */
const lookEveryMs = 500
const looksWhileStalled = 20
const maxLooks = 1_200
const adoptAtOnce = 2_000

const isLongAgo = (deps: StockDeps, each: UnderWay): boolean => deps.clock() - each.begunAt > importMs

async function adoptOne(deps: StockDeps, begunAt: number): Promise<void> {
  for (;;) {
    const ids = await store.comingOf(deps.db, begunAt, adoptAtOnce)
    if (ids.length === 0) return
    await deps.db.transactLong(async (tx) => store.adoptComing(tx, ids, deps.clock()))
  }
}

/** Waits until the imports are finished or without progress; refuses if they still run after 10 minutes. */
async function untilStill(deps: StockDeps, begun: ReadonlySet<number>): Promise<void> {
  let before = new Map<number, UnderWay>()
  for (let look = 0, still = 0; look < maxLooks; look += 1) {
    const now = (await store.importsUnderWay(deps.db)).filter(
      (each) => begun.has(each.begunAt) && !isLongAgo(deps, each),
    )
    still = now.every((each) => isStalled(before.get(each.begunAt), each)) ? still + 1 : 0
    if (now.length === 0 || still >= looksWhileStalled) return
    before = new Map(now.map((each) => [each.begunAt, each]))
    await Bun.sleep(lookEveryMs)
  }
  throw new Refusal('addresses_being_added')
}

/** Ranges whose addresses are slots. */
async function writtenOut(deps: StockDeps): Promise<PlannedRange[]> {
  return (await store.listRanges(deps.db)).flatMap((range) => {
    const prefix = readPrefix(range.prefix)
    return prefix && !isBlock(range) ? [{ prefix, range }] : []
  })
}

async function coming(deps: StockDeps): Promise<PlannedRange[]> {
  return (await writtenOut(deps)).filter((each) => each.range.state === 'coming')
}

export const underWay = (deps: StockDeps): Promise<UnderWay[]> => store.importsUnderWay(deps.db)

/** Puts on sale what was written of imports that were begun more than an hour ago. */
export async function adoptOld(deps: StockDeps): Promise<void> {
  for (const each of await store.importsUnderWay(deps.db)) if (isLongAgo(deps, each)) await adoptOne(deps, each.begunAt)
}

/**
 * Puts on sale what was written of imports without progress for two minutes, and returns them. A process that wakes
 * up later opens its ranges once more.
 */
export async function adoptStill(deps: StockDeps): Promise<UnderWay[]> {
  const nowMs = deps.clock()
  const now = await store.importsUnderWay(deps.db)
  for (const begunAt of deps.imports.keys())
    if (!now.some((each) => each.begunAt === begunAt)) deps.imports.delete(begunAt)
  const adopted: UnderWay[] = []
  for (const each of now) {
    const before = deps.imports.get(each.begunAt)
    if (!isStalled(before?.import, each)) deps.imports.set(each.begunAt, { import: each, sinceAt: nowMs })
    else if (before && nowMs - before.sinceAt >= stalledMs) {
      await adoptOne(deps, each.begunAt)
      adopted.push(each)
    }
  }
  return adopted
}

/** Waits for other imports of these addresses. */
export async function waitForOthers(deps: StockDeps, addresses: readonly string[]): Promise<void> {
  if ((await store.importsUnderWay(deps.db)).length === 0) return
  const ranges = await coming(deps)
  const touched = new Set(addresses.map(indexOf(ranges)))
  const theirs = ranges.filter((each) => touched.has(each.range.id))
  await untilStill(deps, new Set(theirs.map((each) => each.range.createdAt)))
}

/** Ranges of broken-off imports: not in yet with any of these addresses, or in and without some of them. */
export async function leftBehind(deps: StockDeps, all: readonly string[], missing: readonly string[]) {
  const ranges = missing.length === 0 ? await coming(deps) : await writtenOut(deps)
  const byAddress = indexOf(ranges)
  const lacking = new Set(missing.map(byAddress))
  const touched = new Set(all.map(byAddress))
  const left = ranges.filter(
    ({ range }) => lacking.has(range.id) || (range.state === 'coming' && touched.has(range.id)),
  )
  return { ranges: left, byAddress: indexOf(left) }
}

/** Finishes complete ranges. Nodes are sent the new ones; for the others their reports count. */
export async function finish(deps: StockDeps, { ranges }: Planned, nodeIds: readonly string[]): Promise<void> {
  const [alive, mayServe] = await Promise.all([live(deps), judge(deps)])
  for (const part of inParts(ranges)) {
    await deps.db.transactLong(async (tx) => {
      const ids = part.map((each) => each.range.id)
      const held = [...(await store.lockRanges(tx, ids)).values()]
      const trials = await store.trialsByRange(tx, ids)
      const nowMs = deps.clock()
      const fresh = held.filter((each) => each.state === 'coming')
      for (const range of fresh) store.setNodeIds(tx, range.id, nodeIds, nowMs)
      for (const range of held) {
        for (const trial of trials.get(range.id) ?? []) {
          if (mayServe(range, trial)) give(tx, range, trial.served, trial.node, alive)
        }
      }
      const freshIds = fresh.map((each) => each.id)
      store.setState(tx, freshIds, 'in', nowMs)
    })
  }
}
