/**
 * Command: `npm run grow -- --postings 1m,10m [--customers N] [--addresses N] [--engines sqlite,postgres]
 * [--rounds N] [--purchases] [--write]`. Builds shops of these sizes and measures the work for customers, operators
 * and nodes, beside an empty shop; `--purchases` measures only purchases. `--write` replaces the table in
 * docs/performance.md. The largest sizes take gigabytes of disk and many minutes.
 */
import { constants } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import { describeMachine, measureBusy, toLines } from '../machine.ts'
import { addPeople } from '../people.ts'
import { writeTable } from '../report.ts'
import { createStage, type Engine, engineName, withServices } from '../stage.ts'
import { restock, tenThousand } from '../stocked.ts'
import { build } from './build.ts'
import {
  type Figures,
  type GrownShop,
  measureCommand,
  measureGateways,
  measurePurchases,
  measureReads,
  openGrown,
} from './measure.ts'
import { databaseMb } from './size.ts'
import { type Grown, sizeName, toGrowthTable } from './table.ts'

const { values } = parseArgs({
  options: {
    postings: { type: 'string', default: '1m,10m' },
    customers: { type: 'string', default: '100000' },
    addresses: { type: 'string', default: '1048576' },
    engines: { type: 'string', default: 'postgres,sqlite' },
    rounds: { type: 'string', default: '9' },
    purchases: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

const say = (text: string): void => void process.stderr.write(`${text}\n`)

function stopWith(message: string): never {
  say(`grow: ${message}`)
  process.exit(2)
}

/** `10m`, `500k` or a plain number. */
function readSize(text: string): number {
  const [, digits, unit = ''] = /^(\d+)([km]?)$/.exec(text) ?? []
  const size = Number(digits) * { '': 1, k: 1_000, m: 1_000_000 }[unit as '' | 'k' | 'm']
  if (!(size > 0)) stopWith(`${text} is no size: 500k or 10m`)
  return size
}

const sizes = values.postings
  .split(',')
  .map(readSize)
  .toSorted((a, b) => a - b)
const [customers, addresses, rounds] = [values.customers, values.addresses, values.rounds].map(readSize)
const engines = values.engines.split(',')
const isEngine = (name: string): name is Engine => name === 'sqlite' || name === 'postgres'
if (!customers || !addresses || !rounds || !engines.every(isEngine)) stopWith('--engines is sqlite, postgres or both')
if (sizes.some((size) => size < customers)) stopWith('every customer has a posting: --postings is at least --customers')

const stage = createStage(say)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void stage.end().finally(() => process.exit(128 + constants.signals[signal])))
}

/** A shop with 200 customers and addresses for the purchases of all rounds. */
async function openEmpty(engine: Engine): Promise<{ shop: GrownShop; restock: () => Promise<void> }> {
  const database = await stage.makeDatabase(engine)
  let added = tenThousand
  await withServices(database, async (services) => {
    await addPeople(services, 200)
    await restock(services, 0, added)
  })
  return {
    shop: await openGrown(stage, database, true),
    async restock() {
      await withServices(database, (services) => restock(services, added, tenThousand))
      added += tenThousand
    },
  }
}

async function measureCommands({ database }: GrownShop): Promise<Figures> {
  const startedMs = performance.now()
  await withServices(database, ({ ledgerAudit }) => ledgerAudit.makeCheckpoint())
  const checkpoint = (performance.now() - startedMs) / 1000
  const backup = await measureCommand({ database }, ['backup', join(stage.makeFolder(), 'backup')])
  const verify = await measureCommand({ database }, ['verify'])
  return {
    'a checkpoint': checkpoint,
    backup: backup.seconds,
    'backup, memory': backup.mb,
    'verify, everything': verify.seconds,
    'verify, everything: memory': verify.mb,
  }
}

async function measureSize(engine: Engine, postings: number, empty: Awaited<ReturnType<typeof openEmpty>>) {
  say(`\n${engineName[engine]}, ${sizeName(postings)} postings`)
  const database = await stage.makeDatabase(engine)
  await build(database, { customers: customers ?? 0, postings, addresses: addresses ?? 0 }, say)
  const grown = await openGrown(stage, database, false)
  const figures: Figures = {}
  const take = (some: Figures): void => {
    for (const [name, value] of Object.entries(some)) say(`  ${name}: ${value.toFixed(2)}`)
    Object.assign(figures, some)
  }
  take({ 'the database': await databaseMb(database) })
  take(await measurePurchases(empty.shop, grown, rounds ?? 0, empty.restock, say))
  if (!values.purchases) {
    take(await measureReads(grown))
    take(await measureCommands(grown))
    take(await measureGateways(stage, grown))
  }
  await grown.shop.stop()
  return { postings, figures }
}

const busy = await measureBusy()
const all: Grown[] = []
try {
  for (const engine of engines.filter(isEngine)) {
    const empty = await openEmpty(engine)
    const grown: Grown['sizes'][number][] = []
    for (const postings of sizes) grown.push(await measureSize(engine, postings, empty))
    const figures = values.purchases
      ? {}
      : { ...(await measureReads(empty.shop)), ...(await measureCommands(empty.shop)) }
    all.push({ engine, sizes: [{ postings: 0, figures }, ...grown] })
    await stage.clear()
  }
} finally {
  await stage.end()
}

const machine = describeMachine([`Turnpike ${manifest.version}`, `Bun ${Bun.version}`], busy)
const given = `${customers?.toLocaleString('en-US')} customers, ${addresses?.toLocaleString('en-US')} addresses`
const table = toGrowthTable(all, [...toLines(machine), given])
process.stdout.write(`\n${table}\n`)
if (values.write) writeTable('grow', table)
process.exit(0)
