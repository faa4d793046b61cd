import { describe, expect, test } from 'bun:test'
import { runtimeWith } from '../../../../test/harness/clock.ts'
import { engines } from '../../../../test/harness/database.ts'
import { failureOf } from '../../../../test/harness/failure.ts'
import { kindIn } from '../../../../test/harness/proxies.ts'
import { useRangeShop } from '../../../../test/harness/ranges.ts'
import { isLong } from '../../../../test/harness/scale.ts'
import { createServices, type Services } from '../../../app/shop/services.ts'
import { type Prefix, readPrefix } from '../../../core/address.ts'
import type { Database } from '../../../db/transaction.ts'

/** Stock is added 4,000 addresses at a time: two parts, or three in a long run. */
const text = isLong ? '203.0.96.0/19' : '203.0.96.0/20'
const block = readPrefix(text) as Prefix
const [size, parts] = isLong ? [8_192, 3] : [4_096, 2]
const minuteMs = 60_000

describe.each([...engines])('interrupted imports on %s', (engine) => {
  const shop = useRangeShop(engine)
  const add = (by = shop.services, nodeIds: string[] = []) => by.stock.add(block, kindIn('AT', 4), undefined, nodeIds)
  const stock = () => shop.services.stock.ranges
  const rangesNow = async () => (await stock().overview()).ranges
  const slotsNow = async (): Promise<number> =>
    Number((await shop.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM stock'))?.n)

  /** Services whose transactions fail once the condition is true; committed transactions remain. */
  function failingWhen(isDue: () => Promise<boolean>): Services {
    const failIfDue = async (): Promise<void> => {
      if (await isDue()) throw new Error('killed')
    }
    const db: Database = {
      ...shop.db,
      transact: (work) => failIfDue().then(() => shop.db.transact(work)),
      transactLong: (work) => failIfDue().then(() => shop.db.transactLong(work)),
    }
    return createServices(db, runtimeWith(shop.clock), shop.services.config)
  }

  /** Interrupts an import after its first part. */
  async function interruptImport(): Promise<void> {
    const killed = await failureOf(add(failingWhen(async () => (await slotsNow()) > 0)))
    expect(killed.message).toBe('killed')
  }

  async function sellOne(): Promise<string[]> {
    const node = await shop.addGateway('gate-1')
    for (const { prefix } of await rangesNow()) await shop.claimLocally(node, prefix, [0, size])
    return shop.buy()
  }

  test('the same import finishes an interrupted one in the same range, which is listed as unfinished until then', async () => {
    await interruptImport()
    const half = await slotsNow()
    expect(half).toBeGreaterThan(0)
    expect(half).toBeLessThan(size)
    expect(await stock().unfinished.underWay()).toMatchObject([{ slots: half, prefix: text }])
    shop.clock.advance(61 * minuteMs)
    expect(await add()).toBe(size - half)
    expect(await rangesNow()).toMatchObject([{ prefix: text, state: 'in' }])
    expect(await stock().unfinished.underWay()).toEqual([])
    expect(await add()).toBe(0)
    expect(await sellOne()).toHaveLength(1)
  })

  test('an interrupted import is sold after 2 minutes without progress, and its completion loses no served slot', async () => {
    await interruptImport()
    const half = await slotsNow()
    expect(await stock().unfinished.adoptStill()).toEqual([])
    shop.clock.advance(minuteMs)
    expect(await stock().unfinished.adoptStill()).toEqual([])
    shop.clock.advance(minuteMs)
    expect(await stock().unfinished.adoptStill()).toMatchObject([{ slots: half }])
    expect(await stock().unfinished.adoptStill()).toEqual([])
    expect(await sellOne()).toHaveLength(1)
    expect(await add()).toBe(size - half)
    expect(await rangesNow()).toHaveLength(1)
    const served = await shop.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM stock WHERE serving_node IS NOT NULL')
    expect(served?.n).toBe(BigInt(size))
    const lost = await shop.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM stock WHERE lost_at IS NOT NULL')
    expect(lost?.n).toBe(0n)
  })

  test('an import with progress is not adopted, and a second import of the same addresses waits and adds none', async () => {
    let [slots, checks] = [0, 0]
    let second: Promise<number> | undefined
    const observed: Database = {
      ...shop.db,
      async transact(work) {
        const done = await shop.db.transact(work)
        if ((await slotsNow()) > slots) {
          slots = await slotsNow()
          checks += 1
          second ??= add()
          expect(await stock().unfinished.adoptStill()).toEqual([])
          shop.clock.advance(2 * minuteMs)
        }
        return done
      },
    }
    expect(await add(createServices(observed, runtimeWith(shop.clock), shop.services.config))).toBe(size)
    expect([checks, await second]).toEqual([parts, 0])
    expect(await rangesNow()).toMatchObject([{ prefix: text, state: 'in' }])
  })

  test('an import that was interrupted before its first address leaves no range after 61 minutes', async () => {
    await failureOf(add(failingWhen(async () => (await rangesNow()).length > 0)))
    expect([(await rangesNow()).length, await slotsNow()]).toEqual([1, 0])
    shop.clock.advance(61 * minuteMs)
    await stock().unfinished.adoptOld()
    expect(await rangesNow()).toEqual([])
    expect(await add()).toBe(size)
  })
})
