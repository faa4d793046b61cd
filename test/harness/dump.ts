import { SQL } from 'bun'
import { run } from './apt.ts'

async function runShell(script: string, ...values: string[]): Promise<void> {
  const { code, err } = await run(['bash', '-o', 'pipefail', '-c', script, ...values])
  if (code !== 0) throw new Error(`${script} failed: ${err}`)
}

/** `pg_dump | pg_restore`: copies a PostgreSQL database into an empty one, as SQL text that the server parses again. */
export const dumpInto = (from: string, to: string): Promise<void> =>
  runShell('pg_dump --format=custom --no-owner "$0" | pg_restore --no-owner --exit-on-error --dbname="$1"', from, to)

/** Writes a dump of a PostgreSQL database to a file. */
export const dumpTo = (from: string, file: string): Promise<void> =>
  runShell('pg_dump --format=custom --no-owner "$0" > "$1"', from, file)

/** Brings a dump back in place, while programs are connected. */
export const restoreInPlace = (file: string, to: string): Promise<void> =>
  runShell('pg_restore --clean --no-owner --single-transaction --dbname="$1" "$0"', file, to)

/** The same in one transaction for each object, as `pg_restore` does by default. */
export const restoreInPieces = (file: string, to: string): Promise<void> =>
  runShell('pg_restore --clean --if-exists --no-owner --dbname="$1" "$0"', file, to)

/** Puts another database in the place of one, under the connections of running programs, as a failover does. */
export async function swapDatabase(live: string, other: string): Promise<void> {
  const [name, otherName] = [live, other].map((url) => new URL(url).pathname.slice(1))
  const sql = new SQL(new URL('/postgres', live).href, { max: 1 })
  try {
    await sql.unsafe(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    await sql.unsafe(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
    for (let attempt = 0; ; attempt += 1) {
      try {
        await sql.unsafe(`ALTER DATABASE ${name} RENAME TO ${name}_lost`)
        break
      } catch (error) {
        // A terminated connection may not have ended yet.
        if (attempt === 100) throw error
        await sql.unsafe('SELECT pg_sleep(0.05)')
      }
    }
    await sql.unsafe(`ALTER DATABASE ${otherName} RENAME TO ${name}`)
    await sql.unsafe(`DROP DATABASE ${name}_lost`)
  } finally {
    await sql.close()
  }
}
