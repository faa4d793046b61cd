import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import type { Database, Reader } from './transaction.ts'

/** Opens the database that an address names: `postgres://…`, or else the path of a SQLite file, which has one. */
export function openDatabase(address: string, connections?: number): Database {
  return /^postgres(ql)?:\/\//.test(address) ? openPostgres(address, connections) : openSqlite(address)
}

/** Whether the database answers at all now. */
export const isReachable = (reader: Reader): Promise<boolean> =>
  reader.first('SELECT 1 AS one').then(
    () => true,
    () => false,
  )
