import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../test/harness/clock.ts'
import { makeTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { readMigrations } from '../app/shop/database.ts'
import { prefetchTokenBuckets, type SharedTokenBuckets } from '../core/token-buckets.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { deleteFullBuckets, openTokenBuckets } from './token-buckets.ts'
import type { Database } from './transaction.ts'

/** So slow that no token comes back while a test runs. */
const rate = { perSecond: 1 / 3600, burst: 200 }

describe('token buckets of several shops', () => {
  let testDatabase: TestDatabase
  let shops: Database[]
  beforeAll(async () => {
    testDatabase = await makeTestDatabase('postgres')
    shops = Array.from({ length: 3 }, () => openDatabase(testDatabase.address))
    await migrate(shops[0] as Database, readMigrations())
  })
  afterAll(async () => {
    await Promise.all(shops.map((each) => each.close()))
    await testDatabase.remove()
  })
  const clock = new HandClock()
  const buckets = (purpose: string, of = rate) =>
    shops.map((db) => openTokenBuckets(db, () => clock.nowMs)(purpose, of))

  test('three shops together hand out exactly the burst of a shared bucket', async () => {
    const drawn = buckets('reads').map((each) => prefetchTokenBuckets(each, rate, () => clock.nowMs))
    const requests = Array.from({ length: 600 }, (_, index) => drawn[index % 3]?.take('token'))
    const answers = await Promise.all(requests.map(async (each) => each))
    expect(answers.filter((each) => each?.isAllowed)).toHaveLength(rate.burst)
    for (const each of drawn) expect(await each.take('token')).toMatchObject({ isAllowed: false })
    expect(await drawn[0]?.take('another')).toEqual({ isAllowed: true, level: rate.burst - 1 })
  })

  test('prefetchTokenBuckets fetches a twentieth of the burst per query', async () => {
    const [shared] = buckets('few')
    if (!shared) throw new Error('no bucket')
    let draws = 0
    const counted: SharedTokenBuckets = {
      ...shared,
      take(name, want) {
        draws += 1
        return shared.take(name, want)
      },
    }
    const drawn = prefetchTokenBuckets(counted, rate, () => clock.nowMs)
    for (let turn = 0; turn < rate.burst; turn += 1)
      expect(await drawn.take('token')).toMatchObject({ isAllowed: true })
    expect(draws).toBe(20)
    // An empty bucket refuses from memory.
    for (let turn = 0; turn < 1000; turn += 1) await drawn.take('token')
    expect(draws).toBeLessThanOrEqual(21)
  })

  test('a shared bucket refills with time, and a returned token is there for every shop', async () => {
    const fast = { perSecond: 100, burst: 10 }
    const [one, other] = buckets('fast', fast)
    expect((await one?.take('x', 50))?.taken).toBe(10)
    expect((await other?.take('x', 50))?.taken).toBe(0)
    clock.advance(100)
    expect((await other?.take('x', 50))?.taken).toBe(10)
    const [slow, same] = buckets('slow')
    await slow?.take('y', rate.burst)
    await slow?.give('y')
    expect((await same?.take('y', 5))?.taken).toBe(1)
  })

  test('deleteFullBuckets deletes full buckets and no others', async () => {
    const [one] = buckets('forgotten', { perSecond: 1000, burst: 1 })
    await one?.take('soon full', 1)
    const [slow] = buckets('kept')
    await slow?.take('in use', 5)
    clock.advance(20)
    await deleteFullBuckets(shops[0] as Database, clock.nowMs, 1000)
    const names = await (shops[0] as Database).all<{ name: string }>('SELECT name FROM rate_buckets ORDER BY name')
    const purposes = names.map((each) => each.name.split(' ')[0])
    expect(purposes).toContain('kept')
    expect(purposes).not.toContain('forgotten')
    expect(JSON.stringify(names)).not.toMatch(/in use|soon full/)
  })
})
