import { join } from 'node:path'
import { compare, compileSeconds, type ProxyPeer } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import type { Row } from './report.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const setting = 'BENCH_BEFORE'
/** Rounds differ by up to a tenth where load and gateways share two cores. */
const targets = { 'new tunnels': { min: 0.95 }, bulk: { min: 0.95 } } as const

/** Plain tunnels through this gateway and that of an earlier version, in turn. */
export const before: Bench = {
  name: 'before',
  about: `plain tunnels, beside an earlier version: ${setting} is its checkout`,
  async run(context) {
    const checkout = process.env[setting]
    if (checkout === undefined) {
      context.say(`  NOTHING IS MEASURED: ${setting} names no checkout of an earlier version`)
      return []
    }
    const tunnels = await openTunnels(context.stage)
    if (!tunnels) throw new Error('there is no C compiler to build the load with (apt-get install gcc)')
    const shop = await startGatewayShop(context.stage)
    const old = await startGatewayShop(context.stage, undefined, ['node', join(checkout, 'bin/turnpike.mjs')])
    const buyers = [
      async (from: GatewayShop) => routeOf(await from.buyProxy(), 'connect'),
      (from: GatewayShop) => from.buySocksRoute(),
    ]
    const rows: Row[] = []
    for (const buy of buyers) rows.push(...(await compareRoutes(context, tunnels, shop, old, buy)))
    return rows
  },
}

async function compareRoutes(
  context: Context,
  tunnels: Tunnels,
  shop: GatewayShop,
  old: GatewayShop,
  buy: (from: GatewayShop) => Promise<Route>,
): Promise<Row[]> {
  const ours = { name: 'Turnpike', route: await buy(shop), pid: shop.pid, isOurs: true }
  const earlier = { name: 'before', route: await buy(old), pid: old.pid, targets, warmUpSeconds: compileSeconds }
  const peers: ProxyPeer[] = [ours, earlier]
  await untilItWorks(
    tunnels,
    peers.map(({ route }) => route),
  )
  return compare(context, tunnels, peers)
}
