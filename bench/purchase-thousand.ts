import type { Bench, Context } from './context.ts'
import { loadHttp } from './measure.ts'
import { type Row, ratioRow, timeRow } from './report.ts'
import { type Engine, engineName, engines } from './stage.ts'
import { median } from './statistics.ts'
import { buyRequests, million, openStocked, type Stocked } from './stocked.ts'

const size = 1_000
const purchases = 10
const soldBetween = 100_000

/** The largest purchase, from a full stock and again after many sales. */
export const purchaseThousand: Bench = {
  name: 'purchase-1000',
  about: `one purchase of ${size} proxies from a stock of a million, one after another`,
  async run(context) {
    const rows: Row[] = []
    for (const engine of engines) rows.push(...(await measureEngine(context, engine)))
    return rows
  },
}

async function measureEngine({ stage, say }: Context, engine: Engine): Promise<Row[]> {
  const stocked = await openStocked(stage, engine, million, say)
  const before = await buyTimes(stocked, purchases)
  await buyTimes(stocked, soldBetween / size)
  const after = await buyTimes(stocked, purchases)
  // A restarted shop does not know where the last sale ended, and must search.
  await stocked.shop.stop()
  const restarted = { ...stocked, shop: await stage.startShop(stocked.database, { TURNPIKE_SANDBOX: 'off' }) }
  const atRestart = await buyTimes(restarted, 1)
  say(`  ${engineName[engine]}: ${median(before).toFixed(1)} ms, later ${median(after).toFixed(1)} ms`)
  return [
    timeRow(`${engineName[engine]}, ${size} proxies`, before, 100),
    timeRow(`${engineName[engine]}, the same after ${soldBetween.toLocaleString('en-US')} were sold`, after, 100),
    timeRow(`${engineName[engine]}, the first of a shop started again`, atRestart),
    ratioRow(`${engineName[engine]}, later against first`, [median(after) / median(before)], { max: 1.3 }),
  ]
}

/** The time of each of so many purchases, one after another. */
async function buyTimes({ shop, tokens }: Stocked, count: number): Promise<number[]> {
  const times: number[] = []
  const requests = buyRequests(tokens, size)
  for (let index = 0; index < count; index += 1) {
    const request = requests[index % requests.length]
    if (request === undefined) continue
    times.push((await loadHttp({ port: shop.port, connections: 1, count: 1, requests: [request] })).p50Ms)
  }
  return times
}
