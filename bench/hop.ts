import { join } from 'node:path'
import { compare, gigabytesFor } from './compare-proxies.ts'
import type { Bench } from './context.ts'
import { findFreePort } from './free-port.ts'
import { startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { spawnTurnpike, stopTurnpike } from './shop-process.ts'
import { openTunnels } from './tunnels.ts'

/** The cost of an exit at another gateway: one login, with an exit here and with one there. */
export const hop: Bench = {
  name: 'hop',
  about: 'new and bulk tunnels through an exit of the gateway itself, and of another gateway over a hop',
  async run(context) {
    const tunnels = await openTunnels(context.stage)
    if (!tunnels) return [{ what: 'everything', figure: 'not measured: no C compiler', rounds: [] }]
    const shop = await startGatewayShop(context.stage)
    const port = await findFreePort()

    async function tool(...args: string[]): Promise<Record<string, string>> {
      const child = spawnTurnpike([...args, '--json'], { TURNPIKE_DATA: shop.folder })
      const printed = await new Response(child.stdout).text()
      if ((await child.exited) !== 0) throw new Error(`turnpike ${args.join(' ')} failed: ${printed}`)
      return JSON.parse(printed) as Record<string, string>
    }

    const there = ['--endpoint-host', '127.0.0.1', '--endpoint-port', String(port)]
    const { key = '' } = await tool('node', 'add', 'there', ...there)
    const other = spawnTurnpike(['gateway'], {
      TURNPIKE_DATA: join(context.stage.makeFolder(), 'there'),
      TURNPIKE_SHOP_URL: `http://127.0.0.1:${shop.port}`,
      TURNPIKE_NODE_KEY: key,
      TURNPIKE_GATEWAY_PORT: String(port),
    })
    context.stage.atEnd(() => stopTurnpike(other))
    const at = ['--country', 'NL', '--city']
    await tool('exit', 'add', 'datacenter', '--local', '127.210.0.1', '--node', 'local-gateway', ...at, 'Here')
    await tool('exit', 'add', 'datacenter', '--local', '127.210.0.2', '--node', 'there', ...at, 'There')

    const route = await shop.buyMeteredRoute(gigabytesFor(context, 2))
    const login = route.user.split('-', 1)[0] ?? ''
    const to = (city: string) => ({ ...route, user: `${login}-pool-datacenter-city-${city}` })
    await untilItWorks(tunnels, [to('here'), to('there')])
    return compare(context, tunnels, [
      { name: 'over a hop', route: to('there'), pid: shop.pid, isOurs: true },
      { name: 'its own exit', route: to('here') },
    ])
  },
}
