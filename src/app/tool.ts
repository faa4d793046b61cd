import { existsSync } from 'node:fs'
import { type Command, machineCommand } from '../cli/command.ts'
import { alertCommands } from '../cli/commands/alerts.ts'
import { brandCommands } from '../cli/commands/brand.ts'
import { customerCommands } from '../cli/commands/customers.ts'
import { mailingCommands } from '../cli/commands/mailings.ts'
import { nodeCommands, thingCommands } from '../cli/commands/network.ts'
import { catalogueCommands, operatorCommands } from '../cli/commands/operators.ts'
import { paymentCommands } from '../cli/commands/payments.ts'
import { stockCommands } from '../cli/commands/stock.ts'
import { toCommands } from '../cli/operation-command.ts'
import { refuseHere } from '../core/refusal.ts'
import { findClosed, isUnfinished, reopen, wayOutOf } from '../db/closed.ts'
import { migrate } from '../db/migrate.ts'
import { compactSqlite } from '../db/sqlite-file.ts'
import { connect, noShopIn } from './connect.ts'
import { configOf } from './process.ts'
import { databaseAddress } from './settings/config.ts'
import { openConfigured, readMigrations } from './shop/database.ts'

const upkeepCommands: readonly Command[] = [
  machineCommand({
    name: 'migrate',
    summary: 'Brings the database up to the schema of this version.',
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
  }),
  machineCommand({
    name: 'compact',
    summary: 'Rewrites the file of a stopped SQLite shop without its deleted and erased data.',
    async run(given) {
      const config = configOf(given)
      const path = databaseAddress(config)
      if (config.databaseUrl !== undefined) {
        throw refuseHere('This command is for SQLite. PostgreSQL does it by itself, with its own VACUUM.')
      }
      if (!existsSync(path)) throw noShopIn(config)
      const { before, after } = compactSqlite(path)
      return { json: { before, after }, lines: [`${path} had ${before} bytes and has ${after}.`] }
    },
  }),
  machineCommand({
    name: 'reopen',
    summary: 'Opens a shop again that was closed because it was moved elsewhere. It lacks everything sold there since.',
    async run(given) {
      const db = openConfigured(configOf(given))
      try {
        const closed = await findClosed(db)
        if (!closed) throw refuseHere('This shop is not closed, so there is nothing to reopen. Start it.')
        if (isUnfinished(closed)) {
          throw refuseHere(`This shop is not complete: ${wayOutOf(closed)}.`)
        }
        await db.transact(reopen)
        return { json: { reopened: true }, lines: ['The shop can be started again.'] }
      } finally {
        await db.close()
      }
    },
  }),
]

/** Commands over the admin operations, in the order in which help lists them. */
export const operationCommands = [
  ...customerCommands,
  ...paymentCommands,
  ...alertCommands,
  ...mailingCommands,
  ...brandCommands,
  ...catalogueCommands,
  ...stockCommands,
  ...nodeCommands,
  ...thingCommands,
  ...operatorCommands,
]

export const toolCommands: readonly Command[] = [...upkeepCommands, ...toCommands(operationCommands, connect)]
