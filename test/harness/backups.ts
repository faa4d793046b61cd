import { type Config, readConfig } from '../../src/app/settings/config.ts'
import type { Engine, Place } from './database.ts'

/** Settings of a shop whose database is in this place. */
export const configOfPlace = (engine: Engine, place: Place, env: Record<string, string> = {}): Config =>
  readConfig({
    TURNPIKE_DATA: place.folder,
    ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: place.address }),
    ...env,
  })

/** Ignores the progress of a backup. */
export const ignoreProgress = (): void => {}
