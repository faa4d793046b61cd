import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerId, PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { CallPurpose } from '../../src/domains/payments/ports.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

const hourMs = 3_600_000

describe.each([...engines])('refusals, refunds and repeated notifications, on %s', (engine) => {
  let shop: Service
  let card: Introduced
  let crypto: Introduced
  let pollDue: Service['services']['paymentWatch']['pollDue']
  /** Calls to Crypto Pay, in order. */
  const calls: string[] = []
  beforeAll(async () => {
    shop = await startService(engine)
    const { paymentWatch, providers } = shop.services
    pollDue = paymentWatch.pollDue.bind(paymentWatch)
    // The test polls providers, and not the job that runs every 5 s.
    paymentWatch.pollDue = async () => ({ polled: 0, silent: [] })
    card = await introduce(shop.services, 'yookassa', { now: shop.clock.read })
    crypto = await introduce(shop.services, 'crypto_pay', { now: shop.clock.read })
    await providers.set('invoice', {
      settings: new Map([['details', 'account 42']]),
      methods: undefined,
      min: new Map(),
      max: new Map(),
      fee: new Map(),
      secret: undefined,
    })
    const { connection } = await providers.load('crypto_pay')
    if (!connection) throw new Error('the provider has no connection')
    const find = connection.find.bind(connection)
    const findOpened = connection.findOpened.bind(connection)
    Object.assign(connection, {
      find(providerId: string, purpose?: CallPurpose) {
        calls.push(`find to ${purpose ?? 'poll'}`)
        return find(providerId, purpose)
      },
      findOpened(...of: Parameters<typeof findOpened>) {
        calls.push('findOpened')
        return findOpened(...of)
      },
    })
  })
  afterAll(async () => {
    await card.side.stop()
    await crypto.side.stop()
    await shop.stop()
  })

  /** Sends the provider's notification about a payment to the shop. */
  async function notify(id: string, { provider, side }: Introduced = card): Promise<number> {
    const { headers, body } = side.notificationOf(id)
    return (await fetch(`${shop.url}/api/v1/payments/notify/${provider}`, { method: 'POST', headers, body })).status
  }
  /** The provider's side of a payment. */
  function billOf(payment: string, { side }: Introduced = card) {
    const bill = [...side.bills.values()].find((each) => each.mark === payment)
    if (!bill) throw new Error('the provider has no such payment')
    return bill
  }
  const unmatched = () => shop.services.paymentOperator.unmatched(false, 500)

  describe('payments that the provider refuses', () => {
    const begin = (token: string, key?: string) =>
      shop.post('/payments', { amount_rub: 300, method: 'crypto' }, { token, ...(key !== undefined && { key }) })
    async function poll(times: number, everyMs: number): Promise<void> {
      for (let time = 0; time < times; time += 1) {
        shop.clock.advance(everyMs)
        await pollDue(100)
      }
    }

    test('the shop never polls a payment that the provider refused on the first try', async () => {
      const { token } = await shop.newCustomer()
      crypto.side.faults.push('400')
      expect((await begin(token)).status).toBe(502)
      calls.length = 0
      await poll(300, hourMs)
      expect(calls).toEqual([])
      expect((await shop.get('/payments', { token })).data.payments).toMatchObject([{ status: 'cancelled' }])
    })

    test('the shop polls at most twice for a refused payment whose first try got no answer', async () => {
      const { token } = await shop.newCustomer()
      crypto.side.faults.push('done, then cut off', '400')
      expect((await begin(token)).status).toBe(502)
      calls.length = 0
      await poll(300, hourMs)
      expect(calls.length).toBeWithin(1, 3)
      // The orphan was found, and its id is known from then on.
      expect(calls[0]).toBe('findOpened')
    })

    test('POST /payments answers 429 after 5 refusals within an hour, and 200 to other customers and methods', async () => {
      const [{ token }, other] = [await shop.newCustomer(), await shop.newCustomer()]
      for (let count = 0; count < 5; count += 1) {
        shop.clock.advance(60_000)
        crypto.side.faults.push('400')
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
      crypto.side.faults.push('400', '400', '400', '400', '400')
      for (let count = 0; count < 5; count += 1) expect((await begin(token)).status).toBe(502)
      const again = await begin(token, 'opened')
      expect([again.status, again.text]).toEqual([200, first.text])
    })

    test('a notification calls the provider with purpose notify, and the job with purpose poll', async () => {
      const { token } = await shop.newCustomer()
      const { data } = await begin(token)
      const bill = billOf(data.payment_id, crypto)
      await pollDue(100)
      calls.length = 0
      await poll(1, 20_000)
      expect(new Set(calls)).toEqual(new Set(['find to poll']))
      calls.length = 0
      crypto.side.pay(bill.id)
      expect(await notify(bill.id, crypto)).toBe(200)
      expect(calls).toEqual(['find to notify'])
    })
  })

  describe('money for an erased customer', () => {
    const noticesOf = async (payment: string) => (await unmatched()).filter((each) => each.payment === payment)

    /** A payment of 300 roubles that expired, and its customer, who was erased after that. */
    async function expireAndErase(method: string) {
      const { customer, token } = await shop.newCustomer()
      const { data } = await shop.post('/payments', { amount_rub: 300, method }, { token })
      shop.clock.advance(15 * 86_400_000)
      while ((await pollDue(100)).polled === 100);
      await shop.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
      return { customer, id: data.payment_id as PaymentId }
    }
    const balanceOf = async (customer: CustomerId) => (await shop.services.ledger.balance(customer)).balance as bigint

    test('300 RUB paid late for an erased customer make one notice, which the operator credits to another customer', async () => {
      const { customer, id } = await expireAndErase('card')
      const bill = billOf(id)
      card.side.pay(bill.id)
      expect([await notify(bill.id), await notify(bill.id)]).toEqual([200, 200])
      expect(await balanceOf(customer)).toBe(0n)
      const [notice, ...more] = await noticesOf(id)
      expect([notice, more]).toMatchObject([{ reason: 'unknown', amount: 30_000n, currency: 'RUB' }, []])
      if (!notice) throw new Error('there is no notice')
      const { resolve } = shop.services.paymentOperator
      const refused = await failureOf(resolve(notice.id, { customer, note: 'to the erased account' }))
      expect(refused.message).toContain('This customer was erased')
      const other = await shop.newCustomer()
      await resolve(notice.id, { customer: other.customer, note: 'same person, new account' })
      expect([await balanceOf(other.customer), await noticesOf(id)]).toEqual([30_000n, []])
      expect([await notify(bill.id), await noticesOf(id)]).toEqual([200, []])
    })

    test('a refund of late money for an erased customer makes a notice and moves no money', async () => {
      const { customer, id } = await expireAndErase('card')
      const bill = billOf(id)
      card.side.pay(bill.id)
      card.side.refund(bill.id, 30_000)
      expect([await notify(bill.id), await balanceOf(customer)]).toEqual([200, 0n])
      expect((await noticesOf(id)).map((each) => each.reason).toSorted()).toEqual(['excess', 'unknown'])
    })

    test('an invoice of an erased customer cannot be marked as paid', async () => {
      const { customer, id } = await expireAndErase('transfer')
      const refused = await failureOf(shop.services.paymentOperator.markPaid(id, 'came', undefined))
      expect(refused.message).toContain('This customer was erased')
      expect([await balanceOf(customer), await noticesOf(id)]).toEqual([0n, []])
    })

    test('a refund of money credited before the erasure debits the erased customer', async () => {
      const { customer, token } = await shop.newCustomer()
      const { data } = await shop.post('/payments', { amount_rub: 300, method: 'card' }, { token })
      const bill = billOf(data.payment_id)
      card.side.pay(bill.id)
      expect(await notify(bill.id)).toBe(200)
      await shop.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
      card.side.refund(bill.id, 30_000)
      expect([await notify(bill.id), await balanceOf(customer)]).toEqual([200, 0n])
    })
  })

  describe('repeated notifications and refunds', () => {
    const balanceOf = async (token: string): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub

    /** A payment of 300 roubles by card that was credited. */
    async function pay() {
      const { token, customer } = await shop.newCustomer()
      const { data } = await shop.post('/payments', { amount_rub: 300, method: 'card' }, { token })
      const bill = billOf(data.payment_id)
      card.side.pay(bill.id)
      expect([await notify(bill.id), await balanceOf(token)]).toEqual([200, 300])
      return { token, customer, bill, id: data.payment_id as PaymentId }
    }

    test('the shop answers 200 to each cancellation of a paid payment and debits once', async () => {
      const { token, bill, id } = await pay()
      card.side.end(bill.id)
      expect([await notify(bill.id), await notify(bill.id), await notify(bill.id)]).toEqual([200, 200, 200])
      expect((await shop.get(`/payments/${id}`, { token })).data.status).toBe('refunded')
      expect((await shop.get('/transactions', { token })).data.transactions).toHaveLength(2)
      expect(await balanceOf(token)).toBe(0)
    })

    test('a cancellation after a refund of 100 RUB debits the other 200 RUB once', async () => {
      const { token, bill, id } = await pay()
      const part = { amount: kopecks(10_000n), intoDebt: false, note: 'a part', key: `part ${id}` }
      await shop.services.paymentOperator.refund(id, part)
      expect(await balanceOf(token)).toBe(200)
      card.side.end(bill.id)
      expect([await notify(bill.id), await notify(bill.id)]).toEqual([200, 200])
      expect(await balanceOf(token)).toBe(0)
    })

    test('a refund repeated under its key replays its answer after the provider cancelled the payment', async () => {
      const { token, bill, id } = await pay()
      const all = { amount: 'all', intoDebt: false, note: 'back', key: `all ${id}` } as const
      await shop.services.paymentOperator.refund(id, all)
      card.side.end(bill.id)
      for (const _ of [1, 2]) {
        const made = await shop.services.paymentOperator.refund(id, all)
        expect(made).toMatchObject({ status: 'refunded', refunded_rub: 300, replayed: true })
      }
      expect(await balanceOf(token)).toBe(0)
      expect((await shop.get('/transactions', { token })).data.transactions).toHaveLength(2)
    })

    /** Requests a refund as the operator does, and returns the answer or the reason of the refusal. */
    async function refund(id: PaymentId, roubles: bigint, key?: string): Promise<object> {
      const input = { amount: kopecks(roubles * 100n), intoDebt: false, note: 'back', key: key && `${key} ${id}` }
      return shop.services.paymentOperator.refund(id, input).catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error
        return { refused: error.reason }
      })
    }
    const [silent, blocked] = [{ refused: 'refund_without_answer' }, { refused: 'refund_under_way' }]

    test('a refund of 100 RUB that got a 500 blocks another of 150 RUB until it is repeated; 250 RUB are refunded', async () => {
      const { token, bill, id } = await pay()
      card.side.faults.push('500')
      expect(await refund(id, 100n, 'K1')).toEqual(silent)
      expect(await refund(id, 150n, 'K2')).toEqual(blocked)
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([0, 300])
      expect(await refund(id, 100n, 'K1')).toMatchObject({ refunded_rub: 100, replayed: true })
      expect(await refund(id, 150n, 'K2')).toMatchObject({ refunded_rub: 250 })
      expect(await refund(id, 100n, 'K1')).toMatchObject({ refunded_rub: 250, replayed: true })
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([25_000, 50])
    })

    test('a refund that got a 500 is made when repeated, although the provider refunded 150 RUB itself', async () => {
      const { token, bill, id } = await pay()
      card.side.faults.push('500')
      expect(await refund(id, 100n, 'K1')).toEqual(silent)
      card.side.refund(bill.id, 15_000)
      expect(await notify(bill.id)).toBe(200)
      expect(await refund(id, 100n, 'K1')).toMatchObject({ refunded_rub: 250 })
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([25_000, 50])
    })

    test('two concurrent refunds of 100 RUB under two keys each refund 100 RUB at most once', async () => {
      const { token, bill, id } = await pay()
      const answers = await Promise.all([refund(id, 100n, 'A'), refund(id, 100n, 'B')])
      const done = answers.filter((each) => !('refused' in each)).length
      expect(answers.filter((each) => 'refused' in each)).toEqual(Array.from({ length: 2 - done }, () => blocked))
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([done * 10_000, 300 - done * 100])
      for (const key of ['A', 'B', 'A', 'B']) expect(await refund(id, 100n, key)).toHaveProperty('status', 'paid')
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([20_000, 100])
    })

    test('a second refund of 100 RUB is refused until the first, whose answer was cut off, is repeated', async () => {
      const { token, bill, id } = await pay()
      card.side.faults.push('done, then cut off')
      expect(await refund(id, 100n, 'X')).toEqual(silent)
      expect([await notify(bill.id), await balanceOf(token)]).toEqual([200, 200])
      expect(await refund(id, 100n, 'Y')).toEqual(blocked)
      // Without a key, the same amount repeats the refund that got no answer.
      expect(await refund(id, 100n)).toMatchObject({ refunded_rub: 100, replayed: true })
      expect(await refund(id, 100n, 'Y')).toMatchObject({ refunded_rub: 200 })
      expect(await refund(id, 100n, 'X')).toMatchObject({ refunded_rub: 200, replayed: true })
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([20_000, 100])
    })

    test('a refund whose answer was cut off is not made again after the provider has forgotten its key', async () => {
      const { bill, id } = await pay()
      card.side.faults.push('done, then cut off')
      expect(await refund(id, 100n, 'old')).toEqual(silent)
      shop.clock.advance(24 * hourMs)
      card.side.forgetKeys?.()
      expect(await refund(id, 100n, 'old')).toMatchObject({ refunded_rub: 100, replayed: true })
      expect(bill.backHundredths).toBe(10_000)
    })

    test('a refund that the provider refuses as unpaid can be repeated under its key', async () => {
      const { token, bill, id } = await pay()
      bill.status = 'waiting'
      expect(await refund(id, 100n, 'none')).toEqual({ refused: 'refund_refused_by_provider' })
      bill.status = 'paid'
      expect(await refund(id, 100n, 'none')).toMatchObject({ refunded_rub: 100 })
      expect([bill.backHundredths, await balanceOf(token)]).toEqual([10_000, 200])
    })

    test('a second, larger refund of unexplained money makes a new notice after the first was resolved', async () => {
      const { paymentOperator } = shop.services
      const { customer, token } = await shop.newCustomer()
      const { data } = await shop.post('/payments', { amount_rub: 300, method: 'card' }, { token })
      const bill = billOf(data.payment_id)
      Object.assign(bill, { hundredths: 20_000 })
      card.side.pay(bill.id)
      expect(await notify(bill.id)).toBe(200)
      const noticed = async () => (await unmatched()).filter((each) => each.providerId === bill.id)
      /** The one open notice, after it was resolved. */
      async function resolve(credit?: typeof customer) {
        const [notice, ...more] = await noticed()
        if (!notice || more.length > 0) throw new Error('not one notice waits')
        await paymentOperator.resolve(notice.id, { customer: credit, note: 'dealt with' })
        return { reason: notice.reason, amount: notice.amount as bigint | null }
      }
      expect(await resolve(customer)).toEqual({ reason: 'amount', amount: 20_000n })
      for (const [more, total] of [
        [5000, 5000n],
        [15_000, 20_000n],
      ] as const) {
        card.side.refund(bill.id, more)
        expect([await notify(bill.id), await notify(bill.id)]).toEqual([200, 200])
        expect(await resolve()).toEqual({ reason: 'excess', amount: total })
        expect([await notify(bill.id), await noticed()]).toEqual([200, []])
      }
      expect(await balanceOf(token)).toBe(200)
    })

    test('a larger refund before the operator resolves the first raises the amount of its notice', async () => {
      const { bill } = await pay()
      for (const [more, total] of [
        [30_100, 30_100n],
        [200, 30_300n],
      ] as const) {
        card.side.refund(bill.id, more)
        expect(await notify(bill.id)).toBe(200)
        const own = (await unmatched()).filter((each) => each.providerId === bill.id)
        expect(own.map((each) => [each.reason, each.amount as bigint])).toEqual([['excess', total]])
      }
    })
  })

  test('verify finds nothing wrong after refusals, erasures and repeated cancellations', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
