import { createReadStream, existsSync } from 'node:fs'
import manifest from '../../package.json' with { type: 'json' }
import { drawing } from '../adapters/qr-drawing.ts'
import { catalogCommands } from '../cli/catalog.ts'
import { type Command, type Given, helpText, type Option, type Outcome, readGiven } from '../cli/command.ts'
import { customerCommands, tokenCommands } from '../cli/customers.ts'
import { moneyCommands } from '../cli/money.ts'
import { nodeCommands } from '../cli/nodes.ts'
import { orderCommands } from '../cli/orders.ts'
import { premiumCommands } from '../cli/premium.ts'
import { stockCommands } from '../cli/stock.ts'
import { vpnCommands } from '../cli/vpn.ts'
import { migrate, pending } from '../db/migrate.ts'
import { Refusal } from '../kernel/refusal.ts'
import { BadSetting, type Config, databaseAddress, readConfig, settings } from './config.ts'
import { createLog, type Log, redact } from './log.ts'
import {
  arrangementsOf,
  createServices,
  openConfigured,
  readMigrations,
  realSurroundings,
  type Services,
} from './services.ts'
import { openShop } from './shop.ts'
import { supervise } from './up.ts'

const commonOptions: readonly Option[] = [
  { flag: 'json', meaning: 'answer with JSON' },
  { flag: 'help', meaning: 'say what this command takes' },
  ...Object.values(settings).map((each) => ({
    flag: each.flag,
    value: each.value,
    meaning: `${each.meaning} [${each.env}${each.fallback === '' ? '' : `, ${each.fallback}`}]`,
  })),
]

const configOf = (given: Given): Config => readConfig(process.env, given.flags)
const logOf = (config: Config, role: string): Log =>
  createLog(config.log, role, (line) => void process.stderr.write(line), process.stderr.isTTY)

type Credit = Parameters<Services['ledger']['credit']>

/** The services, and the few actions of an operator that are a transaction of their own. */
function createToolbox(services: Services) {
  const { db, ledger, pricing } = services
  return {
    ...services,
    drawing,
    now: realSurroundings.clock,
    credit: (customer: Credit[1], amount: Credit[2], note: string) =>
      db.transact((tx) => ledger.credit(tx, customer, amount, 'operator', note)),
    applyCatalogue: (value: unknown) => db.transact((tx) => pricing.apply(tx, value)),
  }
}
type Toolbox = ReturnType<typeof createToolbox>

/** Opens the database for one command and closes it after. A schema that is behind is named, not mended in passing. */
async function withServices<Result>(given: Given, work: (services: Toolbox) => Promise<Result>): Promise<Result> {
  const config = configOf(given)
  if (config.databaseUrl === undefined && !existsSync(databaseAddress(config))) {
    throw new Refusal(
      'conflict',
      'conflict',
      `There is no shop in ${config.folder}. "turnpike up" or "turnpike migrate" opens one.`,
    )
  }
  const db = openConfigured(config)
  try {
    const missing = await pending(db, readMigrations())
    if (missing.length > 0) {
      throw new Refusal(
        'conflict',
        'conflict',
        'The database is not ready for this version. Run "turnpike migrate" first.',
      )
    }
    return await work(createToolbox(createServices(db, realSurroundings, arrangementsOf(config))))
  } finally {
    await db.close()
  }
}

/** Resolves when the operator says stop. Should whoever started this process be killed outright, it ends as abruptly. */
function untilStopped(): Promise<void> {
  const leash = Number(process.env['TURNPIKE_LEASH'] ?? Number.NaN)
  if (Number.isInteger(leash)) {
    const cut = () => process.exit(137)
    createReadStream('', { fd: leash }).on('end', cut).on('error', cut).resume()
  }
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
}

const roleCommands: readonly Command[] = [
  {
    name: 'up',
    summary: 'Runs everything on this machine: starts the shop, starts it again if it dies, stops it in order.',
    takes: [],
    options: [],
    async run(given) {
      const log = logOf(configOf(given), 'up')
      const stop = new AbortController()
      void untilStopped().then(() => stop.abort())
      const flags = Object.entries(given.flags).flatMap(([flag, value]) =>
        flag === 'json' ? [] : [`--${flag}=${value}`],
      )
      const shop = [process.execPath, ...process.execArgv, import.meta.path, 'shop', ...flags]
      return { json: null, lines: [], exit: await supervise([{ name: 'shop', command: shop }], log, stop.signal) }
    },
  },
  {
    name: 'shop',
    summary: 'Runs the shop: the API, its description and its docs.',
    takes: [],
    options: [],
    async run(given) {
      const config = configOf(given)
      const stopped = untilStopped()
      const shop = await openShop(config, logOf(config, 'shop'))
      process.stdout.write(shop.banner)
      await stopped
      await shop.stop()
      return { json: null, lines: [], exit: 0 }
    },
  },
  {
    name: 'migrate',
    summary: 'Brings the database up to the schema of this version.',
    takes: [],
    options: [],
    async run(given) {
      const db = openConfigured(configOf(given))
      try {
        const applied = await migrate(db, readMigrations())
        const lines = applied.length > 0 ? applied.map((name) => `applied ${name}`) : ['Nothing to do.']
        return { json: { applied }, lines }
      } finally {
        await db.close()
      }
    },
  },
]

const commands: readonly Command[] = [
  ...roleCommands,
  ...customerCommands(withServices),
  ...tokenCommands(withServices),
  ...moneyCommands(withServices),
  ...orderCommands(withServices),
  ...catalogCommands(withServices),
  ...premiumCommands(withServices),
  ...nodeCommands(withServices),
  ...vpnCommands(withServices),
  ...stockCommands(withServices),
]

/** 0 done, 1 refused or wrong, 2 mistyped or a bad setting, 70 a fault of ours. */
async function main(typed: readonly string[]): Promise<number> {
  const json = typed.includes('--json')
  if (typed[0] === '--version') return print({ json: { version: manifest.version }, lines: [manifest.version] }, json)
  const asksForHelp = typed.length === 0 || typed.includes('--help') || typed[0] === 'help'
  if (asksForHelp) {
    const words = typed.filter((word) => !word.startsWith('--') && word !== 'help')
    const one = commands.find((each) => each.name === words.slice(0, each.name.split(' ').length).join(' '))
    process.stdout.write(helpText(commands, commonOptions, one))
    return typed.length === 0 ? 2 : 0
  }
  const { command, given } = readGiven(commands, typed, commonOptions)
  return print(await command.run(given), json)
}

function print(outcome: Outcome, json: boolean): number {
  if (json && outcome.json !== null) process.stdout.write(`${JSON.stringify(outcome.json)}\n`)
  else for (const line of outcome.lines) process.stdout.write(`${line}\n`)
  return outcome.exit ?? 0
}

function explain(error: unknown, json: boolean): number {
  const known = error instanceof Refusal || error instanceof BadSetting
  const message = messageOf(error)
  const code = error instanceof Refusal ? error.code : error instanceof BadSetting ? 'bad_setting' : 'internal_error'
  const details = error instanceof Refusal ? error.details : null
  if (json) process.stdout.write(`${JSON.stringify({ error: { code, message, details } })}\n`)
  else process.stderr.write(`turnpike: ${message}\n`)
  if (!known) return 70
  return error instanceof BadSetting || code === 'usage' ? 2 : 1
}

/** Here nobody sent a request: a database that cannot be reached is said to be that, with the reason the driver gave. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof Refusal && error.kind === 'unavailable' && error.cause instanceof Error)) return error.message
  return redact(`The database cannot be reached: ${error.cause.message}`)
}

const typed = process.argv.slice(2)
process.exit(await main(typed).catch((error: unknown) => explain(error, typed.includes('--json'))))
