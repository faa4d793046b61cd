import type { Bench, Context } from './context.ts'
import { alternate, loadHttp, type Peer, type Sample, toRequest } from './measure.ts'
import { rateRow, timeRow } from './report.ts'
import { type Engine, engineName, engines } from './stage.ts'

const token = 'bench-token-of-the-sandbox'
const connections = 32
const warmUpSeconds = 1

/** A list of 1,000 proxies for one customer, and purchases of traffic into one account. */
export const premium: Bench = {
  name: 'premium',
  about:
    'POST /premium/proxies/generate of 1,000 by one client, and /premium/traffic/buy by one customer 32 times at once',
  async run(context) {
    const peers: Peer[] = []
    for (const engine of engines) peers.push(...(await openPeers(context, engine)))
    const rounds = await alternate(peers, context.rounds, context.say)
    return engines.flatMap((engine) => {
      const lists = rounds.get(listsOf(engine)) ?? []
      const sales = rounds.get(salesOf(engine)) ?? []
      return [
        timeRow(`${listsOf(engine)}, p50`, timesOf(lists, 'p50Ms'), 50),
        timeRow(`${listsOf(engine)}, p99`, timesOf(lists, 'p99Ms'), 50),
        rateRow(
          salesOf(engine),
          sales.map((sample) => sample.perSecond),
        ),
      ]
    })
  },
}

const listsOf = (engine: Engine): string => `${engineName[engine]}, generate 1,000`
const salesOf = (engine: Engine): string => `${engineName[engine]}, buy traffic`

const timesOf = (samples: readonly Sample[], name: 'p50Ms' | 'p99Ms'): number[] =>
  samples.map((sample) => sample[name] ?? Number.NaN)

async function openPeers({ stage, seconds }: Context, engine: Engine): Promise<Peer[]> {
  const database = await stage.makeDatabase(engine)
  const { port } = await stage.startShop(database, { TURNPIKE_SANDBOX_TOKEN: token })
  const list = toRequest({
    method: 'POST',
    path: '/premium/proxies/generate',
    token,
    body: { pool_type: 'residential', countries: ['US'], quantity: 1000 },
  })
  // The cheapest product, so that the sandbox's money lasts: six roubles for 0.1 GB.
  const buy = toRequest({
    method: 'POST',
    path: '/premium/traffic/buy',
    token,
    body: { pool_type: 'datacenter', gb: 0.1 },
  })
  await loadHttp({ port, connections: 1, seconds: warmUpSeconds, requests: [list] })
  return [
    { name: listsOf(engine), measure: () => loadHttp({ port, connections: 1, seconds, requests: [list] }) },
    { name: salesOf(engine), measure: () => loadHttp({ port, connections, count: 1000, requests: [buy] }) },
  ]
}
