import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createVault } from '../../adapters/crypto.ts'
import { findClosed, wayOutOf } from '../../db/closed.ts'
import type { Migration } from '../../db/migrate.ts'
import { openDatabase } from '../../db/open.ts'
import { type StandbyReads, withReadStandby } from '../../db/read-standby.ts'
import { isNoDatabase } from '../../db/sqlite-file.ts'
import type { Database } from '../../db/transaction.ts'
import { createShopKey } from '../../domains/customers/index.ts'
import { type Config, databaseAddress } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { findSecretKey, forgetSecretKey, makeSecretKey, secretKeyFile } from '../settings/secret-key.ts'

/** A command does one thing at a time, and the server limits connections. */
const connectionsOfCommand = 3

/** `reads`: how many requests a standby for reads has answered; undefined without one. */
export type ConfiguredDatabase = Database & { readonly reads?: StandbyReads }

/** Opens the configured database; makes the data folder, readable by its owner only. */
export function openConfigured(config: Config, connections = connectionsOfCommand): ConfiguredDatabase {
  const address = databaseAddress(config)
  if (config.databaseUrl === undefined) mkdirSync(dirname(address), { recursive: true, mode: 0o700 })
  try {
    const db = openDatabase(address, connections)
    const { databaseReadUrl: readUrl } = config
    return readUrl === undefined ? db : withReadStandby(db, openDatabase(readUrl, connections))
  } catch (error) {
    throw isNoDatabase(error) ? new BadSetting(`${address} is no database, or is damaged. ${whatNext}`) : error
  }
}

const whatNext = 'Name another folder with TURNPIKE_DATA (--data), or move it away and bring a backup back there.'

/** A key without its database is a lost or misplaced shop: a new shop there would accept none of its tokens. */
export function assertNotLost(config: Config): void {
  const key = secretKeyFile(config.folder)
  if (config.databaseUrl !== undefined || existsSync(databaseAddress(config)) || !existsSync(key)) return
  throw new BadSetting(
    `${key} is the key of a shop, and ${databaseAddress(config)} is not there. Bring it back ("turnpike restore" ` +
      'does), or set TURNPIKE_DATABASE_URL if the shop is on PostgreSQL. For a new shop, move the key away.',
  )
}

/** Refuses a shop that was moved elsewhere or is half filled. */
export async function assertOpen(db: Database): Promise<void> {
  const closed = await findClosed(db)
  if (!closed) return
  const way = wayOutOf(closed)
  throw new BadSetting(`This shop is closed. ${closed.because} ${way.charAt(0).toUpperCase()}${way.slice(1)}.`)
}

export function readMigrations(): Migration[] {
  const folder = join(import.meta.dir, '../../../migrations')
  const names = readdirSync(folder).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
  const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8')
  return names.toSorted().map((name) => ({ name: name.replace(/\.sql$/, ''), text: textOf(name) }))
}

/** The key of secrets, checked against the shop's fingerprint. Only a database without a shop gets a new key. */
export async function openVault(config: Config, db: Database) {
  const shopKey = createShopKey({ db })
  const found = findSecretKey(config)
  if (!found && (await shopKey.isShop())) {
    throw new BadSetting(
      `There is no ${secretKeyFile(config.folder)}, and the secrets of this shop are encrypted with it. ` +
        'Put that file back, or set TURNPIKE_SECRET_KEY.',
    )
  }
  const vault = createVault(found ?? makeSecretKey(config.folder))
  /** The shop calls this again once it is open: another process may have opened it first with another key. */
  async function confirm(): Promise<void> {
    if (await shopKey.isRight(vault.fingerprint)) return
    if (!found) forgetSecretKey(config.folder)
    const where = config.secretKey === undefined ? `in ${secretKeyFile(config.folder)}` : 'in TURNPIKE_SECRET_KEY'
    throw new BadSetting(`The key ${where} is not the encryption key of this shop.`)
  }
  await confirm()
  return { vault, confirm }
}
