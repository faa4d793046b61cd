import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { openThingsShop, type ThingsShop } from '../harness/things-shop.ts'
import { addCustomer, credit, buy as sellThing } from '../harness/wired.ts'

describe.each([...engines])('a safe retry on %s', (engine) => {
  let shop: ThingsShop
  beforeAll(async () => {
    shop = await openThingsShop(engine)
  })
  afterAll(() => shop.stop())
  const spent = async () => (await shop.get('/balance')).data.api_spent_rub as number
  const buy = (key: string | undefined, body: unknown = { count: 1 }, token: string = shop.token) =>
    shop.post('/things/buy', body, { token, ...(key !== undefined && { key }) })

  test('a repeat gets the first answer, byte for byte, is marked as such, and costs nothing', async () => {
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

  test('without a key every request is a purchase of its own', async () => {
    const [a, b] = [await buy(undefined), await buy(undefined)]
    expect(a.data.order_id).not.toBe(b.data.order_id)
  })

  test('the same key for another request is refused, and nothing is charged', async () => {
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

  test('a request is the same however it is spelled: order, white space, escapes and fields that mean nothing', async () => {
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

  test('whoever is shut out while the request is on its way buys nothing', async () => {
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

  test('a refusal is not remembered: the retry after a top-up works', async () => {
    const poor = await addCustomer(shop.services, 0n)
    const { text } = await shop.services.customers.issueToken(poor, { name: 'poor' })
    expect((await buy('order-3', { count: 1 }, text)).status).toBe(402)
    expect((await buy('order-3', { count: 0 }, text)).status).toBe(400)
    await credit(shop.services, poor, 900n)
    const bought = await buy('order-3', { count: 1 }, text)
    expect([bought.status, bought.data.balance_rub, bought.headers.has('idempotent-replayed')]).toEqual([200, 0, false])
  })

  test('a key belongs to its customer: another may use the same', async () => {
    const other = await addCustomer(shop.services, 900n)
    const { text } = await shop.services.customers.issueToken(other, { name: 'other' })
    const mine = await buy('order-4')
    const theirs = await buy('order-4', { count: 1 }, text)
    expect(theirs.headers.has('idempotent-replayed')).toBe(false)
    expect(theirs.data.order_id).not.toBe(mine.data.order_id)
  })

  test("a key holds for all of a customer's tokens", async () => {
    const { text } = await shop.services.customers.issueToken(shop.customer, { name: 'second' })
    const first = await buy('order-5')
    expect((await buy('order-5', { count: 1 }, text)).text).toBe(first.text)
  })

  test('a key is kept for seven days and then is free again', async () => {
    const first = await buy('order-6')
    shop.clock.advanceDays(7)
    shop.clock.advance(-1)
    expect((await buy('order-6')).text).toBe(first.text)
    shop.clock.advance(1)
    const later = await buy('order-6')
    expect(later.data.order_id).not.toBe(first.data.order_id)
    expect((await buy('order-6')).text).toBe(later.text)
  })

  test('answers past their time are forgotten, a bounded number at a time, and no other', async () => {
    await buy('order-7')
    shop.clock.advanceDays(8)
    const kept = await buy('order-8')
    while ((await shop.services.orders.forgetAnswers(3)) === 3);
    expect(await shop.services.db.all('SELECT key FROM answers')).toEqual([{ key: 'order-8' }])
    expect((await buy('order-8')).text).toBe(kept.text)
  })

  test('fifty repeats at once over HTTP have one effect', async () => {
    const before = await spent()
    const answers = await Promise.all(Array.from({ length: 50 }, () => buy('order-9')))
    const good = answers.filter((answer) => answer.status === 200)
    expect(new Set(good.map((answer) => answer.text)).size).toBe(1)
    expect(good.filter((answer) => !answer.headers.has('idempotent-replayed'))).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 200) expect(answer.error.code).toBe('request_in_progress')
    expect((await spent()) - before).toBe(9)
  })

  test('a key of 255 visible characters of any kind is taken', async () => {
    const key = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'.padEnd(255, 'k')
    const first = await buy(key)
    expect((await buy(key)).text).toBe(first.text)
  })
})
