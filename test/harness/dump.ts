import { run } from './apt.ts'

/** `pg_dump | pg_restore`: copies a PostgreSQL database into an empty one, as SQL text that the server parses again. */
export async function dumpInto(from: string, to: string): Promise<void> {
  const pipeline = 'pg_dump --format=custom --no-owner "$0" | pg_restore --no-owner --exit-on-error --dbname="$1"'
  const { code, err } = await run(['bash', '-o', 'pipefail', '-c', pipeline, from, to])
  if (code !== 0) throw new Error(`pg_dump | pg_restore failed: ${err}`)
}
