import { type Carrier, compare, measureIdle } from './carriers.ts'
import type { Bench, Context } from './context.ts'
import { measureFirstUse } from './first-use.ts'
import { startForwardProxies } from './forward-proxies.ts'
import { type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { proveTheLoadChecks } from './lying-proxy.ts'
import type { Row } from './report.ts'
import { familyOf } from './shop-process.ts'
import { directRoute, openTunnels, type Tunnels } from './tunnels.ts'

/** More than loopback carries on any machine that this was tried on. */
const mostGigabytesPerSecond = 6

/**
 * Tunnels through the gateway beside other forward proxies. Each asks for user and password, and none has a name to
 * resolve.
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
    const carriers = [...(await openOurs(context, shop, tunnels)), ...(await openOthers(context))]
    const rows: Row[] = [await measureOwnIdle(context, tunnels)]
    const others = firstOfEachProcess(carriers).filter(({ isOurs }) => !isOurs)
    for (const carrier of others) rows.push(await measureIdle(tunnels, carrier))
    for (const way of ['connect', 'socks']) {
      const taking = carriers.filter(({ route }) => route.way === way)
      rows.push(...(await compare(context, tunnels, [...taking, { name: 'no proxy', route: directRoute }])))
    }
    return [...rows, ...(await measureFirstUse(shop, tunnels.originPort))]
  },
}

async function openOurs({ seconds, rounds }: Context, shop: GatewayShop, tunnels: Tunnels): Promise<Carrier[]> {
  const gigabytes = Math.ceil(seconds * (rounds + 1) * mostGigabytesPerSecond)
  const common = { pid: shop.pid, memoryPids: shop.gatewayPids, isOurs: true }
  const carriers = [
    { ...common, name: 'Turnpike', route: routeOf(await shop.buyProxy(), 'connect') },
    { ...common, name: 'Turnpike, paid by the byte', route: await shop.buyMeteredRoute(gigabytes) },
    { ...common, name: 'Turnpike', route: await shop.buySocksRoute() },
  ]
  const routes = carriers.map(({ route }) => route)
  await untilItWorks(tunnels, routes)
  return carriers
}

/** In a gateway that has carried nothing yet: what others have left in its memory would hide what these take. */
async function measureOwnIdle({ stage }: Context, tunnels: Tunnels): Promise<Row> {
  const shop = await startGatewayShop(stage)
  const route = routeOf(await shop.buyProxy(), 'connect')
  return measureIdle(tunnels, { name: 'Turnpike', route, pid: shop.pid, memoryPids: shop.gatewayPids, isOurs: true })
}

const firstOfEachProcess = (carriers: readonly Carrier[]): Carrier[] =>
  carriers.filter(({ pid }, index) => carriers.findIndex((other) => other.pid === pid) === index)

const openOthers = async ({ stage, say }: Context): Promise<Carrier[]> =>
  (await startForwardProxies(stage, say)).map((peer) => ({ ...peer, memoryPids: () => familyOf(peer.pid) }))
