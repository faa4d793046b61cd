import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVault } from '../../src/adapters/vault.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { stockSandbox } from '../../src/jobs/sandbox/stock.ts'
import { readMigrations } from '../../src/main/shop/database.ts'
import { createServices, type Services } from '../../src/main/shop/services.ts'
import { carryAll } from './carrier.ts'
import { HandClock, surroundingsWith } from './clock.ts'
import type { Beginning, Prepared } from './database.ts'
import { createDatabase } from './postgres.ts'

const arranged = { vault: createVault(new Uint8Array(32)), gateway: { host: '127.0.0.1', port: 10_800 } }

const steps: Readonly<Record<Beginning, (services: Services) => Promise<void>>> = {
  migrated: async ({ db }) => void (await migrate(db, readMigrations())),
  stocked: ({ stock }) => stockSandbox(stock),
  carried: carryAll,
}

/** Makes the databases that tests copy theirs from. Each begins as a copy of the one before it. */
export async function prepareDatabases(serverUrl: string, folder: string): Promise<Prepared> {
  const make = async (
    create: (beginning: Beginning, copyOf: string | undefined) => Promise<string>,
  ): Promise<Record<Beginning, string>> => {
    const made: Record<Beginning, string> = { migrated: '', stocked: '', carried: '' }
    let last: string | undefined
    for (const beginning of Object.keys(steps) as Beginning[]) {
      last = await create(beginning, last)
      await takeStep(last, beginning)
      made[beginning] = last
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

async function takeStep(address: string, step: Beginning): Promise<void> {
  const db = openDatabase(address)
  try {
    const services = createServices(db, surroundingsWith(new HandClock()), arranged)
    await steps[step](services)
  } finally {
    await db.close()
  }
}
