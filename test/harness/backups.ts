import { type Config, readConfig } from '../../src/app/settings/config.ts'
import type { Engine, TestDatabase } from './database.ts'

/** Settings of a shop on this test database. */
export const configOfTestDatabase = (
  engine: Engine,
  testDatabase: TestDatabase,
  env: Record<string, string> = {},
): Config =>
  readConfig({
    TURNPIKE_DATA: testDatabase.folder,
    ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: testDatabase.address }),
    ...env,
  })

/** Ignores the progress of a backup. */
export const ignoreProgress = (): void => {}
