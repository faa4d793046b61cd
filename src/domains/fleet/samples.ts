import type { NodeId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { HealthReport, Node, NodeSample } from './rules.ts'
import * as store from './store.ts'

/** The time since the sample before, as rates. */
type NodeRates = Pick<NodeSample, 'at' | 'tunnels' | 'lagMs'> & {
  readonly bytes: number
  readonly bytesPerSecond: number
  readonly cpuPercent: number | null
  readonly errorsPerMinute: number | null
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const everyMs = 5 * minuteMs

/** How far back each graph goes, and how far its points are apart. */
const spans = { day: { lengthMs: dayMs, stepMs: everyMs }, month: { lengthMs: 30 * dayMs, stepMs: hourMs } } as const
type HistorySpan = keyof typeof spans

/** One step more than a graph shows, because a rate needs the sample before. The overview compares two months. */
const keptMs: Readonly<Record<HistorySpan, number>> = { day: dayMs + hourMs, month: 62 * dayMs + hourMs }

const slotOf = (atMs: number): number => atMs - (atMs % everyMs)

const toSample = (at: number, of: HealthReport): NodeSample => ({
  at,
  boot: of.boot,
  tunnels: of.tunnels,
  lagMs: of.lagMs,
  totalBytes: of.totalBytes,
  cpuMs: of.cpuMs ?? null,
  errors: of.errors ?? null,
})

/** Rates between samples that follow each other. After a restart a count has grown from zero. */
export function ratesOf(samples: readonly NodeSample[]): NodeRates[] {
  return samples.flatMap((each, index) => {
    const before = samples[index - 1]
    if (!before) return []
    const passedMs = each.at - before.at
    const grown = (name: 'totalBytes' | 'cpuMs' | 'errors'): number | null => {
      const value = each[name]
      if (value === null) return null
      return Math.max(0, value - (before.boot === each.boot ? (before[name] ?? 0) : 0))
    }
    const [cpuMs, errors, bytes] = [grown('cpuMs'), grown('errors'), grown('totalBytes') ?? 0]
    const { at, tunnels, lagMs } = each
    return {
      at,
      tunnels,
      lagMs,
      bytes,
      bytesPerSecond: (bytes * 1000) / passedMs,
      cpuPercent: cpuMs === null ? null : (cpuMs * 100) / passedMs,
      errorsPerMinute: errors === null ? null : (errors * minuteMs) / passedMs,
    }
  })
}

/** The slots that this process has written, by node, so that only the first report of a slot writes. */
export type SampledSlots = Map<NodeId, number>

/** Writes the first report of each five minutes. Returns what to remember after the commit. */
export function sample(
  tx: Tx,
  slots: SampledSlots,
  node: NodeId,
  health: HealthReport,
  nowMs: number,
): number | undefined {
  const slot = slotOf(nowMs)
  if (slots.get(node) === slot) return undefined
  store.insertSample(tx, node, toSample(slot, health))
  return slot
}

/** The rates of a node in the last day or month, oldest first. */
export async function history({ db, clock }: { db: Database; clock: Clock }, node: NodeId, span: HistorySpan) {
  const { lengthMs, stepMs } = spans[span]
  const fromAt = slotOf(clock()) - lengthMs
  return ratesOf(await store.listSamples(db, node, fromAt - stepMs, stepMs))
}

/**
 * The bytes that all nodes relayed from one time until another, by their samples of full hours; until `now` with their
 * last reports. Undefined if there was a node before the beginning and no sample is as old: then the sum would miss
 * some.
 */
export async function relayedBetween({ db }: { db: Database }, fromAt: number, until: number | 'now') {
  const firstAt = fromAt - (fromAt % hourMs)
  const toAt = until === 'now' ? Number.MAX_SAFE_INTEGER : until
  const [nodes, earlier] = await Promise.all([store.listRelayed(db), store.sumEarlier(db, 0)])
  const isNew = ({ createdAt }: store.NodeBytes) => createdAt >= firstAt
  const hasOld = nodes.some((node) => node.boot !== null && !isNew(node))
  if (hasOld && !(await store.hasSampleBefore(db, firstAt + hourMs))) return undefined
  const samples = await store.listAllSamples(db, { fromAt: firstAt, toAt, stepMs: hourMs })
  const byNode = Map.groupBy(samples, ({ node }) => node)
  const earlierOf = new Map(earlier.map((each) => [each.node, each.totalBytes]))
  return nodes
    .map((node) => {
      if (until === 'now' && isNew(node)) return (node.totalBytes ?? 0) + (earlierOf.get(node.id) ?? 0)
      const points: Point[] = (byNode.get(node.id) ?? []).map(({ sample: each }) => each)
      if (isNew(node)) points.unshift({ boot: null, totalBytes: 0 })
      if (until === 'now') points.push(node)
      return grownIn(points)
    })
    .reduce((sum, each) => sum + each, 0)
}

type Point = { readonly boot: string | null; readonly totalBytes: number | null }

/** What a count grew by from the first point to the last. After a restart it has grown from zero. */
const grownIn = (points: readonly Point[]): number =>
  points.slice(1).reduce((sum, each, index) => {
    const before = points[index]
    return sum + Math.max(0, (each.totalBytes ?? 0) - (before?.boot === each.boot ? (before.totalBytes ?? 0) : 0))
  }, 0)

/** The mean rate of a node's latest process over the last one to six minutes; undefined if it ran for less. */
export async function recentBytesPerSecond(
  { db, clock }: { db: Database; clock: Clock },
  { id, health, lastSeenAt }: Pick<Node, 'id' | 'health' | 'lastSeenAt'>,
): Promise<number | undefined> {
  if (!health || lastSeenAt === null) return undefined
  const samples = await store.listSamples(db, id, slotOf(clock()) - everyMs, everyMs)
  const from = samples.findLast((each) => each.boot === health.boot && lastSeenAt - each.at >= minuteMs)
  return from && ((health.totalBytes - from.totalBytes) * 1000) / (lastSeenAt - from.at)
}

/** Deletes samples that no graph shows any more, at most `limit` of each kind. */
export const forgetSamples = ({ db, clock }: { db: Database; clock: Clock }, limit: number): Promise<number> =>
  db.transact(async (tx) => {
    const nowMs = clock()
    const old = await store.deleteSamples(tx, nowMs - keptMs.month, 1, limit)
    return old + (await store.deleteSamples(tx, nowMs - keptMs.day, hourMs, limit))
  })
