import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const vpn = { product: 'vpn', period: 1 }
const traffic = { product: 'traffic', pool_type: 'residential', gb: 1 }
const dayMs = 86_400_000

describe.each([...engines])('purchases after a payment, on %s', (engine) => {
  let shop: Service
  let sell: Service['services']['premium']['traffic']['buyer']['buy']
  let attempt: Service['services']['purchases']['fulfilAll']
  /** The number of refused traffic sales. */
  let refusals = 0
  beforeAll(async () => {
    shop = await startService(engine)
    const { premium, providers, purchases } = shop.services
    sell = premium.traffic.buyer.buy.bind(premium.traffic.buyer)
    attempt = purchases.fulfilAll.bind(purchases)
    // The test runs the purchase attempts, and not the job that runs every 10 s.
    purchases.fulfilAll = async () => 0
    await providers.set('invoice', {
      settings: new Map([['details', 'account 42']]),
      methods: undefined,
      min: new Map(),
      max: new Map(),
      fee: new Map(),
      secret: undefined,
    })
  })
  afterAll(() => shop.stop())

  const stateOf = async (token: string, id: string) =>
    (await shop.get(`/payments/${id}`, { token })).data.purchase.state as string

  test('a purchase that is out of stock or beyond the cap of its token is refused before it is paid for', async () => {
    const { customer, token } = await shop.newCustomer()
    const begin = (purchase: object, by: string) =>
      shop.post('/payments', { amount_rub: 500, method: 'sandbox', purchase }, { token: by })
    const proxies = { product: 'dedicated', country_code: 'DE', period: 30, count: 1000, ipv: 4 }
    expect((await begin(proxies, token)).error.reason).toBe('out_of_stock')
    const capped = await shop.services.customers.issueToken(customer, { name: 'capped', cap: kopecks(10_000n) })
    expect((await begin(vpn, capped.text)).error.reason).toBe('spending_cap_reached')
    expect((await shop.get('/payments', { token })).data.payments).toEqual([])
  })

  describe('purchases that wait for their payment', () => {
    /** Refuses traffic for now, as while no gateway is up. */
    function stopSelling(): void {
      shop.services.premium.traffic.buyer.buy = async () => {
        refusals += 1
        throw new Refusal('no_gateway_up')
      }
    }
    const sellAgain = () => void (shop.services.premium.traffic.buyer.buy = sell)

    async function pay(token: string, purchase: object = traffic): Promise<string> {
      const { data } = await shop.post('/payments', { amount_rub: 5000, method: 'sandbox', purchase }, { token })
      await fetch(data.pay_url, { method: 'POST' })
      return data.payment_id
    }

    test("20 refused purchases of one customer do not keep another customer's purchase out of a batch of 20", async () => {
      const [anna, boris] = [await shop.newCustomer(), await shop.newCustomer()]
      stopSelling()
      for (let count = 0; count < 20; count += 1) await pay(anna.token)
      // Ids are ordered by the millisecond: this purchase is the newest.
      shop.clock.advance(5)
      const { buyer } = shop.services.vpn
      const buy = buyer.buy.bind(buyer)
      buyer.buy = async () => {
        throw new Refusal('no_gateway_up')
      }
      const id = await pay(boris.token, vpn)
      buyer.buy = buy
      expect(await stateOf(boris.token, id)).toBe('waiting')
      await attempt(20)
      expect(await stateOf(boris.token, id)).toBe('bought')
      await attempt(20)
      sellAgain()
      shop.clock.advance(dayMs)
      await attempt(20)
      const { data } = await shop.get('/orders', { token: anna.token })
      expect(data.orders).toHaveLength(20)
    })

    test('the shop retries a refused purchase after 15 s, then after twice as long each time, up to 30 min', async () => {
      const { token } = await shop.newCustomer()
      stopSelling()
      const id = await pay(token)
      const waits: number[] = []
      for (let tries = 0; tries < 10; tries += 1) {
        let waited = 0
        while ((await attempt(20)) === 0) {
          shop.clock.advance(15_000)
          waited += 15
        }
        waits.push(waited)
      }
      sellAgain()
      expect(waits).toEqual([0, 15, 30, 60, 120, 240, 480, 960, 1800, 1800])
      expect(await attempt(20)).toBe(0)
      shop.clock.advance(1_800_000)
      expect([await attempt(20), await stateOf(token, id)]).toEqual([1, 'bought'])
    })

    test('a purchase that cannot be made for 3 days lapses, and the money stays on the balance', async () => {
      const { token } = await shop.newCustomer()
      stopSelling()
      const id = await pay(token)
      shop.clock.advance(3 * dayMs)
      expect(await attempt(20)).toBe(1)
      sellAgain()
      expect([await stateOf(token, id), await attempt(20)]).toEqual(['lapsed', 0])
      expect((await shop.get('/balance', { token })).data.balance_rub).toBe(5000)
    })

    test('parallel processes never try the same purchase at the same time', async () => {
      const { token } = await shop.newCustomer()
      stopSelling()
      for (let count = 0; count < 6; count += 1) await pay(token)
      refusals = 0
      const tried = await Promise.all([attempt(4), attempt(4), attempt(4)])
      // A purchase that two attempts claimed at once is left to the next attempt.
      tried.push(await attempt(6))
      sellAgain()
      const sum = tried.reduce((before, each) => before + each, 0)
      expect([refusals, sum]).toEqual([6, 6])
    })
  })

  describe('prices held until a payment arrives', () => {
    const begin = (token: string, purchase: object | undefined, amount = 5000) =>
      shop.post('/payments', { amount_rub: amount, method: 'transfer', ...(purchase && { purchase }) }, { token })
    const mark = (id: string) => shop.services.paymentOperator.markPaid(id as PaymentId, 'came', undefined)

    test('10 concurrent payments hold a price 3 times, and 7 are refused with 409', async () => {
      const { token } = await shop.newCustomer()
      const answers = await Promise.all(Array.from({ length: 10 }, () => begin(token, vpn)))
      const statuses = answers.map((each) => each.status).toSorted((a, b) => a - b)
      expect(statuses).toEqual([200, 200, 200, 409, 409, 409, 409, 409, 409, 409])
      const refused = answers.find((each) => each.status === 409)
      expect(refused?.error).toMatchObject({ code: 'conflict', details: { charged: false } })
      expect((await shop.get('/payments', { token })).data.payments).toHaveLength(3)
      expect((await begin(token, undefined)).status).toBe(200)
      const held = answers.find((each) => each.status === 200)
      await mark(held?.data.payment_id)
      expect([(await begin(token, vpn)).status, (await begin(token, vpn)).status]).toEqual([200, 409])
    })

    test('payments with a deadline within a day do not count towards held prices', async () => {
      const { token } = await shop.newCustomer()
      const card = { amount_rub: 5000, method: 'sandbox', purchase: vpn }
      for (let count = 0; count < 5; count += 1)
        expect((await shop.post('/payments', card, { token })).status).toBe(200)
      expect((await begin(token, vpn)).status).toBe(200)
    })

    test('one customer holds prices of 350,000 RUB at most, and another customer is not affected', async () => {
      const [anna, boris] = [await shop.newCustomer(), await shop.newCustomer()]
      const { data } = await begin(anna.token, { product: 'traffic', pool_type: 'residential', gb: 500 }, 900_000)
      const price = data.purchase.price_rub as number
      expect(price).toBeWithin(1, 350_001)
      const more = { product: 'traffic', pool_type: 'residential', gb: Math.ceil((500 * 350_001) / price) }
      expect((await begin(anna.token, more, 900_000)).status).toBe(409)
      const refused = await begin(boris.token, more, 900_000)
      expect([refused.status, refused.error.details]).toEqual([409, { charged: false }])
      expect((await begin(boris.token, vpn)).status).toBe(200)
    })

    test('a transfer within 3 days buys at the held price, and a later one only tops up', async () => {
      for (const [waitMs, state] of [
        [3 * dayMs, 'bought'],
        [3 * dayMs + 16 * 60_000, 'lapsed'],
      ] as const) {
        const { token } = await shop.newCustomer()
        const { data } = await begin(token, vpn)
        shop.clock.advance(waitMs)
        await mark(data.payment_id)
        const balance = (await shop.get('/balance', { token })).data.balance_rub
        expect([await stateOf(token, data.payment_id), balance === 5000]).toEqual([state, state === 'lapsed'])
      }
    })

    test('an open payment whose price is no longer held does not count towards the limit of 3', async () => {
      const { token } = await shop.newCustomer()
      for (let count = 0; count < 3; count += 1) expect((await begin(token, vpn)).status).toBe(200)
      expect((await begin(token, vpn)).status).toBe(409)
      shop.clock.advance(3 * dayMs + 16 * 60_000)
      expect((await begin(token, vpn)).status).toBe(200)
    })
  })

  test('verify finds nothing wrong after all purchases', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
