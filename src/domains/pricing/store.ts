import type { Reader, Tx } from '../../db/transaction.ts'

export type StoredCatalogue = { version: number; text: string; appliedAt: number }

type Row = { version: bigint; text: string; applied_at: bigint }

const toStored = (row: Row): StoredCatalogue => ({
  version: Number(row.version),
  text: row.text,
  appliedAt: Number(row.applied_at),
})

export async function findLatest(reader: Reader): Promise<StoredCatalogue | undefined> {
  const row = await reader.first<Row>('SELECT version, text, applied_at FROM catalogues ORDER BY version DESC LIMIT 1')
  return row && toStored(row)
}

export async function findVersion(reader: Reader, version: number): Promise<StoredCatalogue | undefined> {
  const row = await reader.first<Row>('SELECT version, text, applied_at FROM catalogues WHERE version = $1', [version])
  return row && toStored(row)
}

export async function listVersions(reader: Reader): Promise<{ version: number; appliedAt: number }[]> {
  const rows = await reader.all<Row>('SELECT version, text, applied_at FROM catalogues ORDER BY version')
  return rows.map(toStored)
}

/** Of two operators who apply the same version, the second fails on the primary key. */
export async function insertVersion(tx: Tx, of: StoredCatalogue): Promise<void> {
  const sql = 'INSERT INTO catalogues (version, text, applied_at) VALUES ($1, $2, $3)'
  await tx.run(sql, [of.version, of.text, of.appliedAt])
}
