import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { countriesList, sellInCountries } from '../../../test/harness/countries.ts'
import { enginesOf } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import {
  addStock,
  applyCatalogue,
  buyProxies,
  kindIn,
  openDomainShop,
  prolongProxies,
  shipped,
  shippedWith,
  slotsByState,
} from '../../../test/harness/proxies.ts'
import { addCustomer, credit, findingsOf, wire } from '../../../test/harness/wired.ts'
import type { CustomerId } from '../../core/ids.ts'
import { openDatabase } from '../../db/open.ts'
import { dedicatedJobs } from '../../jobs/shop.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const rich = 10n ** 9n

describe.each([...enginesOf('sqlite')])('expiry and renewal of proxies on %s', (engine) => {
  const here = sellInCountries(engine, (number) => `10.1.${number}.0/30`)
  afterEach(async () => {
    await here.floor.db.transact((tx) => tx.run('UPDATE proxies SET renew_period = NULL'))
    await applyCatalogue(here.floor.services, countriesList())
  })
  const statesHere = async () => {
    const states: Record<string, number> = { free: 0, leased: 0, resting: 0, retired: 0 }
    for (const each of await here.floor.services.stockOperator.counts()) {
      if (each.country === here.code) states[each.state] = each.count
    }
    return states
  }
  const all = { before: Number.MAX_SAFE_INTEGER, limit: 500, status: '' as const, country: '', ipv: 0, comment: '' }
  const listed = (customer: CustomerId) =>
    here.floor.services.dedicated.list(customer, { ...all, expiresBefore: Number.MAX_SAFE_INTEGER })
  const statusOf = async (customer: CustomerId, status: 'active' | 'expired') =>
    (await here.floor.services.dedicated.list(customer, { ...all, status, expiresBefore: Number.MAX_SAFE_INTEGER }))
      .length
  const endOf = async (customer: CustomerId) => (await listed(customer))[0]?.expiresAt ?? 0
  const balanceOf = async (customer: CustomerId) => (await here.floor.services.ledger.balance(customer)).balance
  const runJobs = async () => {
    for (const job of dedicatedJobs(here.floor.services, { info: () => {} })) await job.work()
  }

  test('a proxy expires to the millisecond, is gone 3 days later, and its address is for sale 7 days after that', async () => {
    const { services, clock } = here.floor
    const customer = await addCustomer(services, rich)
    await buyProxies(services, customer, { code: here.code, ipv: 4, period: 7, count: 4 })
    const end = clock.nowMs + 7 * dayMs
    clock.nowMs = end - 1
    await runJobs()
    expect([await statusOf(customer, 'active'), await statusOf(customer, 'expired')]).toEqual([4, 0])
    clock.nowMs = end
    await runJobs()
    expect([await statusOf(customer, 'active'), await statusOf(customer, 'expired')]).toEqual([0, 4])
    clock.nowMs = end + 3 * dayMs - 1
    await runJobs()
    expect(await statusOf(customer, 'expired')).toBe(4)
    expect(await statesHere()).toMatchObject({ leased: 4 })
    clock.nowMs = end + 3 * dayMs
    expect(await listed(customer)).toEqual([])
    await runJobs()
    expect(await statesHere()).toEqual({ free: 0, leased: 0, resting: 4, retired: 0 })
    clock.nowMs = end + 10 * dayMs - 1
    await runJobs()
    const refusal = await refusalOf(buyProxies(services, customer, { code: here.code, ipv: 4, period: 7 }))
    expect(refusal.code).toBe('out_of_stock')
    clock.nowMs = end + 10 * dayMs
    await runJobs()
    expect(await statesHere()).toEqual({ free: 4, leased: 0, resting: 0, retired: 0 })
    expect(
      (await buyProxies(services, customer, { code: here.code, ipv: 4, period: 7, count: 4 })).proxies,
    ).toHaveLength(4)
  })

  test('a customer holds a shared address once, and may buy it again after its lease and rest have ended', async () => {
    const { services, clock } = here.floor
    await addStock(services, `10.2.${here.number}.1/32`, here.code, 3)
    const customer = await addCustomer(services, rich)
    const take = () => buyProxies(services, customer, { code: here.code, ipv: 3, period: 7 })
    const [first] = (await take()).proxies
    expect((await refusalOf(take())).code).toBe('out_of_stock')
    clock.nowMs += (7 + 3 + 7) * dayMs
    await runJobs()
    const [again] = (await take()).proxies
    expect(again?.address).toBe(first?.address ?? '')
  })

  test('jobs that run once after a year give the same leases and slots as jobs that run every 5 days', async () => {
    const outcomes: unknown[] = []
    for (const pace of ['every day', 'once'] as const) {
      const own = await openDomainShop(engine, shippedWith('AT'))
      await addStock(own.services, '203.0.113.0/28', 'AT', 4)
      const customer = await addCustomer(own.services, rich)
      const start = own.clock.nowMs
      for (const period of [7, 14, 30, 60, 90]) {
        await buyProxies(own.services, customer, { code: 'AT', ipv: 4, period, count: 3 })
      }
      for (let day = 1; day <= 365; day += 1) {
        own.clock.advanceDays(1)
        // Every fifth day is enough, because nothing is bought meanwhile.
        const due = pace === 'every day' ? day % 5 === 0 : day === 365
        if (due) for (const job of dedicatedJobs(own.services, { info: () => {} })) await job.work()
      }
      const leases = await own.db.all<{ slot_id: bigint; ended_at: bigint }>(
        'SELECT slot_id, started_at, ended_at, proxy_id FROM leases ORDER BY slot_id',
      )
      expect(leases.every((lease) => Number(lease.ended_at) > start)).toBeTrue()
      outcomes.push({ leases, states: await slotsByState(own.services) })
      expect(await findingsOf(own.services)).toEqual([])
      await own.close()
    }
    expect(outcomes[1]).toEqual(outcomes[0])
  })

  test('the jobs release 450 overdue proxies, more than one batch holds', async () => {
    const { services, clock } = here.floor
    await addStock(services, '198.51.100.0/23', here.code, 4)
    const customer = await addCustomer(services, rich)
    await buyProxies(services, customer, { code: here.code, ipv: 4, period: 7, count: 450 })
    clock.advanceDays(11)
    await runJobs()
    expect(await statesHere()).toMatchObject({ leased: 0, resting: 450 })
    clock.advanceDays(7)
    await runJobs()
    expect(await statesHere()).toMatchObject({ free: 516, resting: 0 })
  })

  test('the jobs of two shops on one database release each proxy once', async () => {
    const { services, clock } = here.floor
    const customer = await addCustomer(services, rich)
    await buyProxies(services, customer, { code: here.code, ipv: 4, period: 7, count: 4 })
    const otherDb = openDatabase(here.floor.testDatabase.address)
    const other = wire(otherDb, clock)
    clock.advanceDays(10)
    const released = await Promise.all([services.dedicatedUpkeep.release(200), other.dedicatedUpkeep.release(200)])
    expect(released[0] + released[1]).toBe(4)
    clock.advanceDays(7)
    const rested = await Promise.all([services.stock.endRest(200), other.stock.endRest(200)])
    expect(rested[0] + rested[1]).toBe(4)
    await otherDb.close()
  })

  describe('automatic renewal of proxies', () => {
    let customer: CustomerId
    let id: number
    let start: number
    beforeEach(async () => {
      customer = await addCustomer(here.floor.services, 10_000n)
      start = here.floor.clock.nowMs
      const bought = await buyProxies(here.floor.services, customer, { code: here.code, ipv: 4, period: 7 })
      id = bought.proxies[0]?.id ?? 0
      await here.floor.services.dedicated.setRenewal(customer, [id], 30)
    })
    const renew = () => here.floor.services.dedicatedUpkeep.renew(200)

    test('a proxy is renewed once, 1 day before its end, and the charge without a token is no API spending', async () => {
      const { clock, services } = here.floor
      clock.nowMs = start + 6 * dayMs - 1
      expect(await renew()).toBe(0)
      const before = await balanceOf(customer)
      clock.advance(1)
      expect(await renew()).toBe(1)
      expect(await renew()).toBe(0)
      clock.advance(hourMs)
      expect(await renew()).toBe(0)
      expect(await endOf(customer)).toBe(start + 37 * dayMs)
      expect(before - (await balanceOf(customer))).toBe(2_850n)
      expect((await services.ledger.balance(customer)).apiSpent).toBe(0n as never)
      const [order] = await services.orders.list(customer, undefined, 1)
      expect(order).toMatchObject({ product: 'dedicated', action: 'renew', price: 2_850n })
      clock.nowMs = start + 36 * dayMs
      expect(await renew()).toBe(1)
      expect(await endOf(customer)).toBe(start + 67 * dayMs)
    })

    test('two shops that renew a proxy at the same time charge once', async () => {
      const { clock } = here.floor
      const otherDb = openDatabase(here.floor.testDatabase.address)
      const other = wire(otherDb, clock)
      for (let round = 1; round <= 5; round += 1) {
        clock.nowMs = (await endOf(customer)) - dayMs
        const before = await balanceOf(customer)
        await credit(here.floor.services, customer, 2_850n)
        const renewed = await Promise.all([renew(), other.dedicatedUpkeep.renew(200), renew()])
        expect(renewed.reduce((sum, each) => sum + each, 0)).toBe(1)
        expect(await balanceOf(customer)).toBe(before)
      }
      expect(await endOf(customer)).toBe(start + (7 + 5 * 30) * dayMs)
      await otherDb.close()
    })

    test('a renewal above the balance changes nothing, is retried after 1 hour, and succeeds after a credit', async () => {
      const { clock, services } = here.floor
      await prolongProxies(services, customer, [id], 90)
      const end = await endOf(customer)
      const left = await balanceOf(customer)
      expect(left).toBeLessThan(2_850n)
      clock.nowMs = end - dayMs
      expect(await renew()).toBe(0)
      expect([await endOf(customer), await balanceOf(customer)]).toEqual([end, left])
      await credit(services, customer, 10_000n)
      clock.advance(hourMs - 1)
      expect(await renew()).toBe(0)
      clock.advance(1)
      expect(await renew()).toBe(1)
      expect(await endOf(customer)).toBe(end + 30 * dayMs)
    })

    test('a renewal is retried in the grace period of 3 days, extends from the retry on, and then stops', async () => {
      const { clock, services } = here.floor
      await prolongProxies(services, customer, [id], 90)
      const end = await endOf(customer)
      clock.nowMs = end + dayMs
      expect(await renew()).toBe(0)
      await credit(services, customer, 2_850n)
      clock.advance(hourMs)
      expect(await renew()).toBe(1)
      expect(await endOf(customer)).toBe(end + dayMs + hourMs + 30 * dayMs)
      clock.nowMs = (await endOf(customer)) + 3 * dayMs
      await credit(services, customer, 10_000n)
      const before = await balanceOf(customer)
      expect(await renew()).toBe(0)
      expect(await balanceOf(customer)).toBe(before)
    })

    test('a blocked customer is not charged for a renewal, and is renewed after unblocking by the retry after 1 hour', async () => {
      const { clock, services } = here.floor
      await services.setBlocked(customer, true)
      clock.nowMs = start + 6 * dayMs
      const before = await balanceOf(customer)
      expect(await renew()).toBe(0)
      expect([await balanceOf(customer), await endOf(customer)]).toEqual([before, start + 7 * dayMs])
      await services.setBlocked(customer, false)
      clock.advance(hourMs)
      expect(await renew()).toBe(1)
      expect(await endOf(customer)).toBe(start + 37 * dayMs)
    })

    test('a proxy whose renewal period is set to null is not renewed', async () => {
      const { clock, services } = here.floor
      await services.dedicated.setRenewal(customer, [id], null)
      clock.nowMs = start + 6 * dayMs
      expect(await renew()).toBe(0)
      expect(await endOf(customer)).toBe(start + 7 * dayMs)
    })

    test('a proxy that is prolonged manually while its renewal runs is not renewed after it', async () => {
      const { clock, services } = here.floor
      clock.nowMs = start + 6 * dayMs
      await Promise.all([renew(), prolongProxies(services, customer, [id], 30)])
      for (const order of await services.orders.list(customer, undefined, 10)) {
        if (order.action === 'renew') expect(order.calculation).toMatchObject({ proxies: [[id, start + 37 * dayMs]] })
      }
      expect(await renew()).toBe(0)
    })

    test('a renewal period that is not sold is refused, and one that is withdrawn later charges nothing', async () => {
      const { clock, services } = here.floor
      const refusal = await refusalOf(services.dedicated.setRenewal(customer, [id], 31))
      expect(refusal.details).toMatchObject([{ field: 'period', allowed: [3, 7, 14, 30, 60, 90] }])
      expect((await listed(customer))[0]?.renewPeriod).toBe(30)
      const fewer = shippedWith(here.code)
      fewer.dedicated.prolong_periods = [7]
      await applyCatalogue(services, fewer)
      clock.nowMs = start + 6 * dayMs
      const before = await balanceOf(customer)
      expect(await renew()).toBe(0)
      expect(await balanceOf(customer)).toBe(before)
    })

    test('a country that is no longer sold stops renewals without a fault, and its proxies stay', async () => {
      const { clock, services } = here.floor
      await applyCatalogue(services, shipped())
      clock.nowMs = start + 6 * dayMs
      expect(await renew()).toBe(0)
      expect(await listed(customer)).toHaveLength(1)
      expect(await services.stock.available(kindIn(here.code, 4))).toBe(3)
    })
  })
})
