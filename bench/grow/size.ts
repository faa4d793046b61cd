import { statSync } from 'node:fs'
import { SQL } from 'bun'
import type { BenchDatabase } from '../stage.ts'

/** The size of a database on the disk, without PostgreSQL's log. */
export async function databaseMb({ engine, address }: BenchDatabase): Promise<number> {
  if (engine === 'sqlite') return statSync(address).size / 1e6
  const sql = new SQL(address, { max: 1 })
  try {
    const [row] = (await sql.unsafe('SELECT pg_database_size(current_database())::float8 AS bytes')) as {
      bytes: number
    }[]
    return (row?.bytes ?? Number.NaN) / 1e6
  } finally {
    await sql.close()
  }
}
