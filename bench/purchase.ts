import type { CountryCode } from '../src/core/country.ts'
import { priceDedicated } from '../src/domains/pricing/rules.ts'
import type { Bench, Context } from './context.ts'
import { alternate, loadHttp, type Peer, type Rounds, ratesOf, ratiosOf } from './measure.ts'
import { createPgbench, findPgbench } from './pgbench.ts'
import { purchaseFunction, purchaseInput, purchaseNumbers, purchaseScript } from './reference-purchase.ts'
import { type Row, rateRow, ratioRow, timeRow } from './report.ts'
import { type Engine, engineName, engines, openServices, runSql, withServices } from './stage.ts'
import { blockSize, buyRequests, million, openStocked, people, restock, type Stocked, tenThousand } from './stocked.ts'

const connections = 32
/** Purchases of ten empty the stock quickly, so they are measured for a shorter time. */
const secondsOfTens = 2
/** A fifth of the small stock per turn; as many are added before the next. */
const salesInTurn = blockSize
const reference = 'pgbench'

/** Purchases over HTTP beside pgbench with the same purchases without HTTP, and with a smaller stock. */
export const purchase: Bench = {
  name: 'purchase',
  about: `POST /dedicated/buy over HTTP, ${connections} connections, ${people} customers`,
  async run(context) {
    const large = new Map<Engine, Stocked>()
    for (const engine of engines) {
      large.set(engine, await openStocked(context.stage, engine, million, context.say))
    }
    const pgbench = await openPgbench(context, large.get('postgres'))
    const rows: Row[] = []
    for (const count of [1, 10]) {
      const peers = [...large].map(([engine, stocked]) => openPeer(context, engine, stocked, count))
      for (const peer of peers) await peer.measure()
      rows.push(...toRows(count, await alternate([...peers, ...pgbench(count)], context.rounds, context.say)))
    }
    for (const [engine, stocked] of large) rows.push(await compareStocks(context, engine, stocked))
    return rows
  },
}

const name = (engine: Engine): string => engineName[engine]

function openPeer(context: Context, engine: Engine, { shop, tokens }: Stocked, count: number): Peer {
  const requests = buyRequests(tokens, count)
  const seconds = count === 1 ? context.seconds : Math.min(context.seconds, secondsOfTens)
  return { name: name(engine), measure: () => loadHttp({ port: shop.port, connections, seconds, requests }) }
}

async function openPgbench(context: Context, stocked: Stocked | undefined): Promise<(count: number) => Peer[]> {
  const program = findPgbench()
  if (program === undefined || !stocked) return () => []
  const { address } = stocked.database
  await runSql(address, [purchaseNumbers, purchaseFunction])
  const catalogue = await withServices(stocked.database, (services) => services.pricing.current())
  const run = createPgbench(context.stage, program, address)
  return (count) => {
    const country = purchaseInput.country as CountryCode
    const price = priceDedicated(catalogue, { ...purchaseInput, country, count }).total
    const script = purchaseScript({ people, slots: Math.floor(million * 0.9), count, price })
    const seconds = count === 1 ? context.seconds : Math.min(context.seconds, secondsOfTens)
    return [{ name: reference, measure: run(script, connections, seconds) }]
  }
}

function toRows(count: number, rounds: Rounds): Row[] {
  const of = count === 1 ? 'one proxy' : `${count} proxies`
  const rates = [...rounds.keys()].map((peer) => rateRow(`${peer}, ${of}`, ratesOf(rounds, peer)))
  const p99 = engines.map((engine) => {
    const samples = rounds.get(name(engine)) ?? []
    return timeRow(
      `${name(engine)}, ${of}, p99`,
      samples.map((sample) => sample.p99Ms ?? Number.NaN),
    )
  })
  const ratio = (engine: Engine, min: number) =>
    ratioRow(
      `${name(engine)} against pgbench, ${of}`,
      ratiosOf(rounds, name(engine), reference),
      count === 1 ? { min } : undefined,
    )
  return [...rates, ...p99, ratio('sqlite', 2), ratio('postgres', 0.6)]
}

/** The same number of purchases from ten thousand addresses and from a million, in turns. */
async function compareStocks(context: Context, engine: Engine, large: Stocked): Promise<Row> {
  const small = await openStocked(context.stage, engine, tenThousand, context.say)
  const services = await openServices(small.database)
  context.stage.atEnd(() => services.db.close())
  const sell = ({ shop, tokens }: Stocked) =>
    loadHttp({ port: shop.port, connections, count: salesInTurn, requests: buyRequests(tokens, 1) })
  let added = tenThousand
  const sellAndRestock = async () => {
    const sample = await sell(small)
    await restock(services, added, salesInTurn)
    added += salesInTurn
    return sample
  }
  const few = `${name(engine)}, 10,000 in stock`
  const many = `${name(engine)}, 1,000,000 in stock`
  for (let turn = 0; turn < 3; turn += 1) await sellAndRestock()
  const rounds = await alternate(
    [
      { name: few, measure: sellAndRestock },
      { name: many, measure: () => sell(large) },
    ],
    context.rounds * 2,
    context.say,
  )
  return ratioRow(`${name(engine)}, time at 1,000,000 addresses against 10,000`, ratiosOf(rounds, few, many), {
    max: 1.3,
  })
}
