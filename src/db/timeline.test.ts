import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../test/harness/database.ts'
import { failureOf } from '../../test/harness/failure.ts'
import { createVault, randomBytes } from '../adapters/crypto.ts'
import { createCounter, nextNumber } from './counter.ts'
import { keptCalls, listRewinds, type Rewind, Timeline } from './timeline.ts'

describe.each([...engines])('the timeline on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  const clock = new HandClock()
  const vault = createVault(new Uint8Array(32))
  const openTimeline = () => new Timeline({ db: opened.db, clock: clock.read, random: randomBytes, vault })
  /** Deletes the marks that were made since a moment, as a database that went back to it does not have them. */
  const goBackTo = (at: number) =>
    opened.db.transact((tx) => tx.run('DELETE FROM history_marks WHERE made_at > $1', [at]))
  const lifeInDatabase = () => nextNumber(opened.db, 'restored')
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())

  test('a shop notices within one look that its newest mark is gone, and notes 1 rewind for 3 shops', async () => {
    const shops = [openTimeline(), openTimeline(), openTimeline()]
    const point = clock.nowMs
    await shops[0]?.cover()
    clock.advance(1000)
    await shops[0]?.cover()
    for (const shop of shops) await shop.look()
    await goBackTo(point)
    const noted: (Rewind | undefined)[] = []
    for (const shop of shops) shop.onChange((rewind) => noted.push(rewind))
    await Promise.all(shops.map((shop) => shop.look()))
    await Promise.all(shops.map((shop) => shop.look()))
    expect(noted.filter((each) => each !== undefined)).toEqual([
      expect.objectContaining({ backTo: point, lostUntil: point + 1000 }),
    ])
    expect(new Set(shops.map((shop) => shop.life()))).toEqual(new Set([await lifeInDatabase()]))
    expect(await listRewinds(opened.db, 0)).toHaveLength(1)
  })

  test('a sale in a database without the newest mark is refused with database_unavailable', async () => {
    const shop = openTimeline()
    await shop.look()
    const guard = () => opened.db.transact((tx) => shop.guard(tx))
    await guard()
    const point = clock.nowMs
    clock.advance(1)
    await shop.cover()
    await guard()
    await goBackTo(point)
    expect(await failureOf(guard())).toMatchObject({ reason: 'database_unavailable' })
    await shop.look()
    await guard()
    const other = openTimeline()
    await other.look()
    clock.advance(1)
    await other.cover()
    await goBackTo(clock.nowMs - 1)
    await other.look()
    expect(await failureOf(guard())).toMatchObject({ reason: 'database_unavailable' })
    await shop.look()
    await guard()
  })

  test('a sale is refused after the database has lost the block of 1,000 ids that its shop uses', async () => {
    const shop = openTimeline()
    await shop.look()
    const ids = createCounter(opened.db, 'proxy', shop.life, () => shop.cover())
    const point = clock.nowMs
    clock.advance(1)
    await ids.take(1)
    await goBackTo(point)
    expect(await failureOf(opened.db.transact((tx) => shop.guard(tx)))).toMatchObject({
      reason: 'database_unavailable',
    })
    await shop.look()
  })

  test('ids after a rewind are 1,000,000 beyond the largest that a mark has seen, and a running shop drops its block', async () => {
    const shop = openTimeline()
    await shop.look()
    const ids = createCounter(opened.db, 'proxy', shop.life)
    await ids.take(1)
    const before = await nextNumber(opened.db, 'proxy')
    await opened.db.transact((tx) => tx.run('UPDATE counters SET next = next + 5000000 WHERE name = $1', ['proxy']))
    const point = clock.nowMs
    clock.advance(1)
    const token = await shop.cover()
    await goBackTo(point)
    await opened.db.transact((tx) => tx.run('UPDATE counters SET next = $2 WHERE name = $1', ['proxy', before]))
    await shop.look(token)
    const [first = 0] = await ids.take(1)
    expect(first).toBeGreaterThanOrEqual(before + 6_000_000)
    expect(await nextNumber(opened.db, 'slot')).toBeGreaterThan(1_000_000)
  })

  test('a mark that a node kept reveals a rewind once, and presenting it 100 times more changes nothing', async () => {
    const before = openTimeline()
    const point = clock.nowMs
    clock.advance(1)
    const token = await before.cover()
    await goBackTo(point)
    const restarted = openTimeline()
    await restarted.look()
    const life = await lifeInDatabase()
    expect(await restarted.look(token)).toMatchObject({ verdict: 'lost' })
    const noted = await lifeInDatabase()
    expect(noted).toBeGreaterThan(life)
    for (let time = 0; time < 100; time += 1) expect((await restarted.look(token)).verdict).toBe('former')
    expect(await lifeInDatabase()).toBe(noted)
  })

  test('an invented mark and a mark that 61 calls of forget() have outlived note no rewind', async () => {
    const shop = openTimeline()
    await shop.look()
    const old = await shop.cover()
    await shop.cover()
    for (let call = 1; call <= keptCalls; call += 1) expect(await shop.forget()).toBe(0)
    expect((await shop.look(old)).verdict).toBe('known')
    await shop.cover()
    expect(await shop.forget()).toBeGreaterThan(0)
    const life = await lifeInDatabase()
    const stranger = new Timeline({
      db: opened.db,
      clock: () => clock.nowMs + 1000,
      random: randomBytes,
      vault: createVault(new Uint8Array(32).fill(1)),
    })
    const invented = await stranger.cover()
    await opened.db.transact((tx) => tx.run('DELETE FROM history_marks WHERE made_at > $1', [clock.nowMs]))
    expect((await shop.look(old)).verdict).toBe('expired')
    for (const text of [invented, '', 'x', 'A'.repeat(5000)]) expect((await shop.look(text)).verdict).toBe('none')
    expect(await lifeInDatabase()).toBe(life)
  })

  test('a database that went back to before an earlier rewind gets a life that no node has seen', async () => {
    const shop = openTimeline()
    await shop.look()
    const life = await lifeInDatabase()
    const point = clock.nowMs
    clock.advance(1)
    await shop.cover()
    await goBackTo(point)
    await shop.look()
    const second = await lifeInDatabase()
    await goBackTo(point)
    await opened.db.transact((tx) => tx.run(`UPDATE counters SET next = $1 WHERE name = 'restored'`, [life]))
    await opened.db.transact((tx) => tx.run('DELETE FROM rewinds WHERE life = $1', [second]))
    await shop.look()
    expect(await lifeInDatabase()).toBeGreaterThan(second)
  })

  const hour = 3_600_000
  /** Deletes the last marks in the order of their commits, whatever their times are. */
  const loseNewest = (count: number) =>
    opened.db.transact((tx) =>
      tx.run(`DELETE FROM history_marks WHERE number > (SELECT MAX(number) FROM history_marks) - $1`, [count]),
    )

  test.each([
    ['forth by 3 h and back', [3 * hour, -3 * hour]],
    ['back by 3 h and forth', [-3 * hour, 3 * hour]],
    ['forth by 3 h in one of 2 shops', [0, 0]],
  ])('a clock that jumps %s expires no mark and hides no rewind, in 59 calls of forget()', async (_, jumps) => {
    const [shop, restarted] = [openTimeline(), openTimeline()]
    const other = new Timeline({ db: opened.db, clock: () => clock.nowMs + 3 * hour, random: randomBytes, vault })
    for (const each of [shop, other]) await each.look()
    const marks: string[] = []
    for (const jump of [0, ...jumps]) {
      clock.advance(jump)
      await other.look()
      if (jump === 0) marks.push(await other.cover())
      await shop.look()
      marks.push(await shop.cover())
    }
    const newest = marks.at(-1)
    for (let call = 1; call < keptCalls; call += 1) await shop.forget()
    for (const mark of marks) expect((await shop.look(mark)).verdict).toBe('known')
    expect(await shop.look()).toMatchObject({ newest: expect.anything() })
    expect(shop.isSame((await shop.look()).newest, newest)).toBe(true)
    const before = await lifeInDatabase()
    await loseNewest(1)
    expect((await restarted.look(newest)).verdict).toBe('lost')
    expect(await lifeInDatabase()).toBeGreaterThan(before)
  })

  test('numbers of marks follow their commits for 20 marks of 4 shops, and a shop sees how far a mark is ahead', async () => {
    const shops = [openTimeline(), openTimeline(), openTimeline(), openTimeline()]
    for (const shop of shops) await shop.look()
    for (let round = 0; round < 5; round += 1) await Promise.all(shops.map((shop) => shop.cover()))
    const { n, distinct } = (await opened.db.first<{ n: bigint; distinct: bigint }>(
      'SELECT COUNT(*) AS n, COUNT(DISTINCT number) AS "distinct" FROM history_marks WHERE number > 0',
    )) ?? { n: 0n, distinct: -1n }
    expect(distinct).toBe(n)
    const ahead = new Timeline({ db: opened.db, clock: () => clock.nowMs + 3 * hour, random: randomBytes, vault })
    await ahead.look()
    await ahead.cover()
    await shops[0]?.look()
    expect(shops[0]?.markAheadMs()).toBe(3 * hour)
  })
})
