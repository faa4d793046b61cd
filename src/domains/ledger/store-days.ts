import { int, valuesOf } from '../../db/columns.ts'
import { readWide, sendRows, type WideSum, wideSum } from '../../db/rows.ts'
import { dayMs, type Period } from '../../db/summed-days.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

/** Movements of one UTC day since 1970 between customers and a house account. */
export type PostingSum = {
  readonly day: number
  readonly house: string
  readonly kind: string
  /** An operator's movement, which belongs to no payment. */
  readonly byHand: boolean
  readonly count: number
  /** With the sign of the customers. */
  readonly amount: bigint
}

/** SQL condition: a credit or debit that belongs to no payment. The sandbox's payments use the same account. */
const isByHand = "(house = 'funds:operator' OR (house = 'funds:sandbox' AND reference IS NULL))"

/** The movements of a report, by their condition; each has an index by time. */
const conditions = {
  all: 'TRUE',
  refunds: 'refund_of IS NOT NULL',
  byHand: `kind IN ('credit', 'debit') AND ${isByHand}`,
}
export type Movements = keyof typeof conditions

type SumRow = WideSum<'amount'> & Readonly<Record<'day' | 'by_hand' | 'n', bigint>> & { house: string; kind: string }

/** Sums of the postings of a period, by day, house account and kind, from the postings themselves. */
export async function sumPostings(
  reader: Reader,
  { fromAt, toAt }: Period,
  of: Movements = 'all',
): Promise<PostingSum[]> {
  const group = `at / ${dayMs}, house, kind, CASE WHEN ${isByHand} THEN 1 ELSE 0 END`
  const rows = await reader.all<SumRow>(
    `SELECT at / ${dayMs} AS day, house, kind, CAST(CASE WHEN ${isByHand} THEN 1 ELSE 0 END AS BIGINT) AS by_hand,
       COUNT(*) AS n, ${wideSum('amount', 'amount')}
     FROM postings WHERE at >= $1 AND at < $2 AND ${conditions[of]} GROUP BY ${group} ORDER BY 1, 2, 3, 4`,
    [fromAt, toAt],
  )
  return rows.map((row) => ({
    day: Number(row.day),
    house: row.house,
    kind: row.kind,
    byHand: row.by_hand === 1n,
    count: Number(row.n),
    amount: readWide(row, 'amount'),
  }))
}

/** The sum of the amounts of a period. */
export async function sumAmounts(reader: Reader, { fromAt, toAt }: Period): Promise<bigint> {
  const row = await reader.first<WideSum<'amount'>>(
    `SELECT ${wideSum('amount', 'amount')} FROM postings WHERE at >= $1 AND at < $2`,
    [fromAt, toAt],
  )
  return row ? readWide(row, 'amount') : 0n
}

/** The kept sums of days, also of days that are not summed: the caller drops those. */
export async function keptSums(reader: Reader, fromDay: number, toDay: number): Promise<PostingSum[]> {
  const rows = await reader.all<
    Readonly<Record<'day' | 'by_hand' | 'postings' | 'amount', bigint>> & { house: string; kind: string }
  >('SELECT * FROM posting_sums WHERE day >= $1 AND day < $2 ORDER BY day, house, kind, by_hand', [fromDay, toDay])
  return rows.map((row) => ({
    day: Number(row.day),
    house: row.house,
    kind: row.kind,
    byHand: row.by_hand === 1n,
    count: Number(row.postings),
    amount: row.amount,
  }))
}

/** The same, one sum of amounts for each day. */
export async function keptAmounts(reader: Reader, toDay: number): Promise<{ day: number; amount: bigint }[]> {
  const rows = await reader.all<WideSum<'amount'> & { day: bigint }>(
    `SELECT day, ${wideSum('amount', 'amount')} FROM posting_sums WHERE day < $1 GROUP BY day`,
    [toDay],
  )
  return rows.map((row) => ({ day: Number(row.day), amount: readWide(row, 'amount') }))
}

export function replaceSums(tx: Tx, day: number, sums: readonly PostingSum[]): void {
  tx.send('DELETE FROM posting_sums WHERE day = $1', [day])
  sendRows(
    tx,
    'INSERT INTO posting_sums (day, house, kind, by_hand, postings, amount)',
    sums.map((each) => [day, each.house, each.kind, each.byHand ? 1 : 0, each.count, each.amount]),
  )
}

export const firstPostingAt = (reader: Reader): Promise<number | undefined> =>
  valuesOf(int('at')).first(reader, 'SELECT at FROM postings ORDER BY at LIMIT 1')
