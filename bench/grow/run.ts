/**
 * Command: `npm run grow -- --postings 1m,10m [--customers N] [--addresses N] [--engines sqlite,postgres]
 * [--rounds N] [--only purchases,reads,backup,verify,gateways] [--kept FOLDER] [--write]`. Builds shops of these sizes
 * and measures the work for customers, operators and nodes, beside an empty shop. `--write` replaces the table in
 * docs/performance.md. The largest sizes take gigabytes of disk and up to an hour: with `--kept` the shops stay in the
 * folder (PostgreSQL's on the server of TURNPIKE_TEST_POSTGRES_URL), and a later run uses them again and completes the
 * figures of earlier ones.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import { describeMachine, measureBusy, toLines } from '../machine.ts'
import { addPeople } from '../people.ts'
import { writeTable } from '../report.ts'
import { type BenchDatabase, createStage, type Engine, engineName, withServices } from '../stage.ts'
import { restock, tenThousand } from '../stocked.ts'
import { build } from './build.ts'
import {
  type Figures,
  type GrownShop,
  measureCommand,
  measureDays,
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
    only: { type: 'string', default: 'purchases,reads,backup,verify,gateways' },
    kept: { type: 'string' },
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

async function measureBackup({ database }: GrownShop): Promise<Figures> {
  const startedMs = performance.now()
  await withServices(database, ({ ledgerAudit }) => ledgerAudit.makeCheckpoint())
  const checkpoint = (performance.now() - startedMs) / 1000
  const backup = await measureCommand({ database }, ['backup', join(stage.makeFolder(), 'backup')])
  return {
    'a checkpoint': checkpoint,
    backup: backup.seconds,
    'backup, processor time of the command': backup.cpuSeconds,
    'backup, memory': backup.mb,
  }
}

async function measureVerify({ database }: GrownShop): Promise<Figures> {
  const verify = await measureCommand({ database }, ['verify'])
  return {
    'verify, everything': verify.seconds,
    'verify, everything: processor time of the command': verify.cpuSeconds,
    'verify, everything: memory': verify.mb,
  }
}

const kinds = values.only.split(',')

async function measureSize(engine: Engine, postings: number, empty: Awaited<ReturnType<typeof openEmpty>>) {
  say(`\n${engineName[engine]}, ${sizeName(postings)} postings`)
  const kept = values.kept === undefined ? undefined : join(values.kept, `grow_${engine}_${postings}`)
  const database = kept ? await stage.keepDatabase(engine, kept) : await stage.makeDatabase(engine)
  if (!(await isBuilt(database))) {
    await build(database, { customers: customers ?? 0, postings, addresses: addresses ?? 0 }, say)
  }
  const figures: Figures = {}
  const take = (some: Figures): void => {
    for (const [name, value] of Object.entries(some)) say(`  ${name}: ${value.toFixed(2)}`)
    Object.assign(figures, some)
    if (kept) writeFileSync(join(kept, 'figures.json'), JSON.stringify({ ...readEarlier(kept), ...figures }))
  }
  take(await measureDays(database))
  const grown = await openGrown(stage, database, false)
  take({ 'the database': await databaseMb(database) })
  if (kinds.includes('purchases')) take(await measurePurchases(empty.shop, grown, rounds ?? 0, empty.restock, say))
  if (kinds.includes('reads')) take(await measureReads(grown))
  if (kinds.includes('backup')) take(await measureBackup(grown))
  if (kinds.includes('verify')) take(await measureVerify(grown))
  if (kinds.includes('gateways')) take(await measureGateways(stage, grown))
  await grown.shop.stop()
  return { postings, figures: kept ? readEarlier(kept) : figures }
}

/** Building ends with a checkpoint. */
const isBuilt = (database: BenchDatabase): Promise<boolean> =>
  withServices(database, async ({ ledgerAudit }) => (await ledgerAudit.newest()) !== undefined)

/** The figures of earlier runs on a kept database. */
function readEarlier(folder: string): Figures {
  const path = join(folder, 'figures.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Figures) : {}
}

const busy = await measureBusy()
const all: Grown[] = []
try {
  for (const engine of engines.filter(isEngine)) {
    const empty = await openEmpty(engine)
    const grown: Grown['sizes'][number][] = []
    for (const postings of sizes) grown.push(await measureSize(engine, postings, empty))
    const figures: Figures = {}
    if (kinds.includes('reads')) Object.assign(figures, await measureReads(empty.shop))
    if (kinds.includes('backup')) Object.assign(figures, await measureBackup(empty.shop))
    if (kinds.includes('verify')) Object.assign(figures, await measureVerify(empty.shop))
    all.push({ engine, sizes: [{ postings: 0, figures }, ...grown] })
    await stage.clear()
  }
} finally {
  await stage.end()
}

const machine = describeMachine([`Turnpike ${manifest.version}`, `Bun ${Bun.version}`], busy)
const given = `${customers?.toLocaleString('en-US')} customers, ${addresses?.toLocaleString('en-US')} addresses`
const command = `\`npm run grow -- --engines ${engines.join(',')} --postings ${values.postings}\`, in parts with \`--only\` and \`--kept\``
const made = values.kept === undefined ? [given] : [given, command]
const table = toGrowthTable(all, [...toLines(machine), ...made])
process.stdout.write(`\n${table}\n`)
if (values.write) writeTable('grow', table)
process.exit(0)
