import type { Database } from '../../src/db/transaction.ts'

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

/** One statement, because a round trip for each of a hundred tables takes longer than deleting. */
const deleteFromAll = `
  DO $$
  DECLARE of_table REGCLASS;
  BEGIN
    FOR of_table IN SELECT oid FROM pg_class
      WHERE relkind = 'r' AND relnamespace = CAST('public' AS regnamespace) AND relname NOT IN ('migrations', 'row_history')
    LOOP
      EXECUTE 'DELETE FROM ' || of_table;
    END LOOP;
  END $$`

/** Deletes all rows except those of the migrations. Triggers that protect histories and books do not fire. */
async function deleteRows(db: Database): Promise<void> {
  await db.transact(async (tx) => {
    await tx.run('SET LOCAL session_replication_role = replica')
    await tx.run(deleteFromAll)
    await tx.run(`DELETE FROM row_history WHERE of_table <> 'migrations'`)
    // The checkpoints that covered the remaining versions are deleted.
    await tx.run('UPDATE row_history SET checkpoint = NULL')
  })
}

/** Whether no connection but those of a pool of this size is open, and none of them is in a transaction. */
async function isQuiet(db: Database, connections: number): Promise<boolean> {
  const others = await db.first<{ n: bigint; busy: bigint }>(
    `SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE state <> 'idle') AS busy FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  )
  return others !== undefined && others.n < connections && others.busy === 0n
}

/**
 * Empties a database for the next test, which uses the same connections. False if it cannot be reused: a test has
 * closed it, left another connection open or changed the schema, or the server's user lacks the privilege.
 */
export async function emptyDatabase(db: Database, connections: number, digest: string): Promise<boolean> {
  try {
    if (!(await isQuiet(db, connections)) || (await readSchemaDigest(db)) !== digest) return false
    await deleteRows(db)
    return true
  } catch {
    return false
  }
}
