import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'
import { addCustomer, credit, buy as sellThing } from '../harness/wired.ts'

describe.each([...engines])('the Idempotency-Key header on %s', (engine) => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop(engine)
  })
  afterAll(() => shop.stop())
  const spent = async () => (await shop.get('/balance')).data.api_spent_rub as number
  const buy = (key: string | undefined, body: unknown = { count: 1 }, token: string = shop.token) =>
    shop.post('/things/buy', body, { token, ...(key !== undefined && { key }) })

  test('a repeated purchase gets the first answer byte for byte, is marked as replayed and costs nothing', async () => {
    const before = await spent()
    const first = await buy('order-1')
    const repeats = [await buy('order-1'), await buy('order-1')]
    expect(first.headers.has('idempotent-replayed')).toBe(false)
    for (const repeat of repeats) {
      expect(repeat.status).toBe(200)
      expect(repeat.text).toBe(first.text)
      expect(repeat.headers.get('idempotent-replayed')).toBe('true')
    }
    expect((await spent()) - before).toBe(9)
  })

  test('two requests without a key are two purchases', async () => {
    const [a, b] = [await buy(undefined), await buy(undefined)]
    expect(a.data.order_id).not.toBe(b.data.order_id)
  })

  test('a key used with another body answers 422 with the first order’s id and charges nothing', async () => {
    const first = await buy('order-2')
    const before = await spent()
    for (const body of [{ count: 2 }, { count: 1, colour: 'red' }, { count: 1, note: 'a' }]) {
      const other = await buy('order-2', body)
      expect([other.status, other.error.code, other.error.details]).toEqual([
        422,
        'idempotency_key_reused',
        { charged: false, order_id: first.data.order_id },
      ])
      expect(other.error.message).toContain(`succeeded as order ${first.data.order_id}. Repeat that one exactly`)
    }
    await shop.services.db.transact((tx) => tx.run('UPDATE answers SET order_id = NULL'))
    const old = await buy('order-2', { count: 2 })
    expect([old.error.code, old.error.details]).toEqual(['idempotency_key_reused', { charged: false }])
    expect(await spent()).toBe(before)
  })

  test('a repeat matches in spite of field order, white space, escapes and unknown fields', async () => {
    const first = await shop.post('/things/buy', { count: 2, colour: 'red', note: 'é' }, { key: 'order-2b' })
    const before = await spent()
    for (const raw of [
      '{"note":"é","colour":"red","count":2}',
      '{ "count" : 2.0,\n\t"colour":"red" , "note":"\\u00e9" }',
      '{"count":2,"colour":"red","note":"é","extra":true}',
    ]) {
      const again = await shop.call('POST', '/things/buy', { raw, key: 'order-2b' })
      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true'])
    }
    expect(await spent()).toBe(before)
  })

  test('a revoked token or a blocked customer buys nothing, also after the request was authenticated', async () => {
    const late = await addCustomer(shop.services, 9_000n)
    const { text, token } = await shop.services.customers.issueToken(late, { name: 'late' })
    const by = { customer: late, token: { id: token.id, cap: null } }
    expect((await sellThing(shop.services, by, 900n)).replayed).toBe(false)
    await shop.services.customers.revokeToken(token.id)
    expect((await refusalOf(sellThing(shop.services, by, 900n))).code).toBe('invalid_token')
    expect((await buy(undefined, { count: 1 }, text)).status).toBe(401)
    await shop.services.setBlocked(late, true)
    const blocked = await refusalOf(sellThing(shop.services, { customer: late, token: null }, 900n))
    expect(blocked.code).toBe('forbidden')
    expect((await shop.services.ledger.balance(late)).balance).toBe(8_100n as never)
  })

  test('a refused purchase stores no answer: the same key buys after a top-up', async () => {
    const poor = await addCustomer(shop.services, 0n)
    const { text } = await shop.services.customers.issueToken(poor, { name: 'poor' })
    expect((await buy('order-3', { count: 1 }, text)).status).toBe(402)
    expect((await buy('order-3', { count: 0 }, text)).status).toBe(400)
    await credit(shop.services, poor, 900n)
    const bought = await buy('order-3', { count: 1 }, text)
    expect([bought.status, bought.data.balance_rub, bought.headers.has('idempotent-replayed')]).toEqual([200, 0, false])
  })

  test('a price of 27 above max_price_rub is refused with price_changed; the same key buys with 27', async () => {
    const before = await spent()
    for (const limit of [26.99, 0.01]) {
      const refused = await buy('limit-1', { count: 3, max_price_rub: limit })
      expect([refused.status, refused.error.code, refused.error.reason]).toEqual([409, 'conflict', 'price_changed'])
      expect(refused.error.params).toEqual({ price_rub: 27, max_price_rub: limit })
      expect(refused.error.details).toEqual({ price_rub: 27, max_price_rub: limit, charged: false })
    }
    expect(await spent()).toBe(before)
    const bought = await buy('limit-1', { count: 3, max_price_rub: 27 })
    expect([bought.status, bought.data.price_rub]).toEqual([200, 27])
    expect((await spent()) - before).toBe(27)
  })

  test('a repeat with a lower, a higher or no max_price_rub replays the first answer', async () => {
    const first = await buy('limit-2', { count: 1, max_price_rub: 9 })
    for (const limit of [{ max_price_rub: 8 }, { max_price_rub: 100 }, {}]) {
      const again = await buy('limit-2', { count: 1, ...limit })
      expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    }
  })

  test('two customers may use the same key for two purchases', async () => {
    const other = await addCustomer(shop.services, 900n)
    const { text } = await shop.services.customers.issueToken(other, { name: 'other' })
    const mine = await buy('order-4')
    const theirs = await buy('order-4', { count: 1 }, text)
    expect(theirs.headers.has('idempotent-replayed')).toBe(false)
    expect(theirs.data.order_id).not.toBe(mine.data.order_id)
  })

  test('a key replays the answer for every token of its customer', async () => {
    const { text } = await shop.services.customers.issueToken(shop.customer, { name: 'second' })
    const first = await buy('order-5')
    expect((await buy('order-5', { count: 1 }, text)).text).toBe(first.text)
  })

  test('a key replays its answer for 7 days and then buys again', async () => {
    const first = await buy('order-6')
    shop.clock.advanceDays(7)
    shop.clock.advance(-1)
    expect((await buy('order-6')).text).toBe(first.text)
    shop.clock.advance(1)
    const later = await buy('order-6')
    expect(later.data.order_id).not.toBe(first.data.order_id)
    expect((await buy('order-6')).text).toBe(later.text)
  })

  test('forgetAnswers deletes answers older than 7 days, 3 per call, and keeps newer ones', async () => {
    await buy('order-7')
    shop.clock.advanceDays(8)
    const kept = await buy('order-8')
    while ((await shop.services.orders.forgetAnswers(3)) === 3);
    expect(await shop.services.db.all('SELECT key FROM answers')).toEqual([{ key: 'order-8' }])
    expect((await buy('order-8')).text).toBe(kept.text)
  })

  test('50 concurrent requests with one key buy once; the rest replay or answer request_in_progress', async () => {
    const before = await spent()
    const answers = await Promise.all(Array.from({ length: 50 }, () => buy('order-9')))
    const good = answers.filter((answer) => answer.status === 200)
    expect(new Set(good.map((answer) => answer.text)).size).toBe(1)
    expect(good.filter((answer) => !answer.headers.has('idempotent-replayed'))).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 200) expect(answer.error.code).toBe('request_in_progress')
    expect((await spent()) - before).toBe(9)
  })

  test('a key of 255 visible ASCII characters is accepted', async () => {
    const key = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'.padEnd(255, 'k')
    const first = await buy(key)
    expect((await buy(key)).text).toBe(first.text)
  })
})
