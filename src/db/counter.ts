import type { Database, IdCounter, Reader, Tx } from './transaction.ts'

const blockSize = 1000

/** Reserves numbers in blocks, in a separate transaction. */
export function createCounter(db: Database, name: string): IdCounter {
  let next = 0
  let end = 0
  let last: Promise<unknown> = Promise.resolve()

  async function reserve(count: number): Promise<void> {
    const size = Math.max(blockSize, count)
    const row = await db.transact((tx) =>
      tx.first<{ next: bigint }>(
        `INSERT INTO counters (name, next) VALUES ($1, $2 + 1)
         ON CONFLICT (name) DO UPDATE SET next = counters.next + $2 RETURNING next`,
        [name, size],
      ),
    )
    if (!row) throw new Error(`the counter ${name} gave nothing`)
    end = Number(row.next)
    next = end - size
  }

  async function takeNow(count: number): Promise<number[]> {
    if (next + count > end) await reserve(count)
    const first = next
    next += count
    return Array.from({ length: count }, (_, index) => first + index)
  }

  return {
    take(count) {
      if (next + count <= end) return takeNow(count)
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

/** Skips numbers that were given out after the backup, and makes nodes read their whole state again. */
export async function noteRestored(tx: Tx, nowMs: number): Promise<void> {
  await tx.run('UPDATE counters SET next = next + $2 WHERE name <> $1', [restored, skipped])
  await tx.run(
    `INSERT INTO counters (name, next) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET next = CASE WHEN counters.next < $2 THEN $2 ELSE counters.next + 1 END`,
    [restored, nowMs],
  )
}

/** Identifies the database's history: a new number after every restore, 0 if it never was restored. */
export const lifeOf = (reader: Reader): Promise<number> => nextNumber(reader, restored)
