import type { Context } from './context.ts'
import { type Peer, ratiosOf, type Sample, takeTurns } from './measure.ts'
import { cpuSecondsOf, familyMb } from './process-cost.ts'
import { amountRow, type Row, rateRow, ratioRow, timeRow } from './report.ts'
import type { Route, TunnelResult, Tunnels } from './tunnels.ts'

/** One of those that carry the same load: ours, a peer, or no proxy at all. */
export type Carrier = {
  readonly name: string
  /** How it goes about it, for the table. */
  readonly does?: string
  readonly route: Route
  /** All processes whose time is counted descend from it. Nothing stands between when there is no proxy. */
  readonly pid?: number
  /** The processes whose memory is counted. */
  readonly memoryPids?: () => readonly number[]
  /** Ours may not fail a single tunnel. Another's failures are shown beside its figure. */
  readonly isOurs?: boolean
}

type Load = {
  readonly name: string
  readonly plan: { readonly tunnels: number; readonly bytes: number }
  /** What the load is counted in. */
  readonly amountOf: (result: TunnelResult) => number
  readonly unit: '' | ' MB'
}

const churn: Load = {
  name: 'new tunnels',
  plan: { tunnels: 64, bytes: 1_024 },
  amountOf: (result) => result.tunnels,
  unit: '',
}

const bulk: Load = {
  name: 'bulk',
  plan: { tunnels: 8, bytes: 64 * 2 ** 20 },
  amountOf: (result) => result.bytes / 1e6,
  unit: ' MB',
}

const idle = { tunnels: 2_000, bytes: 1_024, seconds: 60 }
const settleMs = 1_000
const warmUpTunnels = 64
/** Held against every other proxy, and against ourselves where customers do not pay by the byte. */
const peerTargets = { 'new tunnels': { least: 1.6 }, bulk: { least: 1.3 } } as const
const paidTarget = { most: 1.11 }

/** What one carrier did in one round. */
type Carried = Sample & { readonly amount: number; readonly cpuSeconds: number; readonly errors: number }

const protocolOf = (route: Route): string => ({ direct: '', connect: 'HTTP', socks: 'SOCKS5' })[route.way]

const titleOf = ({ name, does }: Carrier): string => (does === undefined ? name : `${name} (${does})`)

/**
 * A new tunnel for each kilobyte, then large files, through each of the carriers in turns. The first of them is ours.
 */
export async function compare(context: Context, tunnels: Tunnels, carriers: readonly Carrier[]): Promise<Row[]> {
  return [
    ...(await compareUnder(churn, context, tunnels, carriers)),
    ...(await compareUnder(bulk, context, tunnels, carriers)),
  ]
}

async function compareUnder(
  load: Load,
  context: Context,
  tunnels: Tunnels,
  carriers: readonly Carrier[],
): Promise<Row[]> {
  const peers = carriers.map((carrier) => toPeer(load, context.seconds, tunnels, carrier))
  for (const peer of peers) await peer.measure()
  const rounds = await takeTurns(peers, context.rounds, context.say, load.unit)
  const [ours] = carriers
  const title = `${load.name} over ${ours ? protocolOf(ours.route) : ''}`
  const figures = carriers.flatMap((carrier) => toRows(load, title, carrier, rounds.get(carrier.name) ?? []))
  const ratios = carriers.flatMap((other) =>
    ours === undefined || other.name === ours.name
      ? []
      : [
          ratioRow(
            `${title}, ${ours.name} against ${other.name}`,
            ratiosOf(rounds, ours.name, other.name),
            targetOf(load, other),
          ),
        ],
  )
  return [...figures, ...ratios]
}

/** Nobody is faster than no proxy at all. */
function targetOf(load: Load, other: Carrier): { least: number } | { most: number } | undefined {
  if (other.isOurs) return load === bulk ? paidTarget : undefined
  return other.pid === undefined ? undefined : peerTargets[load === bulk ? 'bulk' : 'new tunnels']
}

function toPeer(load: Load, seconds: number, tunnels: Tunnels, carrier: Carrier): Peer<Carried> {
  const { name, pid, route } = carrier
  return {
    name,
    async measure() {
      const before = pid === undefined ? 0 : cpuSecondsOf(pid)
      const result = await tunnels.run({ ...load.plan, route, seconds })
      const cpuSeconds = pid === undefined ? 0 : cpuSecondsOf(pid) - before
      if (carrier.isOurs && result.errors > 0)
        throw new Error(`${result.errors} tunnels through ${name} failed, the first with: ${result.firstError}`)
      const amount = load.amountOf(result)
      return { perSecond: amount / result.seconds, p99Ms: result.p99Ms, amount, cpuSeconds, errors: result.errors }
    },
  }
}

function toRows(load: Load, title: string, carrier: Carrier, samples: readonly Carried[]): Row[] {
  const what = `${title}, ${carrier.name}`
  const rates = samples.map(({ perSecond }) => perSecond)
  const errors = samples.reduce((sum, sample) => sum + sample.errors, 0)
  const named = `${title}, ${titleOf(carrier)}${errors === 0 ? '' : `, ${errors} FAILED`}`
  const costs = samples.flatMap(({ amount, cpuSeconds }) => (cpuSeconds > 0 ? [amount / cpuSeconds] : []))
  if (load === bulk) {
    const gigabytes = costs.map((megabytes) => megabytes / 1000)
    const cost = costs.length === 0 ? [] : [amountRow(`${what}, for a CPU second`, gigabytes, ' GB', 2)]
    return [amountRow(named, rates, ' MB/s'), ...cost]
  }
  const times = samples.map(({ p99Ms }) => p99Ms ?? Number.NaN)
  const cost = costs.length === 0 ? [] : [amountRow(`${what}, for a CPU second`, costs, '')]
  return [rateRow(named, rates), timeRow(`${what}, p99`, times), ...cost]
}

/**
 * Tunnels that have carried something and then stand still, and what the proxy's processes hold in memory for each. To
 * be asked before any load: what earlier tunnels left behind would be used again and hide what these take.
 */
export async function measureIdle(tunnels: Tunnels, carrier: Carrier): Promise<Row> {
  const { route, memoryPids } = carrier
  const what = `${idle.tunnels} idle tunnels over ${protocolOf(route)}, ${titleOf(carrier)}`
  await (await tunnels.hold({ ...idle, tunnels: warmUpTunnels, route })).release()
  const pids = memoryPids?.() ?? []
  const beforeMb = familyMb(pids)
  const held = await tunnels.hold({ ...idle, route })
  await Bun.sleep(settleMs)
  const mb = familyMb(pids)
  const kb = ((mb - beforeMb) * 1024) / idle.tunnels
  const alive = await held.release()
  if (alive.tunnels === idle.tunnels)
    return { what, figure: `${kb.toFixed(1)} KB each, ${mb.toFixed(0)} MB in all`, rounds: [kb, mb] }
  if (carrier.isOurs)
    throw new Error(`${alive.tunnels} of ${idle.tunnels} idle tunnels stayed open: ${alive.firstError}`)
  return { what, figure: `${alive.tunnels} stayed open`, rounds: [alive.tunnels] }
}
