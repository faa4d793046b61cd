// What the API calls it; nothing here is a promise.
/* oxlint-disable unicorn/no-thenable */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

const dayMs = 86_400_000
const vpn = { product: 'vpn', period: 1 }

describe.each([...engines])('a price that is held until a payment comes, on %s:', (engine) => {
  let shop: Service
  beforeAll(async () => {
    shop = await startService(engine)
    await shop.services.providers.set('invoice', {
      settings: new Map([['details', 'account 42']]),
      methods: undefined,
      min: new Map(),
      max: new Map(),
      fee: new Map(),
      secret: undefined,
    })
  })
  afterAll(() => shop.stop())

  const begin = (token: string, then: object | undefined, amount = 5000) =>
    shop.post('/payments', { amount_rub: amount, method: 'transfer', ...(then && { then }) }, { token })
  const mark = (id: string) => shop.services.paymentOperator.markPaid(id as PaymentId, 'came', undefined)
  const stateOf = async (token: string, id: string) =>
    (await shop.get(`/payments/${id}`, { token })).data.then.state as string

  test('of 10 payments begun at the same moment 3 hold a price, and 7 are refused with 409', async () => {
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

  test('payments that must be made within a day are not counted', async () => {
    const { token } = await shop.newCustomer()
    const card = { amount_rub: 5000, method: 'sandbox', then: vpn }
    for (let count = 0; count < 5; count += 1) expect((await shop.post('/payments', card, { token })).status).toBe(200)
    expect((await begin(token, vpn)).status).toBe(200)
  })

  test('one customer holds prices of 350,000 RUB at most, and another customer is not affected', async () => {
    const [anna, boris] = [await shop.newCustomer(), await shop.newCustomer()]
    const { data } = await begin(anna.token, { product: 'traffic', pool_type: 'residential', gb: 500 }, 900_000)
    const price = data.then.price_rub as number
    expect(price).toBeWithin(1, 350_001)
    const more = { product: 'traffic', pool_type: 'residential', gb: Math.ceil((500 * 350_001) / price) }
    expect((await begin(anna.token, more, 900_000)).status).toBe(409)
    const refused = await begin(boris.token, more, 900_000)
    expect([refused.status, refused.error.details]).toEqual([409, { charged: false }])
    expect((await begin(boris.token, vpn)).status).toBe(200)
  })

  test('a transfer that comes within 3 days buys at the held price, one that comes later tops up only', async () => {
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

  test('an open payment whose price is no longer held leaves room for another', async () => {
    const { token } = await shop.newCustomer()
    for (let count = 0; count < 3; count += 1) expect((await begin(token, vpn)).status).toBe(200)
    expect((await begin(token, vpn)).status).toBe(409)
    shop.clock.advance(3 * dayMs + 16 * 60_000)
    expect((await begin(token, vpn)).status).toBe(200)
  })

  test('verify finds nothing wrong after them', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
