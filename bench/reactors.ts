import { churn, compileSeconds, untilCompiled } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { type CertificateFiles, type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { threadSecondsOf } from './process-cost.ts'
import { amountRow, type Row, ratioRow } from './report.ts'
import { buyTlsRoute } from './tls.ts'
import { writeCertificate } from './tls-certificate.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const counts = [1, 2, 4]

/** Processor seconds of a gateway's threads while it opened so many tunnels. */
type Division = {
  readonly reactors: readonly number[]
  readonly main: number
  readonly accepting: number
  /** Bun's compiler and collector. */
  readonly others: number
  readonly tunnels: number
}

/** How new tunnels divide over the threads of gateways with 1, 2 and 4 reactors, in turn. */
export const reactors: Bench = {
  name: 'reactors',
  about: 'processor time by thread of gateways with 1, 2 and 4 reactors',
  async run(context) {
    const tunnels = await openTunnels(context.stage, true)
    if (!tunnels) throw new Error('there is no C compiler to build the load with (apt-get install gcc)')
    const certificate = await writeCertificate(context.stage.makeFolder())
    const plain = async (shop: GatewayShop) => routeOf(await shop.buyProxy(), 'connect')
    const rows: Row[] = []
    for (const [name, buy] of [['HTTP', plain] as const, ['TLS', buyTlsRoute] as const])
      rows.push(...(await measureWay(context, tunnels, certificate, name, buy)))
    return rows
  },
}

async function measureWay(
  { stage, seconds, rounds, say }: Context,
  tunnels: Tunnels,
  certificate: CertificateFiles,
  name: string,
  buy: (shop: GatewayShop) => Promise<Route>,
): Promise<Row[]> {
  const gateways = await Promise.all(
    counts.map(async (count) => {
      const more = { TURNPIKE_GATEWAY_REACTORS: String(count) }
      const shop = await startGatewayShop(stage, certificate, undefined, more)
      return { count, shop, route: await buy(shop), divisions: [] as Division[] }
    }),
  )
  await untilItWorks(
    tunnels,
    gateways.map(({ route }) => route),
  )
  const run = (route: Route, forSeconds: number) => tunnels.run({ ...churn.plan, route, seconds: forSeconds })
  await Promise.all(
    gateways.map(({ count, route }) => untilCompiled(async () => (await run(route, compileSeconds)).tunnels, count)),
  )
  for (let round = 0; round < rounds; round += 1) {
    for (const { count, shop, route, divisions } of gateways) {
      const before = readThreads(shop)
      const result = await run(route, seconds)
      if (result.errors > 0) throw new Error(`${result.errors} tunnels failed, the first with: ${result.firstError}`)
      divisions.push(divide(shop, count, before, result.tunnels))
      say(`  round ${round + 1}/${rounds}  ${name}, ${count} reactors: ${Math.round(result.tunnels / seconds)}/s`)
    }
  }
  const costs = gateways.map(({ divisions }) => divisions.map(costOf))
  return gateways.flatMap(({ count, divisions }, index) => {
    const what = `new tunnels over ${name}, ${count} ${count === 1 ? 'reactor' : 'reactors'}`
    const against = (costs[index] ?? []).map((cost, round) => cost / (costs[0]?.[round] ?? Number.NaN))
    const division = { what: `${what}, by thread`, figure: writeDivision(divisions), rounds: [] }
    const cost = amountRow(`${what}, processor time`, costs[index] ?? [], ' µs')
    return index === 0 ? [division, cost] : [division, cost, ratioRow(`${what}, processor time against one`, against)]
  })
}

type Thread = { readonly id: number; readonly name: string; readonly seconds: number }

const readThreads = (shop: GatewayShop): Thread[] => shop.gatewayPids().flatMap(threadSecondsOf)

/** Of the threads of TypeScript, the accepting one of the TLS port works least. */
function divide(shop: GatewayShop, count: number, before: readonly Thread[], tunnels: number): Division {
  const used = readThreads(shop).map((thread) => {
    const earlier = before.find(({ id }) => id === thread.id)?.seconds ?? 0
    return { ...thread, seconds: thread.seconds - earlier }
  })
  const pids = shop.gatewayPids()
  const workers = used.filter(({ name }) => name === 'Worker').toSorted((a, b) => b.seconds - a.seconds)
  const sum = (threads: readonly Thread[]): number => threads.reduce((all, { seconds }) => all + seconds, 0)
  const main = sum(used.filter(({ id }) => pids.includes(id)))
  return {
    reactors: workers.slice(0, count).map(({ seconds }) => seconds),
    accepting: sum(workers.slice(count)),
    main,
    others: sum(used) - sum(workers) - main,
    tunnels,
  }
}

const totalOf = ({ reactors: own, main, accepting, others }: Division): number =>
  own.reduce((all, seconds) => all + seconds, main + accepting + others)

const costOf = (division: Division): number => (totalOf(division) / division.tunnels) * 1e6

/** The mean shares of all rounds. */
function writeDivision(divisions: readonly Division[]): string {
  const all = divisions.reduce((sum, division) => sum + totalOf(division), 0)
  const share = (of: (division: Division) => number): string =>
    `${Math.round((100 * divisions.reduce((sum, division) => sum + of(division), 0)) / all)} %`
  const own = (divisions[0]?.reactors ?? []).map((_, place) => share((division) => division.reactors[place] ?? 0))
  const rest = `main ${share(({ main }) => main)}, accepting ${share(({ accepting }) => accepting)}`
  return `reactors ${own.join(' + ')}, ${rest}, compiler and collector ${share(({ others }) => others)}`
}
