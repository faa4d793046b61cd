import { columnsOf, int, textColumn } from '../../db/columns.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

export type StoredCatalogue = { version: number; text: string; appliedAt: number }

const catalogues = columnsOf<StoredCatalogue>({
  version: int('version'),
  text: textColumn('text'),
  appliedAt: int('applied_at'),
})

export const findLatest = (reader: Reader): Promise<StoredCatalogue | undefined> =>
  catalogues.first(reader, 'SELECT * FROM catalogues ORDER BY version DESC LIMIT 1')

export const findVersion = (reader: Reader, version: number): Promise<StoredCatalogue | undefined> =>
  catalogues.first(reader, 'SELECT * FROM catalogues WHERE version = $1', [version])

export const listVersions = (reader: Reader): Promise<StoredCatalogue[]> =>
  catalogues.all(reader, 'SELECT * FROM catalogues ORDER BY version')

export const listNewest = (reader: Reader, limit: number): Promise<StoredCatalogue[]> =>
  catalogues.all(reader, 'SELECT * FROM catalogues ORDER BY version DESC LIMIT $1', [limit])

/** Of two operators who apply the same version, the second fails on the primary key. */
export async function insertVersion(tx: Tx, of: StoredCatalogue): Promise<void> {
  await tx.run(`INSERT INTO catalogues (${catalogues.names}) VALUES ($1, $2, $3)`, catalogues.values(of))
}
