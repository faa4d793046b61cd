import type { Clock } from '../core/time.ts'
import {
  localTokenBuckets,
  type OpenTokenBuckets,
  type SharedTokenBuckets,
  type TokenBucketRate,
} from '../core/token-buckets.ts'
import type { Database, Tx } from './transaction.ts'

/** Token buckets shared by all shops on one PostgreSQL; local on SQLite. A bucket is the instant when it is full. */
export function openTokenBuckets(db: Database, clock: Clock): OpenTokenBuckets {
  if (db.engine === 'sqlite') return localTokenBuckets(clock)
  return (purpose, rate) => bucketsIn(db, clock, purpose, rate)
}

function bucketsIn(db: Database, clock: Clock, purpose: string, rate: TokenBucketRate): SharedTokenBuckets {
  const eachUs = BigInt(Math.round(1_000_000 / rate.perSecond))
  const fullUs = eachUs * BigInt(Math.floor(rate.burst))

  async function move(name: string, want: number, mayBeLess = true): Promise<{ taken: number; level: number }> {
    return db.transact(async (tx) => {
      const bucket = toBucket(purpose, name)
      const backAt = await lockBucket(tx, bucket)
      const nowUs = toUs(clock())
      // An empty bucket is full after `fullUs`. A later instant is of a clock that was set back since.
      const laterUs = backAt > nowUs ? backAt : nowUs
      const from = laterUs < nowUs + fullUs ? laterUs : nowUs + fullUs
      const free = (nowUs + fullUs - from) / eachUs
      const available = free > 0n ? free : 0n
      const taken = want <= available ? BigInt(want) : mayBeLess ? available : 0n
      tx.send('UPDATE rate_buckets SET back_at = $2 WHERE name = $1', [bucket, from + taken * eachUs])
      return { taken: Number(taken), level: Number(nowUs + fullUs - from - taken * eachUs) / Number(eachUs) }
      // Losing this in a power failure or a failover only resets a limit.
    }, 'unreplicated')
  }

  return {
    take: (name, want) => move(name, want),
    async takeAll(name, want) {
      const { taken, level } = await move(name, want, false)
      return { isAllowed: taken === want, level }
    },
    async give(name, count = 1) {
      await move(name, -count)
    },
  }
}

/** Keys are logins and addresses, so only their digest is stored. */
const toBucket = (purpose: string, name: string): string =>
  `${purpose} ${new Bun.CryptoHasher('sha256').update(name).digest('hex')}`

const toUs = (ms: number): bigint => BigInt(Math.round(ms * 1000))

/** Locks the bucket's row until the commit. */
async function lockBucket(tx: Tx, name: string): Promise<bigint> {
  const row = await tx.first<{ back_at: bigint }>(
    `INSERT INTO rate_buckets (name, back_at) VALUES ($1, 0)
     ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING back_at`,
    [name],
  )
  if (!row) throw new Error('a bucket that was just written is not there')
  return row.back_at
}

/** Deletes full buckets, which equal missing ones. */
export async function deleteFullBuckets(db: Database, nowMs: number, maxRows: number): Promise<number> {
  if (db.engine === 'sqlite') return 0
  return db.transact((tx) =>
    tx.run(
      `DELETE FROM rate_buckets WHERE name IN
         (SELECT name FROM rate_buckets WHERE back_at < $1 LIMIT $2)`,
      [toUs(nowMs), maxRows],
    ),
  )
}
