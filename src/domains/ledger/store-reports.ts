import { readWide, type WideSum, wideSum } from '../../db/rows.ts'
import type { Reader } from '../../db/transaction.ts'

/** What moved on a day between customers and one account of the house, by kind. Days count from 1970, in UTC. */
export type DaySum = {
  readonly day: number
  readonly house: string
  readonly kind: string
  readonly count: number
  readonly amount: bigint
}

/** For reports, not for every page: it reads every posting of the time. */
export async function sumByDay(reader: Reader, fromAt: number, toAt: number): Promise<DaySum[]> {
  const rows = await reader.all<WideSum<'amount'> & { day: bigint; house: string; kind: string; n: bigint }>(
    `SELECT at / 86400000 AS day, house, kind, COUNT(*) AS n, ${wideSum('amount', 'amount')}
     FROM postings WHERE at >= $1 AND at < $2 GROUP BY at / 86400000, house, kind ORDER BY 1, 2, 3`,
    [fromAt, toAt],
  )
  return rows.map((row) => ({
    day: Number(row.day),
    house: row.house,
    kind: row.kind,
    count: Number(row.n),
    amount: readWide(row, 'amount'),
  }))
}

/** All that customers held before a moment: the sum of every posting up to it. */
export async function sumBefore(reader: Reader, at: number): Promise<bigint> {
  const row = await reader.first<WideSum<'amount'>>(
    `SELECT ${wideSum('amount', 'amount')} FROM postings WHERE at < $1`,
    [at],
  )
  return row ? readWide(row, 'amount') : 0n
}
