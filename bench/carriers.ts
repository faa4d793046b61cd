import { roomWithin, tunnelsWithin } from '../src/dataplane/gateway/access/limits.ts'
import type { Context } from './context.ts'
import { median, type Peer, type Sample, takeTurns } from './measure.ts'
import { cpuSecondsOf, familyMb } from './process-cost.ts'
import { amountRow, type Row, rateRow, ratioRow, timeRow } from './report.ts'
import { filesAllowed } from './shop-process.ts'
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
  /** So many a second and no more. */
  readonly rate?: number
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

const mostIdle = 10_000
const idle = { bytes: 1_024, seconds: 120 }
const mostIdleKb = 2
const settleMs = 1_000
const warmUpTunnels = 64
/** Held against every other proxy, and against ourselves where customers do not pay by the byte. */
const peerTargets = { 'new tunnels': { least: 1.6 }, bulk: { least: 1.3 } } as const
const paidTarget = { least: 0.9 }
/** At half of what it can do, against no proxy at all. */
const calmTarget = { most: 3 }

/** What one carrier did in one round. */
type Carried = Sample & { readonly amount: number; readonly cpuSeconds: number; readonly errors: number }
type Taken = ReadonlyMap<string, readonly Carried[]>

const protocolOf = (route: Route): string => ({ direct: '', connect: 'HTTP', socks: 'SOCKS5' })[route.way]

const titleOf = ({ name, does }: Carrier): string => (does === undefined ? name : `${name} (${does})`)

/**
 * A new tunnel for each kilobyte, as many as it takes and then half as many, then large files, through each of the
 * carriers in turns. The first of them is ours.
 */
export async function compare(context: Context, tunnels: Tunnels, carriers: readonly Carrier[]): Promise<Row[]> {
  const [ours] = carriers
  if (!ours) return []
  const protocol = protocolOf(ours.route)
  const churned = await takeRounds(churn, context, tunnels, carriers)
  const calmed = await measureCalm(context, tunnels, carriers, median(ratesOf(churned.get(ours.name))) / 2)
  const carried = await takeRounds(bulk, context, tunnels, carriers)
  return [
    ...toFigures(churn, protocol, carriers, churned),
    ...calmed,
    ...toFigures(bulk, protocol, carriers, carried),
    ...toRatios(churn, protocol, carriers, churned),
    ...toRatios(bulk, protocol, carriers, carried),
  ]
}

/** The first turn of each is not counted: programs warm up. */
async function takeRounds(
  load: Load,
  context: Context,
  tunnels: Tunnels,
  carriers: readonly Carrier[],
): Promise<Map<string, Carried[]>> {
  const peers = carriers.map((carrier) => toPeer(load, context.seconds, tunnels, carrier))
  for (const peer of peers) await peer.measure()
  return takeTurns(peers, context.rounds, context.say, load.unit)
}

/** How long a new tunnel takes at a rate that leaves room: ours, and none at all. */
async function measureCalm(
  context: Context,
  tunnels: Tunnels,
  carriers: readonly Carrier[],
  rate: number,
): Promise<Row[]> {
  const [ours] = carriers
  const none = carriers.find(({ pid }) => pid === undefined)
  if (!ours || !none) return []
  const calm: Load = { ...churn, rate: Math.round(rate) }
  const taken = await takeRounds(calm, context, tunnels, [ours, none])
  const title = `new tunnels over ${protocolOf(ours.route)}, ${calm.rate?.toLocaleString('en-US')} a second, p99`
  const timesOf = ({ name }: Carrier) => (taken.get(name) ?? []).map(({ p99Ms }) => p99Ms ?? Number.NaN)
  const ratios = ratiosBy(taken, ours, none, ({ p99Ms }) => p99Ms ?? Number.NaN)
  return [
    timeRow(`${title}, ${ours.name}`, timesOf(ours)),
    timeRow(`${title}, ${none.name}`, timesOf(none)),
    ratioRow(`${title}, ${ours.name} against ${none.name}`, ratios, calmTarget),
  ]
}

const toFigures = (load: Load, protocol: string, carriers: readonly Carrier[], taken: Taken): Row[] =>
  carriers.flatMap((carrier) => toRows(load, `${load.name} over ${protocol}`, carrier, taken.get(carrier.name) ?? []))

/** Ours against every other, by rate and, where processors were counted, by what a second of theirs was good for. */
function toRatios(load: Load, protocol: string, carriers: readonly Carrier[], taken: Taken): Row[] {
  const [ours, ...others] = carriers
  if (!ours) return []
  const title = `${load.name} over ${protocol}`
  const byCost = ({ amount, cpuSeconds }: Carried): number => amount / cpuSeconds
  return others.flatMap((other) => {
    const target = other.pid === undefined ? undefined : peerTargets[load === bulk ? 'bulk' : 'new tunnels']
    if (other.isOurs) {
      const ratios = ratiosBy(taken, other, ours, ({ perSecond }) => perSecond)
      return [ratioRow(`${title}, ${other.name} against not`, ratios, paidTarget)]
    }
    const what = `${title}, ${ours.name} against ${other.name}`
    const byRate = ratioRow(
      what,
      ratiosBy(taken, ours, other, ({ perSecond }) => perSecond),
      target,
    )
    if (other.pid === undefined) return [byRate]
    const cost = ratioRow(
      `${what}, for a CPU second`,
      ratiosBy(taken, ours, other, byCost),
      load === bulk ? target : undefined,
    )
    return [{ ...byRate, isHeadline: true }, cost]
  })
}

const ratesOf = (samples: readonly Carried[] = []): number[] => samples.map(({ perSecond }) => perSecond)

/** Round by round, one carrier's figure by another's. */
function ratiosBy(taken: Taken, one: Carrier, other: Carrier, of: (sample: Carried) => number): number[] {
  const others = taken.get(other.name) ?? []
  return (taken.get(one.name) ?? []).flatMap((sample, round) => {
    const reference = others[round]
    const ratio = reference === undefined ? Number.NaN : of(sample) / of(reference)
    return Number.isFinite(ratio) ? [ratio] : []
  })
}

function toPeer(load: Load, seconds: number, tunnels: Tunnels, carrier: Carrier): Peer<Carried> {
  const { name, pid, route } = carrier
  return {
    name,
    async measure() {
      const before = pid === undefined ? 0 : cpuSecondsOf(pid)
      const result = await tunnels.run({ ...load.plan, rate: load.rate ?? 0, route, seconds })
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
  const count = tunnelsWithin(mostIdle, roomWithin(1_000_000, filesAllowed()).connections)
  const what = `${count.toLocaleString('en-US')} idle tunnels over ${protocolOf(route)}, ${titleOf(carrier)}`
  await (await tunnels.hold({ ...idle, tunnels: warmUpTunnels, route })).release()
  const heldMb = (): number => familyMb(memoryPids?.() ?? [])
  const beforeMb = heldMb()
  const held = await tunnels.hold({ ...idle, tunnels: count, route })
  await Bun.sleep(settleMs)
  const mb = heldMb()
  const kb = ((mb - beforeMb) * 1024) / count
  const alive = await held.release()
  if (alive.tunnels === count)
    return {
      what,
      figure: `${kb.toFixed(1)} KB each, ${mb.toFixed(0)} MB in all`,
      rounds: [kb, mb],
      ...(carrier.isOurs && { target: `≤ ${mostIdleKb} KB each`, met: kb <= mostIdleKb }),
    }
  if (carrier.isOurs) throw new Error(`${alive.tunnels} of ${count} idle tunnels stayed open: ${alive.firstError}`)
  return { what, figure: `${alive.tunnels} stayed open`, rounds: [alive.tunnels] }
}
