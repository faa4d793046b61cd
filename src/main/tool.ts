import { existsSync } from 'node:fs'
import { drawing } from '../adapters/qr-drawing.ts'
import { catalogCommands } from '../cli/catalog.ts'
import { codeCommands } from '../cli/codes.ts'
import type { Command, Given } from '../cli/command.ts'
import { customerCommands, tokenCommands } from '../cli/customers.ts'
import { eventCommands } from '../cli/events.ts'
import { exitCommands } from '../cli/exits.ts'
import { moneyCommands } from '../cli/money.ts'
import { nodeCommands } from '../cli/nodes.ts'
import { operatorCommands } from '../cli/operators.ts'
import { orderCommands } from '../cli/orders.ts'
import { paymentProviderCommands } from '../cli/payment-providers.ts'
import { paymentCommands } from '../cli/payments.ts'
import { premiumCommands } from '../cli/premium.ts'
import { privacyCommands } from '../cli/privacy.ts'
import { proxyCommands } from '../cli/proxies.ts'
import { rangeCommands } from '../cli/ranges.ts'
import { reportCommands } from '../cli/reports.ts'
import { stockCommands } from '../cli/stock.ts'
import { vpnCommands } from '../cli/vpn.ts'
import { findClosed, isUnfinished, reopen } from '../db/closed.ts'
import { migrate, pending } from '../db/migrate.ts'
import { compactSqlite } from '../db/sqlite-file.ts'
import type { Database } from '../db/transaction.ts'
import { toolActor, toRequestText } from '../domains/operators/rules.ts'
import shippedCatalogue from '../domains/pricing/catalogue.yaml' with { type: 'text' }
import { Refusal } from '../kernel/refusal.ts'
import { commonOptions, configOf } from './process.ts'
import { type Config, databaseAddress, shopUrl } from './settings/config.ts'
import { createActions } from './shop/actions.ts'
import { assertOpen, openConfigured, readMigrations } from './shop/database.ts'
import { arrangementsOf, createServices, realSurroundings, type Services } from './shop/services.ts'
import { openVault } from './shop/vault.ts'

/** What commands work with: the operator's actions, and what only a terminal needs. */
const createToolbox = (services: Services, config: Config) => ({
  ...createActions(services),
  drawing,
  now: realSurroundings.clock,
  shopUrl: shopUrl(config),
})

type Toolbox = ReturnType<typeof createToolbox>

/** Opens the database for one command and closes it after. A schema that is behind is named, not mended in passing. */
async function withServices<Result>(
  given: Given,
  work: (services: Toolbox) => Promise<Result>,
  mayBeClosed = false,
): Promise<Result> {
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
    if (mayBeClosed) await sayIfClosed(db)
    else await assertOpen(db)
    const { vault } = await openVault(config, db)
    const toolbox = createToolbox(createServices(db, realSurroundings, arrangementsOf(config, vault)), config)
    const { name, operation = name } = given.command
    // Whoever has the command line has the machine: he acts as an owner, and the audit log says so.
    const request = toRequestText({ words: given.words, ...ownFlags(given) })
    return await toolbox.acting.act({ actor: toolActor, operation, request }, () => work(toolbox))
  } finally {
    await db.close()
  }
}

/** Whoever takes it for the shop that sells would be content with what was true once. */
async function sayIfClosed(db: Database): Promise<void> {
  const closed = await findClosed(db)
  if (closed) process.stderr.write(`turnpike: This is a shop that sells no more. ${closed.because}\n`)
}

/** What was typed besides the settings, which may hold secrets. */
const ownFlags = (given: Given): Record<string, string | undefined> => {
  const common = new Set(commonOptions.map((each) => each.flag))
  return Object.fromEntries(Object.entries(given.flags).filter(([flag]) => !common.has(flag)))
}

/** The same for who only reads: a shop that was moved away can still be looked at. */
const lookAround = <Result>(given: Given, work: (services: Toolbox) => Promise<Result>): Promise<Result> =>
  withServices(given, work, true)

const upkeepCommands: readonly Command[] = [
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
  {
    name: 'compact',
    summary: 'Writes the file of a stopped SQLite shop anew: nothing is left in it of what was erased or forgotten.',
    takes: [],
    options: [],
    async run(given) {
      const config = configOf(given)
      const path = databaseAddress(config)
      if (config.databaseUrl !== undefined) {
        throw new Refusal('conflict', 'conflict', 'PostgreSQL does this by itself, with its own VACUUM.')
      }
      if (!existsSync(path)) throw new Refusal('conflict', 'conflict', `There is no shop in ${config.folder}.`)
      const { before, after } = compactSqlite(path)
      return { json: { before, after }, lines: [`${path} had ${before} bytes and has ${after}.`] }
    },
  },
  {
    name: 'reopen',
    summary:
      'Opens a shop again that was closed because it was moved elsewhere. What was sold there since is not in it.',
    takes: [],
    options: [],
    async run(given) {
      const db = openConfigured(configOf(given))
      try {
        const closed = await findClosed(db)
        if (!closed) throw new Refusal('conflict', 'conflict', 'This shop is not closed.')
        if (isUnfinished(closed)) {
          throw new Refusal('conflict', 'conflict', `This is no whole shop. ${closed.because} Give that command again.`)
        }
        await db.transact(reopen)
        return { json: { reopened: true }, lines: ['It can be opened again.'] }
      } finally {
        await db.close()
      }
    },
  },
]

/** What an operator does with a shop's rows, as against what runs all the time. */
export const toolCommands: readonly Command[] = [
  ...upkeepCommands,
  ...customerCommands(withServices),
  ...tokenCommands(withServices),
  ...privacyCommands(withServices),
  ...moneyCommands(withServices, lookAround),
  ...paymentCommands(withServices),
  ...paymentProviderCommands(withServices),
  ...codeCommands(withServices),
  ...reportCommands(withServices),
  ...orderCommands(withServices),
  ...eventCommands(withServices),
  ...catalogCommands(withServices, String(shippedCatalogue)),
  ...premiumCommands(withServices),
  ...exitCommands(withServices),
  ...nodeCommands(withServices),
  ...vpnCommands(withServices),
  ...proxyCommands(withServices),
  ...stockCommands(withServices),
  ...rangeCommands(withServices),
  ...operatorCommands(withServices),
]
