import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bulk, churn, type Load } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { countWork, findCounterLack, type ThreadCounters } from './counters.ts'
import { type GatewayShop, startGatewayShop, untilItWorks } from './gateway-shop.ts'

import { startLimit } from './limit.ts'
import { amountRow, type Row, ratioRow } from './report.ts'
import { familyOf } from './shop-process.ts'
import { median } from './statistics.ts'
import { buyTlsRoute } from './tls.ts'
import { writeCertificate } from './tls-certificate.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const setting = 'BENCH_BEFORE'
/** About half of what two reactors and the load reach on two cores, and the same for all: so it is repeatable. */
const lowRate = 700
/** Bun compiles hot functions again for a long time: warm-up ends when so many turns in a row are no longer cheaper. */
const steadyTurns = 3
const steadyShare = 0.99
const warmUpSeconds = 5
const warmUpTunnels = 10_000
const maxWarmUpTurns = 30
const reactorCount = 2

type Measured = { readonly load: Load; readonly unit: string; readonly before: number; readonly limit?: number }

/**
 * Targets are for cycles: libraries for cryptography differ in how many instructions they run in a cycle. BoringSSL, of
 * the earlier version, runs fewer and slower ones than OpenSSL 3.0.
 */
const loads: readonly Measured[] = [
  { load: churn, unit: 'a new TLS tunnel at full rate', before: 0.8, limit: 1.35 },
  { load: { ...churn, name: 'half load', rate: lowRate }, unit: `a new TLS tunnel at ${lowRate}/s`, before: 0.7 },
  { load: bulk, unit: 'a MB over TLS', before: 0.85, limit: 1.2 },
]

type Proxy = {
  readonly name: 'Turnpike' | 'before' | 'the limit'
  readonly route: Route
  readonly pids: () => readonly number[]
  readonly shop?: GatewayShop
}

/** Thousands of instructions and of cycles for a tunnel or a megabyte. */
type Cost = {
  readonly user: number
  readonly kernel: number
  readonly cycles: number
  /** Instructions. */
  readonly byThread: ReadonlyMap<string, number>
}

const totalOf = ({ user, kernel }: Cost): number => user + kernel

/** Instructions and cycles of new tunnels and of bulk over TLS: ours, of an earlier version and the limit, in turn. */
export const tlsInstructions: Bench = {
  name: 'tls-instructions',
  about: `instructions and cycles over TLS, beside the limit and an earlier version, whose checkout is ${setting}`,
  async run(context) {
    const lack = findCounterLack()
    if (lack !== undefined) {
      context.say(`  NOTHING IS MEASURED: ${lack}`)
      return [{ what: 'everything', figure: `not measured: ${lack}`, rounds: [] }]
    }
    const tunnels = await openTunnels(context.stage, true)
    if (!tunnels) throw new Error('there is no C compiler to build the load with (apt-get install gcc)')
    const proxies = await openProxies(context, tunnels)
    const warmUp = await Promise.all(proxies.map((proxy) => untilSteady(context, tunnels, proxy)))
    const rows: Row[] = warmUp.flat()
    for (const measured of loads) rows.push(...(await measureLoad(context, tunnels, proxies, measured)))
    return rows
  },
}

async function openProxies({ stage }: Context, tunnels: Tunnels): Promise<Proxy[]> {
  const certificate = await writeCertificate(stage.makeFolder())
  const open = async (name: Proxy['name'], program?: string[]): Promise<Proxy> => {
    const more = { TURNPIKE_GATEWAY_REACTORS: String(reactorCount) }
    const shop = await startGatewayShop(stage, certificate, program, more)
    const route = await buyTlsRoute(shop)
    await untilItWorks(tunnels, [route])
    return { name, route, shop, pids: () => familyOf(shop.pid) }
  }
  const checkout = process.env[setting]
  if (checkout !== undefined && !existsSync(checkout)) throw new Error(`${setting} names no folder`)
  const ours = await open('Turnpike')
  const earlier = checkout === undefined ? [] : [await open('before', ['node', join(checkout, 'bin/turnpike.mjs')])]
  const { route, pid = 0 } = await startLimit(stage, certificate)
  return [ours, ...earlier, { name: 'the limit', route, pids: () => [pid] }]
}

/** Runs tunnels until they cost no fewer instructions: a gateway runs for days. */
async function untilSteady(context: Context, tunnels: Tunnels, proxy: Proxy): Promise<Row[]> {
  if (!proxy.shop) return []
  const costs: number[] = []
  let opened = 0
  let cheapest = Number.POSITIVE_INFINITY
  let sinceCheaper = 0
  while (costs.length < maxWarmUpTurns && sinceCheaper < steadyTurns) {
    const turn = await measureTurn(tunnels, proxy)
    opened += turn.opened
    costs.push(turn.cost)
    sinceCheaper = turn.cost < cheapest * steadyShare ? 0 : sinceCheaper + 1
    cheapest = Math.min(cheapest, turn.cost)
    context.say(`  warm-up, ${proxy.name}: ${opened} tunnels, ${Math.round(turn.cost)} thousand instructions each`)
  }
  const what = `instructions for a new TLS tunnel, first and last turn of the warm-up, ${proxy.name}`
  const [first, last] = [costs[0] ?? Number.NaN, costs.at(-1) ?? Number.NaN]
  return [{ what, figure: `${Math.round(first)} and ${Math.round(last)} thousand, ${opened} tunnels`, rounds: costs }]
}

/** By tunnels, not by time: beside other programs the code is compiled later. */
async function measureTurn(tunnels: Tunnels, proxy: Proxy): Promise<{ opened: number; cost: number }> {
  let opened = 0
  let instructions = 0
  while (opened < warmUpTunnels) {
    const { amount, cost } = await measureOnce(tunnels, proxy, churn, warmUpSeconds)
    opened += amount
    instructions += totalOf(cost) * amount
  }
  return { opened, cost: instructions / opened }
}

async function measureLoad(
  { rounds, seconds, say }: Context,
  tunnels: Tunnels,
  proxies: readonly Proxy[],
  measured: Measured,
): Promise<Row[]> {
  const taken = new Map(proxies.map(({ name }): [string, Cost[]] => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < proxies.length; turn += 1) {
      const proxy = proxies[(round + turn) % proxies.length]
      if (!proxy) continue
      const { cost } = await measureOnce(tunnels, proxy, measured.load, seconds)
      taken.get(proxy.name)?.push(cost)
      say(`  round ${round + 1}/${rounds}  ${measured.unit}, ${proxy.name}: ${write(cost)}`)
    }
  }
  return toRows(taken, measured)
}

async function measureOnce(tunnels: Tunnels, proxy: Proxy, load: Load, seconds: number) {
  const { result, threads } = await countWork(proxy.pids(), () =>
    tunnels.run({ ...load.plan, rate: load.rate ?? 0, route: proxy.route, seconds }),
  )
  if (result.errors > 0) throw new Error(`${result.errors} tunnels through ${proxy.name} failed: ${result.firstError}`)
  const amount = load.amountOf(result)
  return { amount, cost: toCost(proxy, threads, amount * 1_000) }
}

function toCost({ shop }: Proxy, threads: readonly ThreadCounters[], per: number): Cost {
  const sum = (of: (thread: ThreadCounters) => number): number => threads.reduce((all, one) => all + of(one), 0) / per
  const byThread = new Map<string, number>()
  const gateways = shop?.gatewayPids() ?? []
  const isOfGateway = ({ id }: ThreadCounters): boolean => gateways.some((pid) => existsSync(`/proc/${pid}/task/${id}`))
  const workers = threads
    .filter((thread) => thread.name === 'Worker' && isOfGateway(thread))
    .toSorted((a, b) => b.user + b.kernel - a.user - a.kernel)
  for (const thread of threads) {
    const name = nameOf(thread, gateways, workers.indexOf(thread), isOfGateway(thread))
    byThread.set(name, (byThread.get(name) ?? 0) + (thread.user + thread.kernel) / per)
  }
  return {
    user: sum(({ user }) => user),
    kernel: sum(({ kernel }) => kernel),
    cycles: sum(({ cycles }) => cycles),
    byThread,
  }
}

/** Workers by their work: the reactors, then those that accept or, in an earlier version, do TLS. */
function nameOf(thread: ThreadCounters, gateways: readonly number[], place: number, isOfGateway: boolean): string {
  if (!isOfGateway) return 'rest'
  if (gateways.includes(thread.id)) return 'main'
  if (place < 0) return 'compiler and collector'
  return place < reactorCount ? 'two busiest workers' : 'other workers'
}

function write({ user, kernel, cycles, byThread }: Cost): string {
  const parts = [...byThread].map(([name, count]) => `${name} ${count.toFixed(0)}`).join(', ')
  return `${user.toFixed(0)} + ${kernel.toFixed(0)} thousand (${parts}), ${cycles.toFixed(0)} thousand cycles`
}

function toRows(taken: ReadonlyMap<string, readonly Cost[]>, { unit, before, limit }: Measured): Row[] {
  const rows = [...taken].flatMap(([name, costs]) => {
    const row = amountRow(`instructions for ${unit}, ${name}`, costs.map(totalOf), ' thousand')
    const middle = (of: (cost: Cost) => number): number => Math.round(median(costs.map(of)))
    const parts = `user ${middle(({ user }) => user)}, kernel ${middle(({ kernel }) => kernel)}`
    const cycles = costs.map((cost) => cost.cycles)
    return [
      { ...row, figure: `${row.figure}, ${parts}` },
      amountRow(`cycles for ${unit}, ${name}`, cycles, ' thousand'),
    ]
  })
  const ours = taken.get('Turnpike') ?? []
  const against = (name: Proxy['name'], max: number | undefined): Row[] => {
    const others = taken.get(name)
    if (!others) return []
    const ratiosOf = (of: (cost: Cost) => number): number[] =>
      ours.flatMap((cost, round) => {
        const other = others[round]
        return other ? [of(cost) / of(other)] : []
      })
    const target = max === undefined ? undefined : { max }
    return [
      ratioRow(`instructions for ${unit}, Turnpike against ${name}`, ratiosOf(totalOf)),
      ratioRow(
        `cycles for ${unit}, Turnpike against ${name}`,
        ratiosOf(({ cycles }) => cycles),
        target,
      ),
    ]
  }
  return [...rows, ...against('before', before), ...against('the limit', limit)]
}
