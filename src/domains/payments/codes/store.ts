import { kopecks } from '../../../core/money.ts'
import { numberOrNull } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { Code } from './rules.ts'

type Row = {
  code: string
  kind: string
  value: bigint
  least: bigint
  uses: bigint | null
  until_at: bigint | null
  created_at: bigint
  ended_at: bigint | null
  note: string
}

const toCode = (row: Row): Code => ({
  code: row.code,
  kind: row.kind as Code['kind'],
  value: row.value,
  least: kopecks(row.least),
  uses: numberOrNull(row.uses),
  untilAt: numberOrNull(row.until_at),
  createdAt: Number(row.created_at),
  endedAt: numberOrNull(row.ended_at),
  note: row.note,
})

/** False if there is one of that name already. */
export async function insertCode(tx: Tx, code: Code): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO payment_codes (code, kind, value, least, uses, until_at, created_at, ended_at, note)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (code) DO NOTHING`,
    [code.code, code.kind, code.value, code.least, code.uses, code.untilAt, code.createdAt, code.endedAt, code.note],
  )
  return added === 1
}

/** Whoever counts its uses holds it until the transaction ends, so that the last use is given once. */
export async function lockCode(tx: Tx, code: string): Promise<Code | undefined> {
  const row = await tx.first<Row>('SELECT * FROM payment_codes WHERE code = $1 FOR UPDATE', [code])
  return row && toCode(row)
}

export async function findCode(reader: Reader, code: string): Promise<Code | undefined> {
  const row = await reader.first<Row>('SELECT * FROM payment_codes WHERE code = $1', [code])
  return row && toCode(row)
}

export async function listCodes(reader: Reader, limit: number): Promise<Code[]> {
  const rows = await reader.all<Row>('SELECT * FROM payment_codes ORDER BY created_at DESC, code LIMIT $1', [limit])
  return rows.map(toCode)
}

export async function endCode(tx: Tx, code: string, at: number): Promise<boolean> {
  return (await tx.run('UPDATE payment_codes SET ended_at = $2 WHERE code = $1 AND ended_at IS NULL', [code, at])) === 1
}
