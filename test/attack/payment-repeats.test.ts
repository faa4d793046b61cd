import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { kopecks } from '../../src/kernel/money.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

describe.each([...engines])('on %s', (engine) => {
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

  async function notify(id: string): Promise<number> {
    const { headers, body } = card.side.tell(id)
    return (await fetch(`${shop.url}/api/v1/payments/notify/yookassa`, { method: 'POST', headers, body })).status
  }

  /** A payment of 300 roubles by card that was credited. */
  async function pay() {
    const { token, customer } = await shop.newCustomer()
    const { data } = await shop.post('/payments', { amount_rub: 300, method: 'card' }, { token })
    const bill = [...card.side.bills.values()].find((each) => each.mark === data.payment_id)
    if (!bill) throw new Error('the provider has no such payment')
    card.side.pay(bill.id)
    expect([await notify(bill.id), await balanceOf(token)]).toEqual([200, 300])
    return { token, customer, bill, id: data.payment_id as PaymentId }
  }

  test('a notification that a paid payment was cancelled is answered 200 each time and debits once', async () => {
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
      const told = await shop.services.paymentOperator.refund(id, all)
      expect(told).toMatchObject({ status: 'refunded', refunded_rub: 300, replayed: true })
    }
    expect(await balanceOf(token)).toBe(0)
    expect((await shop.get('/transactions', { token })).data.transactions).toHaveLength(2)
  })

  test('a second, larger refund of money that no payment explains is reported after the first was resolved', async () => {
    const { paymentOperator } = shop.services
    const { customer, token } = await shop.newCustomer()
    const { data } = await shop.post('/payments', { amount_rub: 300, method: 'card' }, { token })
    const bill = [...card.side.bills.values()].find((each) => each.mark === data.payment_id)
    if (!bill) throw new Error('the provider has no such payment')
    Object.assign(bill, { hundredths: 20_000 })
    card.side.pay(bill.id)
    expect(await notify(bill.id)).toBe(200)
    const noticed = async () =>
      (await paymentOperator.unmatched(false, 500)).filter((each) => each.providerId === bill.id)
    /** The one notice that waits, after it was resolved. */
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
      card.side.giveBack(bill.id, more)
      expect([await notify(bill.id), await notify(bill.id)]).toEqual([200, 200])
      expect(await resolve()).toEqual({ reason: 'excess', amount: total })
      expect([await notify(bill.id), await noticed()]).toEqual([200, []])
    }
    expect(await balanceOf(token)).toBe(200)
  })

  test('a larger refund that comes before the operator resolved the first raises the amount of its notice', async () => {
    const { bill } = await pay()
    for (const [more, total] of [
      [30_100, 30_100n],
      [200, 30_300n],
    ] as const) {
      card.side.giveBack(bill.id, more)
      expect(await notify(bill.id)).toBe(200)
      const noticed = await shop.services.paymentOperator.unmatched(false, 500)
      const own = noticed.filter((each) => each.providerId === bill.id)
      expect(own.map((each) => [each.reason, each.amount as bigint])).toEqual([['excess', total]])
    }
  })

  test('verify finds nothing wrong after repeated cancellations', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
