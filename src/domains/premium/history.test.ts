import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines } from '../../../test/harness/database.ts'
import { isDone } from '../../../test/harness/failure.ts'
import { openPremiumShop, type PremiumShop, pool } from '../../../test/harness/premium.ts'
import { scaled } from '../../../test/harness/scale.ts'
import { keylessRequest } from '../../../test/harness/wired.ts'
import type { OrderId, SubuserId } from '../../core/ids.ts'

type Step =
  | { do: 'buy'; who: number; tenths: number }
  | { do: 'move'; from: number; to: number; tenths: number | 'all' }
  | { do: 'delete'; who: number; heir: number }
  | { do: 'refund'; order: number }
  | { do: 'wait'; days: number }

const subuserCount = 4
const who = fc.nat(subuserCount - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('buy' as const), who, tenths: fc.integer({ min: 1, max: 5 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('move' as const),
      from: who,
      to: who,
      tenths: fc.constantFrom<number | 'all'>(1, 2, 3, 5, 'all'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), who, heir: who }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), order: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.constantFrom(1, 31) }) },
)

const tenth = 100_000_000n

describe.each([...engines])('byte accounts on %s', (engine) => {
  let shop: PremiumShop
  beforeAll(async () => {
    shop = await openPremiumShop(engine)
    const { pricing, db } = shop.services
    const shown = (await pricing.show())?.value as { premium: { pools: Record<string, object> } }
    const changed = structuredClone(shown)
    Object.assign(changed.premium.pools[pool] ?? {}, { expires_days: 30 })
    await db.transact((tx) => pricing.apply(tx, changed))
    shop.clock.advance(1000)
  })
  afterAll(() => shop.close())

  test('byte accounts match a model in random histories of purchases, moves, deletions, refunds and expiry', async () => {
    const { premium } = shop.services
    const orders: OrderId[] = []
    const toBody = (bought: { order: OrderId }): string => {
      orders.push(bought.order)
      return ''
    }

    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
        const customer = await shop.newCustomer()
        const request = keylessRequest(customer)
        const ids: SubuserId[] = [(await premium.subusers.load(customer, undefined)).id]
        while (ids.length < subuserCount) ids.push((await premium.subusers.create(customer, { name: 'one' })).id)
        const model = ids.map(() => 0n)
        const isDeleted = ids.map(() => false)
        orders.length = 0
        for (const each of steps) {
          if (each.do === 'buy') {
            const order = { pool, tenths: each.tenths, subuser: ids[each.who] }
            expect(await isDone(premium.traffic.buy({ ...request, toBody }, order))).toBe(isDeleted[each.who] !== true)
            if (isDeleted[each.who] !== true) model[each.who] = (model[each.who] ?? 0n) + BigInt(each.tenths) * tenth
          }
          if (each.do === 'move') {
            const has = model[each.from] ?? 0n
            const amount = each.tenths === 'all' ? has : BigInt(each.tenths) * tenth
            const may =
              !isDeleted[each.from] && !isDeleted[each.to] && each.from !== each.to && amount > 0n && amount <= has
            const order = { pool, tenths: each.tenths, from: ids[each.from], to: ids[each.to] }
            expect(await isDone(premium.traffic.move(request, order))).toBe(may)
            if (may) {
              model[each.from] = has - amount
              model[each.to] = (model[each.to] ?? 0n) + amount
            }
          }
          if (each.do === 'delete') {
            const may = each.who !== 0 && each.who !== each.heir && !isDeleted[each.who] && !isDeleted[each.heir]
            const order = { subuser: ids[each.who] ?? ('' as SubuserId), to: ids[each.heir] }
            expect(await isDone(premium.remove(request, order))).toBe(may)
            if (may) {
              model[each.heir] = (model[each.heir] ?? 0n) + (model[each.who] ?? 0n)
              model[each.who] = 0n
              isDeleted[each.who] = true
            }
          }
          if (each.do === 'refund' && orders[each.order]) {
            const before = await Promise.all(ids.map(async (id) => (await shop.account(id)).balance))
            const { balance } = await shop.services.ledger.balance(customer)
            const done = await isDone(premium.traffic.refund(orders[each.order] as OrderId, 'refund'))
            const after = await Promise.all(ids.map(async (id) => (await shop.account(id)).balance))
            // Bytes are taken back if and only if money is refunded.
            expect(before.some((bytes, index) => bytes !== after[index])).toBe(done)
            expect((await shop.services.ledger.balance(customer)).balance > balance).toBe(done)
            for (const [index, bytes] of after.entries()) model[index] = bytes
          }
          if (each.do === 'wait') {
            shop.clock.advanceDays(each.days)
            await shop.services.traffic.accounts.expire(1000)
            // After 31 days all present bytes have expired.
            if (each.days > 30) model.fill(0n)
            else
              for (const [index, id] of ids.entries())
                model[index] = least(model[index], (await shop.account(id)).balance)
          }
          const books = await Promise.all(ids.map(async (id) => (await shop.account(id)).balance))
          expect(books).toEqual(model)
        }
      }),
      { numRuns: scaled(engine === 'sqlite' ? 300 : 100) },
    )
    expect(await shop.findings()).toEqual([])
  }, 600_000)

  test('30 concurrent purchases and moves in both directions all complete, and no byte is lost', async () => {
    const customer = await shop.newCustomer()
    const { premium } = shop.services
    const a = (await premium.subusers.load(customer, undefined)).id
    const b = (await premium.subusers.create(customer, { name: 'b' })).id
    await shop.buy(customer, 10, a)
    await shop.buy(customer, 10, b)
    await Promise.all(
      Array.from({ length: 30 }, (_, index) => {
        if (index % 3 === 0) return shop.buy(customer, 1, index % 2 === 0 ? a : b)
        return index % 3 === 1 ? shop.move(customer, 1, a, b) : shop.move(customer, 1, b, a)
      }),
    )
    const [one, two] = [await shop.account(a), await shop.account(b)]
    expect(one.balance + two.balance).toBe(30n * tenth)
    expect(await shop.findings()).toEqual([])
  })
})

const least = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a < b ? a : b)
