import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import type { Database } from './transaction.ts'

/** Opens the database that an address names: `postgres://…`, or else the path of a SQLite file. */
export function openDatabase(address: string): Database {
  return /^postgres(ql)?:\/\//.test(address) ? openPostgres(address) : openSqlite(address)
}
