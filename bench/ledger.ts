import type { Services } from '../src/app/shop/services.ts'
import { kopecks } from '../src/core/money.ts'
import type { Receipt } from '../src/domains/orders/index.ts'
import type { Bench, Context } from './context.ts'
import { alternate, callAtOnce, type Peer, ratesOf, ratiosOf } from './measure.ts'
import { addPeople, type Person } from './people.ts'
import { createPgbench, findPgbench } from './pgbench.ts'
import { chargeByFunction, chargeByStatements, chargeFunction, thing } from './reference-charge.ts'
import { rateRow, ratioRow } from './report.ts'
import { type Engine, engineName, engines, openServices, runSql } from './stage.ts'

const people = 1_000
const callers = 32
const warmUpSeconds = 2

const byFunction = 'pgbench, one function'
const byStatements = 'pgbench, statement by statement'

/** Charges through the ledger, without HTTP, beside pgbench with the same work on the same tables. */
export const ledger: Bench = {
  name: 'ledger',
  about: `charges through the ledger, ${callers} callers at once over ${people} customers`,
  async run(context) {
    const opened = await Promise.all(engines.map((engine) => openCharges(context, engine)))
    const [, postgres] = opened
    const peers: Peer[] = opened.map(({ peer }) => peer)
    if (postgres) peers.push(...(await openPgbench(context, postgres.address)))
    const rounds = await alternate(peers, context.rounds, context.say)
    return [
      ...peers.map((peer) => rateRow(peer.name, ratesOf(rounds, peer.name))),
      ratioRow('SQLite against pgbench, one function', ratiosOf(rounds, engineName.sqlite, byFunction), { min: 2.5 }),
      ratioRow('PostgreSQL against pgbench, one function', ratiosOf(rounds, engineName.postgres, byFunction), {
        min: 0.6,
      }),
      ratioRow(
        'PostgreSQL against pgbench, statement by statement',
        ratiosOf(rounds, engineName.postgres, byStatements),
      ),
    ]
  },
}

async function openCharges(context: Context, engine: Engine): Promise<{ peer: Peer; address: string }> {
  const { stage, seconds } = context
  const database = await stage.makeDatabase(engine)
  const services = await openServices(database)
  stage.atEnd(() => services.db.close())
  context.say(`${engineName[engine]}: ${people} customers`)
  const payers = await addPeople(services, people)
  const measure = (forSeconds: number) =>
    callAtOnce(callers, forSeconds, () => charge(services, payers[Math.floor(Math.random() * people)]))
  await measure(warmUpSeconds)
  return { peer: { name: engineName[engine], measure: () => measure(seconds) }, address: database.address }
}

/** A minimal purchase, through the same code as every product. */
export function charge(services: Services, by: Person | undefined): Promise<unknown> {
  if (!by) throw new Error('there is no such customer')
  const toBody = (receipt: Receipt) => JSON.stringify({ ...receipt, balance: String(receipt.balance) })
  const input = { product: thing.product, action: 'buy', input: { count: 1 } }
  return services.orders.sell({ by, key: undefined, toBody }, input, (sale) =>
    sale.charge({
      price: kopecks(BigInt(thing.kopecks)),
      calculation: { each_rub: thing.kopecks / 100 },
      note: thing.note,
    }),
  )
}

async function openPgbench(context: Context, address: string): Promise<Peer[]> {
  const program = findPgbench()
  if (program === undefined) return []
  await runSql(address, [chargeFunction])
  const pgbench = createPgbench(context.stage, program, address)
  return [
    { name: byFunction, measure: pgbench(chargeByFunction(people), callers, context.seconds) },
    { name: byStatements, measure: pgbench(chargeByStatements(people), callers, context.seconds) },
  ]
}
