import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerId, PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import type { Bill } from '../providers/other-side.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

const dayMs = 86_400_000

describe.each([...engines])('payment fraud, on %s', (engine) => {
  let shop: Service
  let card: Introduced
  beforeAll(async () => {
    shop = await startService(engine)
    card = await introduce(shop.services, 'yookassa', { now: shop.clock.read })
  })
  afterAll(async () => {
    await card.side.stop()
    await shop.stop()
  })

  const balanceOf = async (token: string): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub
  const press = (url: string) => fetch(url, { method: 'POST' })

  async function begin(token: string, amount: number, also: object = {}) {
    const { data } = await shop.post('/payments', { amount_rub: amount, method: 'sandbox', ...also }, { token })
    return { id: data.payment_id as PaymentId, pay: () => press(data.pay_url) }
  }
  async function topUp(token: string, amount: number, also: object = {}): Promise<PaymentId> {
    const { id, pay } = await begin(token, amount, also)
    await pay()
    return id
  }
  /** A paid top-up whose purchase of a VPN was refused for now: it waits, as if its process had died before it. */
  async function topUpBeforeSale(token: string, amount: number): Promise<PaymentId> {
    const { buyer } = shop.services.vpn
    const buy = buyer.buy.bind(buyer)
    buyer.buy = async () => {
      throw new Refusal('no_gateway_up')
    }
    const id = await topUp(token, amount, { purchase: { product: 'vpn', period: 1 } })
    buyer.buy = buy
    return id
  }
  async function beginByCard(token: string, amount: number): Promise<Bill> {
    const { data } = await shop.post('/payments', { amount_rub: amount, method: 'card' }, { token })
    const bill = [...card.side.bills.values()].find((each) => each.mark === data.payment_id)
    if (!bill) throw new Error('nothing was opened')
    return bill
  }
  async function notify(id: string): Promise<void> {
    const { headers, body } = card.side.notificationOf(id)
    const answer = await fetch(`${shop.url}/api/v1/payments/notify/yookassa`, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
  }
  const refund = (id: PaymentId, roubles: bigint | 'all', intoDebt = true) => {
    const amount = roubles === 'all' ? roubles : kopecks(roubles * 100n)
    return shop.services.paymentOperator.refund(id, { amount, intoDebt, note: 'back' })
  }
  const addCode = (code: string, uses: number | null) =>
    shop.services.codes.add({
      code,
      kind: 'percent',
      value: 1000n,
      least: kopecks(0n),
      uses,
      untilAt: null,
      note: '',
    })
  /** Two customers; the first referred the second. */
  async function newPair() {
    const anna = await shop.newCustomer()
    shop.clock.advance(5)
    const boris = await shop.newCustomer()
    await shop.services.referrals.add(boris.customer, anna.customer)
    return { anna, boris }
  }

  test('a partial refund of 999 RUB debits the whole bonus of the top-up', async () => {
    await addCode('PART', null)
    const { token } = await shop.newCustomer()
    const id = await topUp(token, 1000, { code: 'PART' })
    expect(await balanceOf(token)).toBe(1100)
    await refund(id, 999n)
    expect(await balanceOf(token)).toBe(1)
    await refund(id, 'all')
    expect(await balanceOf(token)).toBe(0)
  })

  test('a partial refund debits the referral share, and the share names no payment of the other customer', async () => {
    const { anna, boris } = await newPair()
    await shop.services.referrals.set({ hundredths: 1000, topUps: 1 })
    const id = await topUp(boris.token, 1000)
    await shop.services.referrals.set({ hundredths: 0, topUps: 1 })
    expect(await balanceOf(anna.token)).toBe(100)
    const { data } = await shop.get('/transactions', { token: anna.token })
    expect(data.transactions).toMatchObject([{ amount_rub: 100, payment_id: null }])
    await refund(id, 999n)
    expect([await balanceOf(anna.token), await balanceOf(boris.token)]).toEqual([0, 1])
  })

  test('the shop refuses to refund a spent bonus or referral share until the operator confirms a debt', async () => {
    await addCode('SPENT', null)
    const { anna, boris } = await newPair()
    await shop.services.referrals.set({ hundredths: 1000, topUps: 9 })
    const id = await topUp(boris.token, 1000, { code: 'SPENT' })
    const other = await topUp(boris.token, 500)
    await shop.services.referrals.set({ hundredths: 0, topUps: 1 })
    const spend = (customer: CustomerId, roubles: bigint) =>
      shop.services.db.transact((tx) =>
        shop.services.ledger.adjust(tx, customer, {
          kind: 'debit',
          amount: kopecks(roubles * 100n),
          note: '',
          key: null,
          reference: null,
        }),
      )
    await spend(boris.customer, 550n)
    expect([await balanceOf(anna.token), await balanceOf(boris.token)]).toEqual([150, 1050])
    expect((await failureOf(refund(id, 'all', false))).message).toContain('bonus of 100.00 RUB is taken back too')
    await spend(anna.customer, 120n)
    expect((await failureOf(refund(other, 'all', false))).message).toContain(anna.customer)
    expect([await balanceOf(anna.token), await balanceOf(boris.token)]).toEqual([30, 1050])
    await refund(other, 'all')
    expect([await balanceOf(anna.token), await balanceOf(boris.token)]).toEqual([-20, 550])
  })

  test('a customer cannot refer itself or an older customer', async () => {
    const { anna, boris } = await newPair()
    const { referrals } = shop.services
    expect((await failureOf(referrals.add(anna.customer, anna.customer))).message).toContain('refer themselves')
    expect((await failureOf(referrals.add(anna.customer, boris.customer))).message).toContain('before')
  })

  test('POST /payments answers 400 to 20 wrong promotion codes of a customer and then 429 for 180 s', async () => {
    await addCode('GUESSED', null)
    const { token, customer } = await shop.newCustomer()
    const guess = async (code: string) =>
      (await shop.post('/payments', { amount_rub: 100, method: 'sandbox', code }, { token })).status
    const guesses = await Promise.all(Array.from({ length: 30 }, (_, index) => guess(`GUESS${index}`)))
    expect(guesses.filter((status) => status === 400)).toHaveLength(20)
    expect(guesses.filter((status) => status === 429)).toHaveLength(10)
    expect(await guess('GUESSED')).toBe(429)
    // Another token of the customer and a quote are limited alike, with Retry-After.
    const another = (await shop.services.customers.issueToken(customer, { name: 'another' })).text
    const quote = await shop.get('/payments/quote?amount_rub=100&method=sandbox&code=GUESSED', { token: another })
    expect([quote.status, Number(quote.headers.get('retry-after'))]).toEqual([429, 180])
    shop.clock.advance(180_000)
    expect(await guess('GUESSED')).toBe(200)
  })

  test('1 of 12 parallel payments uses a promotion code with one use left', async () => {
    await addCode('LAST', 1)
    const customers = await Promise.all(Array.from({ length: 6 }, () => shop.newCustomer()))
    const input = { amount_rub: 100, method: 'sandbox', code: 'LAST' }
    const requests = customers.flatMap(({ token }) => [
      shop.post('/payments', input, { token }),
      shop.post('/payments', input, { token }),
    ])
    const answers = await Promise.all(requests)
    expect(answers.filter((each) => each.status === 200)).toHaveLength(1)
  })

  test('a refund before the purchase makes the purchase lapse, at any balance', async () => {
    const { purchases } = shop.services
    const { token } = await shop.newCustomer(5000n)
    const id = await topUpBeforeSale(token, 1000)
    await refund(id, 'all')
    await purchases.fulfilAll(100)
    expect((await shop.get(`/payments/${id}`, { token })).data.purchase).toMatchObject({
      state: 'lapsed',
      order_id: null,
    })
    expect([await balanceOf(token), (await shop.get('/orders', { token })).data.orders]).toEqual([5000, []])
  })

  test('a purchase made before a refund is recorded as bought although its process died before recording it', async () => {
    const { purchases, vpn } = shop.services
    const { token, customer } = await shop.newCustomer()
    const id = await topUpBeforeSale(token, 5000)
    const request = { by: { customer, token: null }, key: `purchase ${id}`, automatic: true as const }
    await vpn.buy({ ...request, toBody: ({ order }) => order }, { months: 1 })
    await refund(id, 'all')
    await purchases.fulfilAll(100)
    const { data } = await shop.get('/orders', { token })
    const { purchase } = (await shop.get(`/payments/${id}`, { token })).data
    expect(purchase).toMatchObject({ state: 'bought', order_id: data.orders[0].order_id })
    expect(data.orders).toHaveLength(1)
  })

  test('auto-renewal does not run on a negative balance', async () => {
    const { token } = await shop.newCustomer()
    const id = await topUp(token, 5000)
    expect((await shop.post('/vpn/buy', { period: 1, auto_renew: true }, { token })).status).toBe(200)
    await refund(id, 'all')
    const owed = await balanceOf(token)
    expect(owed).toBeLessThan(0)
    const { data: before } = await shop.get('/vpn/info', { token })
    shop.clock.advance(29.9 * dayMs)
    await shop.services.vpn.renewDue()
    expect(await balanceOf(token)).toBe(owed)
    expect((await shop.get('/vpn/info', { token })).data.items[0].expires_at).toBe(before.items[0].expires_at)
  })

  test('a payment paid while the provider answers "cancelled" is credited once', async () => {
    const { token } = await shop.newCustomer()
    const { id } = await beginByCard(token, 300)
    card.side.end(id)
    shop.clock.advance(20_000)
    const { connection } = await shop.services.providers.load('yookassa')
    if (!connection) throw new Error('the provider has no connection')
    const find = connection.find.bind(connection)
    let isLate = true
    Object.assign(connection, {
      async find(providerId: string) {
        const seen = await find(providerId)
        if (!isLate || providerId !== id) return seen
        isLate = false
        card.side.pay(id)
        await notify(id)
        return seen
      },
    })
    await shop.services.paymentWatch.pollDue(100)
    Object.assign(connection, { find })
    expect([isLate, await balanceOf(token)]).toEqual([false, 300])
    await shop.services.paymentWatch.pollDue(100)
    expect(await balanceOf(token)).toBe(300)
  })

  test('a payment whose status cannot be read does not block the next payment of 400 RUB', async () => {
    const { token } = await shop.newCustomer()
    const bills = [await beginByCard(token, 300), await beginByCard(token, 400)]
    for (const { id } of bills) card.side.pay(id)
    shop.clock.advance(20_000)
    const { connection } = await shop.services.providers.load('yookassa')
    if (!connection) throw new Error('the provider has no connection')
    const find = connection.find.bind(connection)
    const failing = (providerId: string) => {
      if (providerId === bills[0]?.id) throw new Error('a fault of ours')
      return find(providerId)
    }
    Object.assign(connection, { find: async (providerId: string) => failing(providerId) })
    expect((await failureOf(shop.services.paymentWatch.pollDue(100))).message).toBe('a fault of ours')
    Object.assign(connection, { find })
    expect(await balanceOf(token)).toBe(400)
    shop.clock.advance(300_000)
    await shop.services.paymentWatch.pollDue(100)
    expect(await balanceOf(token)).toBe(700)
  })

  test('an underpaid payment is credited by the operator once, and its later refund becomes an excess notice', async () => {
    const { paymentOperator } = shop.services
    const { token, customer } = await shop.newCustomer()
    const bill = await beginByCard(token, 300)
    Object.assign(bill, { hundredths: 20_000 })
    card.side.pay(bill.id)
    await notify(bill.id)
    const noticed = async () =>
      (await paymentOperator.unmatched(false, 500)).filter((each) => each.providerId === bill.id)
    const [first] = await noticed()
    if (!first) throw new Error('there is no notice')
    await paymentOperator.resolve(first.id, { customer, note: 'paid too little' })
    expect([first.reason, await balanceOf(token), await noticed()]).toEqual(['amount', 200, []])
    card.side.refund(bill.id, 20_000)
    await notify(bill.id)
    const [second] = await noticed()
    expect(second).toMatchObject({ reason: 'excess' })
    const wrong = paymentOperator.resolve(second?.id ?? first.id, { customer, note: 'no' })
    expect((await failureOf(wrong)).message).toContain('Credit the customer separately')
    expect(await balanceOf(token)).toBe(200)
  })

  test('an orphaned payment and its twin credit 300 RUB once, and the second payment becomes a notice', async () => {
    const { side, method } = await introduce(shop.services, 'platega')
    const { token } = await shop.newCustomer()
    side.faults.push('done, then cut off')
    await shop.post('/payments', { amount_rub: 300, method }, { token })
    const [orphan, shown] = [...side.bills.values()]
    if (!orphan || !shown) throw new Error('there are not two')
    for (const { id } of [orphan, shown]) side.pay(id)
    const { headers, body } = side.notificationOf(orphan.id)
    await fetch(`${shop.url}/api/v1/payments/notify/platega`, { method: 'POST', headers, body })
    await side.stop()
    const noted = await shop.services.paymentOperator.unmatched(false, 500)
    expect(await balanceOf(token)).toBe(300)
    expect(noted.filter((each) => each.provider === 'platega')).toMatchObject([{ reason: 'twice', amount: 30_000n }])
  })

  test('a payment marked, paid, refunded and expired at the same time is credited once and refunded once', async () => {
    const { paymentOperator, paymentWatch } = shop.services
    const { token } = await shop.newCustomer()
    const { id, pay } = await begin(token, 400)
    shop.clock.advance(3_600_000)
    const mark = () => paymentOperator.markPaid(id, 'came', undefined)
    const back = () => refund(id, 'all').catch(() => undefined)
    await Promise.all([pay(), mark(), back(), paymentWatch.pollDue(50), pay(), mark(), back(), back()])
    await mark()
    await back()
    const { data } = await shop.get(`/payments/${id}`, { token })
    expect([data.status, data.refunded_rub, await balanceOf(token)]).toEqual(['refunded', 400, 0])
    expect((await shop.get('/transactions', { token })).data.transactions).toHaveLength(2)
  })

  test('verify finds nothing wrong after all payment attacks', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
