import { openPostgres } from '../../src/db/postgres.ts'
import type { Database } from '../../src/db/transaction.ts'

/** Time limit for a connection that a test left open to end. */
const endWithinMs = 10_000

/** A digest of all objects of the schema. An object that is dropped and created again has another oid. */
export async function readSchemaDigest(db: Pick<Database, 'first'>): Promise<string> {
  const row = await db.first<{ digest: string }>(`
    SELECT md5(string_agg(part, ',' ORDER BY part)) AS digest FROM (
      SELECT concat_ws(' ', oid, relname, relkind) AS part FROM pg_class
        WHERE relnamespace = CAST('public' AS regnamespace)
      UNION ALL
      SELECT concat_ws(' ', attrelid, attname, atttypid, attnotnull, atthasdef) FROM pg_attribute
        WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace))
      UNION ALL
      SELECT concat_ws(' ', oid, conname, convalidated) FROM pg_constraint
        WHERE connamespace = CAST('public' AS regnamespace)
      UNION ALL
      SELECT concat_ws(' ', oid, tgname, tgenabled) FROM pg_trigger
      UNION ALL
      SELECT concat_ws(' ', oid, md5(prosrc)) FROM pg_proc WHERE pronamespace = CAST('public' AS regnamespace)
    ) AS parts`)
  if (!row) throw new Error('the server has no schema catalogue')
  return row.digest
}

/** Deletes all rows except those of the migrations. Triggers that protect histories and books do not fire. */
async function deleteRows(db: Database): Promise<void> {
  const tables = await db.all<{ name: string }>(`
    SELECT CAST(CAST(oid AS regclass) AS TEXT) AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = CAST('public' AS regnamespace) AND relname NOT IN ('migrations', 'row_history')`)
  await db.transact(async (tx) => {
    await tx.run('SET LOCAL session_replication_role = replica')
    for (const { name } of tables) await tx.run(`DELETE FROM ${name}`)
    await tx.run(`DELETE FROM row_history WHERE of_table <> 'migrations'`)
    // The checkpoints that covered the remaining versions are deleted.
    await tx.run('UPDATE row_history SET checkpoint = NULL')
  })
}

/**
 * Empties a closed database for the next test. False if it cannot be reused: a test has changed its schema, or the
 * server's user lacks the privilege.
 */
export async function emptyDatabase(url: string, digest: string): Promise<boolean> {
  const db = openPostgres(url, 1)
  try {
    await db.all(
      `SELECT pg_terminate_backend(pid, ${endWithinMs}) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
    if ((await readSchemaDigest(db)) !== digest) return false
    await deleteRows(db)
    return true
  } catch {
    return false
  } finally {
    await db.close()
  }
}
