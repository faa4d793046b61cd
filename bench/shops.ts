import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './context.ts'
import { alternate, loadHttp, type Peer, ratesOf, type Sample } from './measure.ts'
import { cpuSecondsOf } from './process-cost.ts'
import { amountRow, type Row, rateRow, timeRow } from './report.ts'
import type { ShopProcess } from './shop-process.ts'
import { buyRequests, openStocked, people } from './stocked.ts'

const connections = 48
const addresses = 262_144
const maxShops = 3

/** The CPU time of one round, in microseconds per sale. */
type Taken = Sample & { readonly shopUs: number }

/** Purchases through one, two and three shops on one PostgreSQL, with the same number of connections. */
export const shops: Bench = {
  name: 'shops',
  about: `POST /dedicated/buy through 1 to ${maxShops} shops on one PostgreSQL, ${connections} connections, ${people} customers`,
  async run({ stage, seconds, rounds, say }) {
    const stocked = await openStocked(stage, 'postgres', addresses, say)
    const all = [stocked.shop]
    while (all.length < maxShops) {
      const folder = join(stocked.database.folder, `shop-${all.length + 1}`)
      mkdirSync(folder)
      all.push(await stage.startShop({ ...stocked.database, folder }, { TURNPIKE_SANDBOX: 'off' }))
    }
    const requests = buyRequests(stocked.tokens, 1)
    const peers = all.map((_, at) => toPeer(all.slice(0, at + 1), requests, seconds))
    for (const peer of peers) await peer.measure()
    const taken = await alternate(peers, rounds, say)
    return peers.flatMap(({ name }): Row[] => {
      const samples = taken.get(name) ?? []
      const p99 = samples.map((each) => each.p99Ms ?? Number.NaN)
      const costs = samples.map((each) => each.shopUs)
      return [
        rateRow(name, ratesOf(taken, name)),
        timeRow(`${name}, p99`, p99),
        amountRow(`${name}, processor time of the shops for a sale`, costs, ' µs'),
      ]
    })
  },
}

/** The connections are distributed evenly, as a load balancer does. */
function toPeer(some: readonly ShopProcess[], requests: readonly string[], seconds: number): Peer<Taken> {
  const name = some.length === 1 ? '1 shop' : `${some.length} shops`
  const spent = (): number => some.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0)
  const load = ({ port }: ShopProcess) => loadHttp({ port, connections: connections / some.length, seconds, requests })
  async function measure(): Promise<Taken> {
    const before = spent()
    const results = await Promise.all(some.map(load))
    const perSecond = results.reduce((sum, each) => sum + each.perSecond, 0)
    const answers = results.reduce((sum, each) => sum + each.answers, 0)
    const p99Ms = Math.max(...results.map((each) => each.p99Ms))
    return { perSecond, p99Ms, shopUs: ((spent() - before) * 1e6) / answers }
  }
  return { name, measure }
}
