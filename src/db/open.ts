import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import type { Database, Reader } from './transaction.ts'

/** Opens `postgres://…`, or the SQLite file at a path. */
export function openDatabase(address: string, connections?: number): Database {
  return /^postgres(ql)?:\/\//.test(address) ? openPostgres(address, connections) : openSqlite(address)
}

/** Shorter than the timeout of a sale. */
export const answersWithinMs = 3_000

export const isReachable = (reader: Reader, withinMs = answersWithinMs): Promise<boolean> =>
  soonEnough(reader.first('SELECT 1 AS one'), withinMs).then(
    () => true,
    () => false,
  )

/** The result of a read, or a failure if the database takes longer than a health check may wait. */
export async function soonEnough<Result>(reading: Promise<Result>, withinMs = answersWithinMs): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('the database does not answer now')), withinMs)
  try {
    return await Promise.race([reading, promise])
  } finally {
    clearTimeout(timer)
  }
}
