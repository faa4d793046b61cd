import { join } from 'node:path'
import { type CostTargets, compare, compileSeconds, type ProxyPeer } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { type CertificateFiles, type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { measureHalfOpen } from './half-open.ts'
import { startLimit } from './limit.ts'
import type { Row } from './report.ts'
import { buyTlsRoute } from './tls.ts'
import { writeCertificate } from './tls-certificate.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const setting = 'BENCH_BEFORE'
/** Rounds differ by up to a tenth where load and gateways share two cores. */
const targets = { 'new tunnels': { min: 0.95 }, bulk: { min: 0.95 } } as const
/** Our processor time against the earlier one's. TLS was in four threads then. */
const plainCosts: CostTargets = { 'new tunnels': { max: 1 }, bulk: { max: 1 } }
const tlsCosts: CostTargets = { 'new tunnels': { max: 0.8 }, 'half load': { max: 0.7 }, bulk: { max: 0.85 } }

type Way = {
  readonly name: 'HTTP' | 'SOCKS5' | 'TLS'
  readonly buy: (from: GatewayShop) => Promise<Route>
  readonly costs: CostTargets
}

const plainWays: readonly Way[] = [
  { name: 'HTTP', buy: async (from) => routeOf(await from.buyProxy(), 'connect'), costs: plainCosts },
  { name: 'SOCKS5', buy: (from) => from.buySocksRoute(), costs: plainCosts },
]

/** This gateway, that of an earlier version, and the limit, in turn. */
const makeBench = (name: string, tunnelsAre: string, ways: readonly Way[]): Bench => ({
  name,
  about: `${tunnelsAre}, beside an earlier version: ${setting} is its checkout`,
  async run(context) {
    const checkout = process.env[setting]
    if (checkout === undefined) {
      context.say(`  NOTHING IS MEASURED: ${setting} names no checkout of an earlier version`)
      return []
    }
    const tunnels = await openTunnels(context.stage, true)
    if (!tunnels) throw new Error('there is no C compiler to build the load with (apt-get install gcc)')
    const certificate = await writeCertificate(context.stage.makeFolder())
    const shop = await startGatewayShop(context.stage, certificate)
    const old = await startGatewayShop(context.stage, certificate, ['node', join(checkout, 'bin/turnpike.mjs')])
    const rows: Row[] = []
    for (const way of ways) rows.push(...(await compareWay(context, tunnels, { shop, old, certificate }, way)))
    return rows
  },
})

export const before = makeBench('before', 'plain tunnels', plainWays)
export const beforeTls = makeBench('before-tls', 'tunnels over TLS', [
  { name: 'TLS', buy: buyTlsRoute, costs: tlsCosts },
])

type Versions = { readonly shop: GatewayShop; readonly old: GatewayShop; readonly certificate: CertificateFiles }

async function compareWay(
  context: Context,
  tunnels: Tunnels,
  { shop, old, certificate }: Versions,
  { name, buy, costs }: Way,
): Promise<Row[]> {
  const ours = { name: 'Turnpike', route: await buy(shop), pid: shop.pid, isOurs: true }
  const earlier: ProxyPeer = {
    name: 'before',
    route: await buy(old),
    pid: old.pid,
    targets,
    costTargets: costs,
    warmUpSeconds: compileSeconds,
  }
  const peers: ProxyPeer[] = [ours, earlier]
  await untilItWorks(
    tunnels,
    peers.map(({ route }) => route),
  )
  if (name === 'HTTP') peers.push(await startLimit(context.stage))
  if (name === 'TLS') peers.push(await startLimit(context.stage, certificate))
  const rows = await compare(context, tunnels, peers)
  return name === 'TLS' ? [...rows, ...(await measureHalfOpen(context, tunnels, [ours, earlier]))] : rows
}
