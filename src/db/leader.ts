import { openPostgres } from './postgres.ts'

/** Says whether this process is the one that does what only one may do. */
export type Leader = { isLeading(): Promise<boolean>; stop(): Promise<void> }

/** Apart from the number that migrations lock: `migrate.ts`. */
const space = 7_204_202

/**
 * Of all processes on one PostgreSQL one leads: it holds an advisory lock on a connection of its own, which the server
 * takes back when it dies. Asked again and again, so that another one takes over. A SQLite file is one machine's, and
 * whoever has it leads.
 */
export function createLeader(databaseUrl: string | undefined, purpose: number): Leader {
  if (databaseUrl === undefined) return { isLeading: async () => true, stop: async () => {} }
  const db = openPostgres(databaseUrl, 1)
  return {
    async isLeading() {
      const row = await db.first<{ leads: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
             AND classid = CAST($1 AS oid) AND objid = CAST($2 AS oid))
           OR pg_try_advisory_lock(CAST($1 AS int), CAST($2 AS int)) AS leads`,
        [space, purpose],
      )
      return row?.leads === true
    },
    stop: () => db.close(),
  }
}
