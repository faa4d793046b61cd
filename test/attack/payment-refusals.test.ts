import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CallPurpose } from '../../src/domains/payments/ports.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

const hourMs = 3_600_000

describe.each([...engines])('on %s', (engine) => {
  let shop: Service
  let crypto: Introduced
  /** What was asked of the provider, in this order. */
  const asked: string[] = []
  beforeAll(async () => {
    shop = await startService(engine)
    crypto = await introduce(shop.services, 'crypto_pay', { now: shop.clock.read })
    const { connection } = await shop.services.providers.load('crypto_pay')
    if (!connection) throw new Error('the provider has no connection')
    const find = connection.find.bind(connection)
    const findOpened = connection.findOpened.bind(connection)
    Object.assign(connection, {
      find(providerId: string, purpose?: CallPurpose) {
        asked.push(`find to ${purpose ?? 'poll'}`)
        return find(providerId, purpose)
      },
      findOpened(...of: Parameters<typeof findOpened>) {
        asked.push('findOpened')
        return findOpened(...of)
      },
    })
  })
  afterAll(async () => {
    await crypto.side.stop()
    await shop.stop()
  })

  const begin = (token: string, key?: string) =>
    shop.post('/payments', { amount_rub: 300, method: 'crypto' }, { token, ...(key !== undefined && { key }) })
  async function poll(times: number, everyMs: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      shop.clock.advance(everyMs)
      await shop.services.paymentWatch.lookAgain(100)
    }
  }

  test('a payment that the provider refused on the first try is never asked for again', async () => {
    const { token } = await shop.newCustomer()
    crypto.side.troubles.push('400')
    expect((await begin(token)).status).toBe(502)
    asked.length = 0
    await poll(300, hourMs)
    expect(asked).toEqual([])
    expect((await shop.get('/payments', { token })).data.payments).toMatchObject([{ status: 'cancelled' }])
  })

  test('a refused payment whose first try got no answer is looked for twice at most', async () => {
    const { token } = await shop.newCustomer()
    crypto.side.troubles.push('done, then cut off', '400')
    expect((await begin(token)).status).toBe(502)
    asked.length = 0
    await poll(300, hourMs)
    expect(asked.length).toBeWithin(1, 3)
    // The orphan was found and is known by its id from then on.
    expect(asked[0]).toBe('findOpened')
  })

  test('the sixth payment within an hour after 5 refusals gets 429, other customers and methods do not', async () => {
    const [{ token }, other] = [await shop.newCustomer(), await shop.newCustomer()]
    for (let count = 0; count < 5; count += 1) {
      shop.clock.advance(60_000)
      crypto.side.troubles.push('400')
      expect((await begin(token)).status).toBe(502)
    }
    const late = await begin(token)
    expect([late.status, late.error.code, late.headers.get('retry-after')]).toEqual([429, 'rate_limited', '3360'])
    expect((await shop.get('/payments', { token })).data.payments).toHaveLength(5)
    expect((await begin(other.token)).status).toBe(200)
    expect((await shop.post('/payments', { amount_rub: 300, method: 'sandbox' }, { token })).status).toBe(200)
    shop.clock.advance(3_359_000)
    expect((await begin(token)).status).toBe(429)
    shop.clock.advance(1000)
    expect((await begin(token)).status).toBe(200)
  })

  test('a key whose payment was opened replays its answer after 5 refusals', async () => {
    const { token } = await shop.newCustomer()
    const first = await begin(token, 'opened')
    crypto.side.troubles.push('400', '400', '400', '400', '400')
    for (let count = 0; count < 5; count += 1) expect((await begin(token)).status).toBe(502)
    const again = await begin(token, 'opened')
    expect([again.status, again.text]).toEqual([200, first.text])
  })

  test('a notification asks the provider as a notification, and a job asks as a poll', async () => {
    const { token } = await shop.newCustomer()
    const { data } = await begin(token)
    const bill = [...crypto.side.bills.values()].find((each) => each.mark === data.payment_id)
    if (!bill) throw new Error('the provider has no such payment')
    await shop.services.paymentWatch.lookAgain(100)
    asked.length = 0
    await poll(1, 20_000)
    expect(new Set(asked)).toEqual(new Set(['find to poll']))
    asked.length = 0
    crypto.side.pay(bill.id)
    const post = { method: 'POST', ...crypto.side.tell(bill.id) }
    expect((await fetch(`${shop.url}/api/v1/payments/notify/crypto_pay`, post)).status).toBe(200)
    expect(asked).toEqual(['find to notify'])
  })

  test('verify finds nothing wrong after refusals', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
