import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVault } from '../../src/adapters/crypto.ts'
import { readMigrations } from '../../src/app/shop/database.ts'
import { createServices, type Services } from '../../src/app/shop/services.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import { stockSandbox } from '../../src/jobs/sandbox/open.ts'
import { HandClock, runtimeWith } from './clock.ts'
import type { Beginning, Prepared } from './database.ts'
import { fillShop, wireFilled } from './filled.ts'
import { createDatabase } from './postgres.ts'
import { serveAllStock } from './stock-gateway.ts'

const config = { vault: createVault(new Uint8Array(32)), gateway: { host: '127.0.0.1', port: 10_800 } }

type Step = (db: Database) => Promise<unknown>

const migrated: Step = (db) => migrate(db, readMigrations())
/** An eighth of a sandbox's IPv4 addresses: each is copied with the database and read by every `verify`. */
const stocked: Step = (db) => stockSandbox(wired(db).stock, 25)
const served: Step = (db) => serveAllStock(wired(db))
const filled: Step = (db) => {
  const clock = new HandClock()
  return fillShop({ services: wireFilled(db, clock), clock })
}

/** How each prepared database is made: one step on a copy of another, or on an empty database. */
const steps: Readonly<Record<Beginning, { readonly copyOf?: Beginning; readonly step: Step }>> = {
  migrated: { step: migrated },
  stocked: { copyOf: 'migrated', step: stocked },
  served: { copyOf: 'stocked', step: served },
  filled: { copyOf: 'migrated', step: filled },
}

const wired = (db: Database): Services => createServices(db, runtimeWith(new HandClock()), config)

/** Makes the databases that tests copy. */
export async function prepareDatabases(serverUrl: string, folder: string): Promise<Prepared> {
  const make = async (
    create: (beginning: Beginning, copyOf: string | undefined) => Promise<string>,
  ): Promise<Record<Beginning, string>> => {
    const made: Record<Beginning, string> = { migrated: '', stocked: '', served: '', filled: '' }
    for (const beginning of Object.keys(steps) as Beginning[]) {
      const { copyOf, step } = steps[beginning]
      made[beginning] = await create(beginning, copyOf && made[copyOf])
      await takeStep(made[beginning], step)
    }
    return made
  }
  const [sqlite, postgres] = await Promise.all([
    make(async (beginning, copyOf) => {
      const path = join(folder, `${beginning}.db`)
      if (copyOf !== undefined) copyFileSync(copyOf, path)
      return path
    }),
    make(async (_, copyOf) => (await createDatabase(serverUrl, copyOf)).url),
  ])
  return { sqlite, postgres }
}

async function takeStep(address: string, step: Step): Promise<void> {
  const db = openDatabase(address)
  try {
    await step(db)
  } finally {
    await db.close()
  }
}
