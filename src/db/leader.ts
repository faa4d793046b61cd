import { openPostgres } from './postgres.ts'
import type { Database } from './transaction.ts'

/** Whether this process leads in a job that one process runs. */
export type Leaders = { leads(name: string): Promise<boolean>; stop(): Promise<void> }

/** Different from the lock of `migrate.ts`. */
const space = 7_204_202

/**
 * Leader election on PostgreSQL: one advisory lock per name, held on a dedicated connection, which the server releases
 * when the process dies, and 25 s after its machine vanishes (keepalives in `pool.ts`). A SQLite file has one process,
 * which leads.
 */
export function createLeaders(
  databaseUrl: string | undefined,
  open: (url: string, connections: number) => Pick<Database, 'first' | 'close'> = openPostgres,
): Leaders {
  if (databaseUrl === undefined) return { leads: async () => true, stop: async () => {} }
  const db = open(databaseUrl, 1)
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

/** 31 bits of FNV-1a, the same in every version. Backups keep the number that they had first. */
function numberOf(name: string): number {
  if (name === 'back up') return 1
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 1) | 0
}
