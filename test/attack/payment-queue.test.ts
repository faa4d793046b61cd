// What the API calls it; nothing here is a promise.
/* oxlint-disable unicorn/no-thenable */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Refusal } from '../../src/kernel/refusal.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const traffic = { product: 'traffic', pool_type: 'residential', gb: 1 }
const dayMs = 86_400_000

describe.each([...engines])('purchases that wait for their payment, on %s:', (engine) => {
  let shop: Service
  let sell: Service['services']['premium']['traffic']['buy']
  /** How many times traffic could not be sold. */
  let refusals = 0
  beforeAll(async () => {
    shop = await startService(engine)
    const { traffic: sold } = shop.services.premium
    sell = sold.buy.bind(sold)
  })
  afterAll(() => shop.stop())

  /** Traffic is refused for now, as while all gateways are away. */
  function stopSelling(): void {
    shop.services.premium.traffic.buy = async () => {
      refusals += 1
      throw new Refusal('unavailable', 'unavailable', 'no gateway is up')
    }
  }
  const sellAgain = () => void (shop.services.premium.traffic.buy = sell)

  async function pay(token: string, then: object = traffic): Promise<string> {
    const { data } = await shop.post('/payments', { amount_rub: 5000, method: 'sandbox', then }, { token })
    await fetch(data.pay_url, { method: 'POST' })
    return data.payment_id
  }
  const stateOf = async (token: string, id: string) =>
    (await shop.get(`/payments/${id}`, { token })).data.then.state as string
  const attempt = (most: number) => shop.services.purchases.carryOutAll(most)

  test('20 of one customer that are refused leave a turn to another customer in the same batch of 20', async () => {
    const [anna, boris] = [await shop.newCustomer(), await shop.newCustomer()]
    stopSelling()
    for (let count = 0; count < 20; count += 1) await pay(anna.token)
    // Ids follow one another by the millisecond: this one is the newest.
    shop.clock.advance(5)
    const { carryOut } = shop.services.purchases
    shop.services.purchases.carryOut = async () => undefined
    const id = await pay(boris.token, { product: 'vpn', period: 1 })
    shop.services.purchases.carryOut = carryOut
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

  test('one that is refused is tried after 15 s, then after twice as long each time, at most every 30 min', async () => {
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

  test('one that cannot be bought for 3 days lapses, and the money stays on the balance', async () => {
    const { token } = await shop.newCustomer()
    stopSelling()
    const id = await pay(token)
    shop.clock.advance(3 * dayMs)
    expect(await attempt(20)).toBe(1)
    sellAgain()
    expect([await stateOf(token, id), await attempt(20)]).toEqual(['lapsed', 0])
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(5000)
  })

  test('two processes never try the same one at the same moment', async () => {
    const { token } = await shop.newCustomer()
    stopSelling()
    for (let count = 0; count < 6; count += 1) await pay(token)
    refusals = 0
    const tried = await Promise.all([attempt(4), attempt(4), attempt(4)])
    // What two of them wanted at once is left to the next attempt.
    tried.push(await attempt(6))
    sellAgain()
    const sum = tried.reduce((before, each) => before + each, 0)
    expect([refusals, sum]).toEqual([6, 6])
  })

  test('verify finds nothing wrong after them', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
