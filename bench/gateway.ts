import { compare, gigabytesFor, measureIdle, type ProxyPeer } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { measureFirstUse } from './first-use.ts'
import { startForwardProxies } from './forward-proxies.ts'
import { type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { startLimit } from './limit.ts'
import { proveTheLoadChecks } from './lying-proxy.ts'
import type { Row } from './report.ts'
import { familyOf } from './shop-process.ts'
import { directRoute, openTunnels, type Tunnels } from './tunnels.ts'

/**
 * Tunnels through the gateway beside other forward proxies. Each asks for user and password, and no name is resolved.
 */
export const gateway: Bench = {
  name: 'gateway',
  about: 'new, bulk and idle tunnels through the gateway, beside other forward proxies',
  async run(context) {
    const tunnels = await openTunnels(context.stage)
    if (!tunnels) {
      context.say('  NOTHING IS MEASURED: there is no C compiler to build the load with (apt-get install gcc)')
      return [{ what: 'everything', figure: 'not measured: no C compiler', rounds: [] }]
    }
    await proveTheLoadChecks(tunnels)
    const shop = await startGatewayShop(context.stage)
    const proxies = [...(await openOurs(context, shop, tunnels)), ...(await openOthers(context))]
    proxies.push(await startLimit(context.stage))
    const rows: Row[] = [await measureOwnIdle(context, tunnels)]
    const others = firstOfEachProcess(proxies).filter(({ isOurs }) => !isOurs)
    for (const proxy of others) rows.push(await measureIdle(tunnels, proxy))
    for (const way of ['connect', 'socks']) {
      const taking = proxies.filter(({ route }) => route.way === way)
      rows.push(...(await compare(context, tunnels, [...taking, { name: 'no proxy', route: directRoute }])))
    }
    return [...rows, ...(await measureFirstUse(shop, tunnels.originPort))]
  },
}

async function openOurs(context: Context, shop: GatewayShop, tunnels: Tunnels): Promise<ProxyPeer[]> {
  const common = { pid: shop.pid, memoryPids: shop.gatewayPids, isOurs: true }
  const proxies = [
    { ...common, name: 'Turnpike', route: routeOf(await shop.buyProxy(), 'connect') },
    { ...common, name: 'Turnpike, paid by the byte', route: await shop.buyMeteredRoute(gigabytesFor(context)) },
    { ...common, name: 'Turnpike', route: await shop.buySocksRoute() },
  ]
  const routes = proxies.map(({ route }) => route)
  await untilItWorks(tunnels, routes)
  return proxies
}

/** In a new gateway: memory of earlier tunnels would hide the cost of these. */
async function measureOwnIdle({ stage }: Context, tunnels: Tunnels): Promise<Row> {
  const shop = await startGatewayShop(stage)
  const route = routeOf(await shop.buyProxy(), 'connect')
  return measureIdle(tunnels, { name: 'Turnpike', route, pid: shop.pid, memoryPids: shop.gatewayPids, isOurs: true })
}

const firstOfEachProcess = (proxies: readonly ProxyPeer[]): ProxyPeer[] =>
  proxies.filter(({ pid }, index) => proxies.findIndex((other) => other.pid === pid) === index)

const openOthers = async ({ stage, say }: Context): Promise<ProxyPeer[]> =>
  (await startForwardProxies(stage, say)).map((peer) => ({ ...peer, memoryPids: () => familyOf(peer.pid) }))
