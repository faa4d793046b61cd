import { availableParallelism } from 'node:os'
import { roomWithin, tunnelsWithin } from '../src/dataplane/gateway/access/limits.ts'
import type { Context } from './context.ts'
import { alternate, type Peer, type Sample } from './measure.ts'
import { cpuSecondsOf, familyMb } from './process-cost.ts'
import { amountRow, type Row, rateRow, ratioRow, timeRow } from './report.ts'
import { filesAllowed } from './shop-process.ts'
import { median } from './statistics.ts'
import type { Route, TunnelResult, Tunnels } from './tunnels.ts'

/** One proxy under the same load: ours, another one, or no proxy. */
export type ProxyPeer = {
  readonly name: string
  /** Its method, for the table. */
  readonly does?: string
  readonly route: Route
  /** The root of all processes whose CPU time is counted. Undefined without a proxy. */
  readonly pid?: number
  /** Programs that work for it and are not its children. */
  readonly otherPids?: readonly number[]
  /** In place of the usual targets. */
  readonly targets?: Readonly<Partial<Record<'new tunnels' | 'bulk', { readonly min: number }>>>
  /** Our processor time for a tunnel or a byte against this proxy's. It is also measured at half of the full rate. */
  readonly costTargets?: CostTargets
  /** The processes whose memory is counted. */
  readonly memoryPids?: () => readonly number[]
  /** Before the first round: one turn, or for our gateway the time in which Bun compiles its code. */
  readonly warmUpSeconds?: number
  /** Our gateway must not fail a single tunnel. Failures of others are shown beside their figure. */
  readonly isOurs?: boolean
}

export type CostTargets = Readonly<Partial<Record<LoadName, { readonly max: number }>>>
type LoadName = 'new tunnels' | 'bulk' | 'half load'

export type Load = {
  readonly name: LoadName
  readonly plan: { readonly tunnels: number; readonly bytes: number }
  /** The counted amount of the load. */
  readonly amountOf: (result: TunnelResult) => number
  readonly unit: '' | ' MB'
  /** The limit of new tunnels per second. */
  readonly rate?: number
}

export const churn: Load = {
  name: 'new tunnels',
  plan: { tunnels: 64, bytes: 1_024 },
  amountOf: (result) => result.tunnels,
  unit: '',
}

export const bulk: Load = {
  name: 'bulk',
  plan: { tunnels: 8, bytes: 64 * 2 ** 20 },
  amountOf: (result) => result.bytes / 1e6,
  unit: ' MB',
}

const maxIdle = 10_000
const idle = { bytes: 1_024, seconds: 120 }
const maxIdleKb = 2
/** Quiet reactors of Turnpike collect the garbage of opening tunnels within 2 s. */
const settleMs = 3_000
/** Under load, Bun compiles the gateway's code for about this long, if the gateway has the processors to itself. */
export const compileSeconds = 30
/** In so many tunnels each reactor's thread has compiled its code. Beside other programs they take longer than 30 s. */
const compileTunnels = 30_000
const maxCompileTurns = 6
/** More than the loopback throughput of any tried machine. */
const maxGigabytesPerSecond = 6

/** Traffic that `compare` uses at most through so many routes of one customer, warm-up included. */
export const gigabytesFor = ({ seconds, rounds }: Context, routes = 1): number =>
  Math.ceil((Math.max(compileSeconds, seconds) + seconds * rounds) * routes * maxGigabytesPerSecond)

const warmUpTunnels = 64
/** Targets against every other proxy, and against our own unmetered tunnels. */
const peerTargets = { 'new tunnels': { min: 1.6 }, bulk: { min: 1.3 } } as const
const paidTarget = { min: 0.9 }
/** At half of the maximum rate, against no proxy. */
const calmTarget = { max: 3 }

/** The result of one proxy in one round. */
type RelayedSample = Sample & { readonly amount: number; readonly cpuSeconds: number; readonly errors: number }
type Taken = ReadonlyMap<string, readonly RelayedSample[]>

const protocols = {
  direct: '',
  connect: 'HTTP',
  socks: 'SOCKS5',
  tls: 'TLS',
  'tls-resumed': 'resumed TLS',
  vless: 'VLESS',
  trojan: 'Trojan',
  ws: 'WebSocket',
  xhttp: 'XHTTP',
} as const
const protocolOf = (route: Route): string => protocols[route.way]

const titleOf = ({ name, does }: ProxyPeer): string => (does === undefined ? name : `${name} (${does})`)

/**
 * One new tunnel per kilobyte, at full rate and at half rate, then large files, through each of the proxies in turn.
 * The first one is ours.
 */
export async function compare(context: Context, tunnels: Tunnels, proxies: readonly ProxyPeer[]): Promise<Row[]> {
  const [ours] = proxies
  if (!ours) return []
  const protocol = protocolOf(ours.route)
  const churned = await takeRounds(churn, context, tunnels, proxies)
  // A resumed session differs from a new one only in its handshake.
  if (ours.route.way === 'tls-resumed')
    return [...toFigures(churn, protocol, proxies, churned), ...toRatios(churn, protocol, proxies, churned)]
  const calmed = await measureCalm(context, tunnels, proxies, halfRateOf(proxies, churned))
  const bulked = await takeRounds(bulk, context, tunnels, proxies)
  return [
    ...toFigures(churn, protocol, proxies, churned),
    ...calmed,
    ...toFigures(bulk, protocol, proxies, bulked),
    ...toRatios(churn, protocol, proxies, churned),
    ...toRatios(bulk, protocol, proxies, bulked),
  ]
}

/** Large files through proxies of different protocols, and the ratio of two by bytes for a CPU second. */
export async function measureBulk(context: Context, tunnels: Tunnels, proxies: readonly ProxyPeer[]) {
  // All warm up side by side, and a file must be whole within 30 s.
  const load: Load = { ...bulk, plan: { tunnels: 8, bytes: 16 * 2 ** 20 } }
  const taken = await takeRounds(load, context, tunnels, proxies)
  return {
    rows: proxies.flatMap((proxy) =>
      toRows(bulk, `${bulk.name} over ${protocolOf(proxy.route)}`, proxy, taken.get(proxy.name) ?? []),
    ),
    ratioOf: (what: string, one: ProxyPeer, other: ProxyPeer, target?: { readonly min: number }): Row => {
      const ratios = ratiosBy(taken, one, other, ({ amount, cpuSeconds }) => amount / cpuSeconds)
      return ratioRow(`${what}, ${one.name} against ${other.name}`, ratios, target)
    },
  }
}

/** Half of our full rate, or of the slowest proxy's that is measured at half load too. */
function halfRateOf(proxies: readonly ProxyPeer[], churned: Taken): number {
  const compared = proxies.filter((proxy, index) => index === 0 || proxy.costTargets)
  return Math.min(...compared.map(({ name }) => median(ratesOf(churned.get(name))))) / 2
}

/** The first turn of each is not counted, because programs warm up: side by side, since it takes our gateway long. */
async function takeRounds(
  load: Load,
  context: Context,
  tunnels: Tunnels,
  proxies: readonly ProxyPeer[],
): Promise<Map<string, RelayedSample[]>> {
  const peers = proxies.map((proxy) => toPeer(load, context.seconds, tunnels, proxy))
  await Promise.all(
    proxies.map(async (proxy) => {
      const { warmUpSeconds = proxy.isOurs ? compileSeconds : context.seconds } = proxy
      // At half load the code is compiled already.
      const forSeconds = load.name === 'half load' ? context.seconds : warmUpSeconds
      const warmUp = async () => (await toPeer(load, forSeconds, tunnels, proxy).measure()).amount
      if (load === churn && forSeconds === compileSeconds) await untilCompiled(warmUp)
      else await warmUp()
    }),
  )
  return alternate(peers, context.rounds, context.say, load.unit)
}

/** Repeats a load, which resolves with its tunnels, until the reactors have compiled their code. */
export async function untilCompiled(run: () => Promise<number>, reactors = availableParallelism()): Promise<void> {
  let carried = 0
  for (let turns = 0; turns < maxCompileTurns && carried < compileTunnels * reactors; turns += 1) carried += await run()
}

/** A new tunnel below full load: its time, ours and without a proxy, and its processor time. */
async function measureCalm(
  context: Context,
  tunnels: Tunnels,
  proxies: readonly ProxyPeer[],
  rate: number,
): Promise<Row[]> {
  const [ours] = proxies
  const none = proxies.find(({ pid }) => pid === undefined)
  const compared = proxies.filter(({ costTargets }) => costTargets)
  if (!ours || (!none && compared.length === 0)) return []
  const calm: Load = { ...churn, name: 'half load', rate: Math.round(rate) }
  const taken = await takeRounds(calm, context, tunnels, [ours, ...compared, ...(none ? [none] : [])])
  const what = `new tunnels over ${protocolOf(ours.route)}, ${calm.rate?.toLocaleString('en-US')} a second`
  const costs = [ours, ...compared].map((proxy) => {
    const amounts = (taken.get(proxy.name) ?? []).map((sample) => (sample.cpuSeconds / sample.amount) * 1e6)
    return amountRow(`${what}, ${proxy.name}, processor time`, amounts, ' µs')
  })
  const rows = [...costs, ...compared.map((other) => toCostRow(calm, what, ours, other, taken))]
  return none ? [...toTimeRows(`${what}, p99`, ours, none, taken), ...rows] : rows
}

function toTimeRows(title: string, ours: ProxyPeer, none: ProxyPeer, taken: Taken): Row[] {
  const timesOf = ({ name }: ProxyPeer) => (taken.get(name) ?? []).map(({ p99Ms }) => p99Ms ?? Number.NaN)
  const ratios = ratiosBy(taken, ours, none, ({ p99Ms }) => p99Ms ?? Number.NaN)
  return [
    timeRow(`${title}, ${ours.name}`, timesOf(ours)),
    timeRow(`${title}, ${none.name}`, timesOf(none)),
    ratioRow(`${title}, ${ours.name} against ${none.name}`, ratios, calmTarget),
  ]
}

/** Our processor time for each tunnel or byte, against the other proxy's. */
function toCostRow(load: Load, title: string, ours: ProxyPeer, other: ProxyPeer, taken: Taken): Row {
  const ratios = ratiosBy(taken, ours, other, ({ amount, cpuSeconds }) => cpuSeconds / amount)
  return ratioRow(
    `${title}, processor time of ${ours.name} against ${other.name}`,
    ratios,
    other.costTargets?.[load.name],
  )
}

const toFigures = (load: Load, protocol: string, proxies: readonly ProxyPeer[], taken: Taken): Row[] =>
  proxies.flatMap((proxy) => toRows(load, `${load.name} over ${protocol}`, proxy, taken.get(proxy.name) ?? []))

/** Ours against every other, by rate and, if CPU time was counted, by amount per CPU second. */
function toRatios(load: Load, protocol: string, proxies: readonly ProxyPeer[], taken: Taken): Row[] {
  const [ours, ...others] = proxies
  if (!ours) return []
  const title = `${load.name} over ${protocol}`
  const byCost = ({ amount, cpuSeconds }: RelayedSample): number => amount / cpuSeconds
  return others.flatMap((other) => {
    const targets = other.targets ?? peerTargets
    const target = other.pid === undefined ? undefined : targets[load === bulk ? 'bulk' : 'new tunnels']
    if (other.isOurs) {
      const paid = `${title}, ${other.name} against not`
      const ratios = ratiosBy(taken, other, ours, ({ perSecond }) => perSecond)
      const costs = ratiosBy(taken, other, ours, byCost)
      return [ratioRow(paid, ratios, paidTarget), ratioRow(`${paid}, for a CPU second`, costs, paidTarget)]
    }
    if (other.costTargets) {
      const rates = ratiosBy(taken, ours, other, ({ perSecond }) => perSecond)
      const byRate = ratioRow(`${title}, ${ours.name} against ${other.name}`, rates, target)
      return [byRate, toCostRow(load, title, ours, other, taken)]
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
      load === bulk && other.targets === undefined ? target : undefined,
    )
    return [{ ...byRate, isHeadline: true }, cost]
  })
}

const ratesOf = (samples: readonly RelayedSample[] = []): number[] => samples.map(({ perSecond }) => perSecond)

/** The ratio of two proxies' figures, by round. */
function ratiosBy(taken: Taken, one: ProxyPeer, other: ProxyPeer, of: (sample: RelayedSample) => number): number[] {
  const others = taken.get(other.name) ?? []
  return (taken.get(one.name) ?? []).flatMap((sample, round) => {
    const reference = others[round]
    const ratio = reference === undefined ? Number.NaN : of(sample) / of(reference)
    return Number.isFinite(ratio) ? [ratio] : []
  })
}

function toPeer(load: Load, seconds: number, tunnels: Tunnels, proxy: ProxyPeer): Peer<RelayedSample> {
  const { name, pid, route, otherPids = [] } = proxy
  const cpuSeconds = (): number =>
    pid === undefined ? 0 : [pid, ...otherPids].map(cpuSecondsOf).reduce((a, b) => a + b)
  return {
    name,
    async measure() {
      const before = cpuSeconds()
      const result = await tunnels.run({ ...load.plan, rate: load.rate ?? 0, route, seconds })
      const usedSeconds = cpuSeconds() - before
      if (proxy.isOurs && result.errors > 0)
        throw new Error(`${result.errors} tunnels through ${name} failed, the first with: ${result.firstError}`)
      const amount = load.amountOf(result)
      const { p99Ms, errors } = result
      return { perSecond: amount / result.seconds, p99Ms, amount, cpuSeconds: usedSeconds, errors }
    },
  }
}

function toRows(load: Load, title: string, proxy: ProxyPeer, samples: readonly RelayedSample[]): Row[] {
  const what = `${title}, ${proxy.name}`
  const rates = samples.map(({ perSecond }) => perSecond)
  const errors = samples.reduce((sum, sample) => sum + sample.errors, 0)
  const named = `${title}, ${titleOf(proxy)}${errors === 0 ? '' : `, ${errors} FAILED`}`
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
 * Idle tunnels that have relayed a little, and the memory of the proxy's processes for each. Must run before any load:
 * memory of earlier tunnels would be reused and hide the cost of these.
 */
export async function measureIdle(tunnels: Tunnels, proxy: ProxyPeer, maxKb = maxIdleKb): Promise<Row> {
  const { route, memoryPids } = proxy
  const isTls = route.way === 'tls' || route.way === 'tls-resumed'
  const count = tunnelsWithin(maxIdle, roomWithin(1_000_000, filesAllowed(), isTls).connections)
  const what = `${count.toLocaleString('en-US')} idle tunnels over ${protocolOf(route)}, ${titleOf(proxy)}`
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
      ...(proxy.isOurs && { target: `≤ ${maxKb} KB each`, met: kb <= maxKb }),
    }
  if (proxy.isOurs) throw new Error(`${alive.tunnels} of ${count} idle tunnels stayed open: ${alive.firstError}`)
  return { what, figure: `${alive.tunnels} stayed open`, rounds: [alive.tunnels] }
}
