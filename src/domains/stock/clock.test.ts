import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import {
  addStock,
  buyProxies,
  type DomainShop,
  openDomainShop,
  replaceProxy,
  shippedWith,
} from '../../../test/harness/proxies.ts'
import { addCustomer, findingsOf } from '../../../test/harness/wired.ts'
import { dedicatedJobs } from '../../jobs/shop.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The machine's clock may be set back while the shop runs, by hand or by NTP. */
describe.each([...engines])('stock with a clock that is set back, on %s', (engine) => {
  let shop: DomainShop
  beforeEach(async () => {
    shop = await openDomainShop(engine, shippedWith('AT'))
  })
  afterEach(async () => {
    expect(await findingsOf(shop.services)).toEqual([])
    await shop.close()
  })
  const runJobs = async () => {
    for (const job of dedicatedJobs(shop.services, { info: () => {} })) await job.work()
  }

  test.each([4, 3, 6] as const)(
    'a proxy of kind %d is replaced once after the clock was set back by 1 hour',
    async (ipv) => {
      const { services, clock } = shop
      await addStock(services, ipv === 6 ? '2001:db8::/125' : '203.0.113.0/29', 'AT', ipv)
      const customer = await addCustomer(services, 10n ** 9n)
      const { proxies } = await buyProxies(services, customer, { code: 'AT', ipv, period: 7 })
      clock.advance(-hourMs)
      const [bought] = proxies
      const replaced = await replaceProxy(services, customer, bought?.id ?? 0)
      expect(replaced.address).not.toBe(bought?.address ?? '')
      clock.advance(-hourMs)
      expect((await refusalOf(replaceProxy(services, customer, bought?.id ?? 0))).code).toBe('conflict')
    },
  )

  test('an address whose lease and rest have ended is sold again after the clock was set back by 8 days', async () => {
    const { services, clock } = shop
    await addStock(services, '203.0.113.0/30', 'AT', 4)
    const customer = await addCustomer(services, 10n ** 9n)
    for (let round = 0; round < 3; round += 1) {
      await buyProxies(services, customer, { code: 'AT', ipv: 4, period: 7, count: 4 })
      clock.advance(17 * dayMs)
      await runJobs()
      await runJobs()
      // The leases and the rest have ended; then the clock is set back to before both ends.
      clock.advance(-8 * dayMs)
      const { proxies } = await buyProxies(services, customer, { code: 'AT', ipv: 4, period: 7, count: 4 })
      expect(proxies).toHaveLength(4)
      clock.advance(30 * dayMs)
      await runJobs()
      await runJobs()
    }
  })

  test('a slot can be sold, returned and sold again at the same millisecond', async () => {
    const { services, clock } = shop
    await addStock(services, '203.0.113.0/32', 'AT', 4)
    const customer = await addCustomer(services, 10n ** 9n)
    const start = clock.nowMs
    for (let round = 0; round < 3; round += 1) {
      await buyProxies(services, customer, { code: 'AT', ipv: 4, period: 7 })
      clock.nowMs = start + 40 * dayMs
      await runJobs()
      await runJobs()
      clock.nowMs = start
    }
  })
})
