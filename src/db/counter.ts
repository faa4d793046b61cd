import type { Database, IdCounter, Reader, Tx } from './transaction.ts'

const blockSize = 1000

/**
 * Reserves numbers in blocks, in a separate transaction. A block that was reserved in an earlier life of the database
 * is dropped: the database may have given the same numbers to another process since. `mark` is awaited before a number
 * of a new block is used, so that a database which loses the block is noticed.
 */
export function createCounter(
  db: Database,
  name: string,
  life: () => number = () => 0,
  mark: () => Promise<unknown> = async () => {},
): IdCounter {
  let next = 0
  let end = 0
  let reservedIn = 0
  let last: Promise<unknown> = Promise.resolve()

  async function reserve(count: number): Promise<void> {
    const size = Math.max(blockSize, count)
    const knownLife = life()
    const row = await db.transact((tx) =>
      tx.first<{ next: bigint }>(
        `INSERT INTO counters (name, next) VALUES ($1, $2 + 1)
         ON CONFLICT (name) DO UPDATE SET next = counters.next + $2 RETURNING next`,
        [name, size],
      ),
    )
    if (!row) throw new Error(`the counter ${name} gave nothing`)
    await mark()
    reservedIn = knownLife
    end = Number(row.next)
    next = end - size
  }

  const has = (count: number): boolean => next + count <= end && reservedIn === life()

  async function takeNow(count: number): Promise<number[]> {
    if (!has(count)) await reserve(count)
    const first = next
    next += count
    return Array.from({ length: count }, (_, index) => first + index)
  }

  return {
    take(count) {
      if (has(count)) return takeNow(count)
      const taken = last.then(() => takeNow(count))
      last = taken.catch(() => {})
      return taken
    },
  }
}

/** The next number of a counter across processes; 0 before the first. */
export async function nextNumber(reader: Reader, name: string): Promise<number> {
  return Number((await reader.first<{ next: bigint }>('SELECT next FROM counters WHERE name = $1', [name]))?.next ?? 0n)
}

/** Counter of restores. */
const restored = 'restored'
/** More than are used between a backup and its restore. */
const skipped = 1_000_000
/** The counters of ids, by table. One of them may not exist yet in a database that went back to its first days. */
const idCounters = { slot: 'stock', range: 'stock_ranges', proxy: 'proxies' } as const

/**
 * Begins another life of the database. It skips numbers that were given out in the lost part of the last one, of which
 * `knownIds` is one, and makes nodes take their whole state again. Nothing of a node is sold before it has done so.
 */
export async function noteLife(tx: Tx, life: number, knownIds = 0): Promise<void> {
  for (const name of Object.keys(idCounters)) {
    await tx.run(
      `INSERT INTO counters (name, next) VALUES ($1, $2 + $3)
       ON CONFLICT (name) DO UPDATE SET next = CASE WHEN counters.next < $2 THEN $2 ELSE counters.next END + $3`,
      [name, knownIds, skipped],
    )
  }
  await tx.run(
    `INSERT INTO counters (name, next) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET next = CASE WHEN counters.next < $2 THEN $2 ELSE counters.next + 1 END`,
    [restored, life],
  )
  await tx.run('UPDATE nodes SET awaits_state = 1, lost_life = (SELECT next FROM counters WHERE name = $1)', [restored])
}

/**
 * Raises each counter beyond the ids in its table. A shop that sold from a block which its database had lost leaves a
 * counter behind them: the next block would have ids that are in use.
 */
export async function raiseCounters(db: Database): Promise<void> {
  await db.transact(async (tx) => {
    for (const [name, table] of Object.entries(idCounters)) {
      const used = `(SELECT MAX(id) FROM ${table})`
      await tx.run(`UPDATE counters SET next = ${used} + 1 WHERE name = $1 AND next <= ${used}`, [name])
    }
  })
}

/** Whether ids were ever given out. */
export const hasCounters = async (reader: Reader): Promise<boolean> =>
  (await reader.first('SELECT 1 AS one FROM counters LIMIT 1')) !== undefined
