import { openPostgres } from './postgres.ts'

/** Says, of something that one process alone is to do, whether this one does it now. */
export type Leaders = { leads(name: string): Promise<boolean>; stop(): Promise<void> }

/** Apart from the number that migrations lock: `migrate.ts`. */
const space = 7_204_202

/**
 * Of all processes on one PostgreSQL one leads in each thing: it holds an advisory lock on a connection of its own, one
 * for all, which the server takes back when it dies. It is asked again and again, on that connection, so that another
 * takes over, and whoever has lost the connection has lost the lead. A SQLite file is one machine's, and whoever has it
 * leads.
 */
export function createLeaders(databaseUrl: string | undefined): Leaders {
  if (databaseUrl === undefined) return { leads: async () => true, stop: async () => {} }
  const db = openPostgres(databaseUrl, 1)
  return {
    async leads(name) {
      const row = await db.first<{ leads: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
             AND classid = CAST($1 AS oid) AND objid = CAST($2 AS oid))
           OR pg_try_advisory_lock(CAST($1 AS int), CAST($2 AS int)) AS leads`,
        [space, numberOf(name)],
      )
      return row?.leads === true
    },
    stop: () => db.close(),
  }
}

/**
 * 31 bits of FNV-1a: the same in every version, and different for names as different as those of chores. Backups had
 * the first number before the others had any.
 */
function numberOf(name: string): number {
  if (name === 'back up') return 1
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 1) | 0
}
