import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

describe.each([...engines])('money for a customer who was erased, on %s:', (engine) => {
  let shop: Service
  let card: Introduced
  beforeAll(async () => {
    shop = await startService(engine)
    card = await introduce(shop.services, 'yookassa', { now: shop.clock.read })
    await shop.services.providers.set('invoice', {
      settings: new Map([['details', 'account 42']]),
      methods: undefined,
      min: new Map(),
      max: new Map(),
      fee: new Map(),
      secret: undefined,
    })
  })
  afterAll(async () => {
    await card.side.stop()
    await shop.stop()
  })

  async function notify(id: string): Promise<number> {
    const { headers, body } = card.side.tell(id)
    return (await fetch(`${shop.url}/api/v1/payments/notify/yookassa`, { method: 'POST', headers, body })).status
  }
  const noticesOf = async (payment: string) =>
    (await shop.services.paymentOperator.unmatched(false, 500)).filter((each) => each.payment === payment)

  /** A payment of 300 roubles that expired, and its customer, who was erased after that. */
  async function expireAndErase(method: string) {
    const { customer, token } = await shop.newCustomer()
    const { data } = await shop.post('/payments', { amount_rub: 300, method }, { token })
    shop.clock.advance(15 * 86_400_000)
    while ((await shop.services.paymentWatch.lookAgain(100)).asked === 100);
    await shop.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    const bill = [...card.side.bills.values()].find((each) => each.mark === data.payment_id)
    return { customer, bill, id: data.payment_id as PaymentId }
  }
  const balanceOf = async (customer: Parameters<typeof shop.services.ledger.balance>[0]) =>
    (await shop.services.ledger.balance(customer)).balance as bigint

  test('300 RUB paid late are kept as one notice, which the operator can credit to another customer', async () => {
    const { customer, bill, id } = await expireAndErase('card')
    if (!bill) throw new Error('the provider has no such payment')
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

  test('a refund of late money is told to the operator and moves nothing', async () => {
    const { customer, bill, id } = await expireAndErase('card')
    if (!bill) throw new Error('the provider has no such payment')
    card.side.pay(bill.id)
    card.side.giveBack(bill.id, 30_000)
    expect([await notify(bill.id), await balanceOf(customer)]).toEqual([200, 0n])
    expect((await noticesOf(id)).map((each) => each.reason).toSorted()).toEqual(['excess', 'unknown'])
  })

  test('an invoice is not marked as paid', async () => {
    const { customer, id } = await expireAndErase('transfer')
    const refused = await failureOf(shop.services.paymentOperator.markPaid(id, 'came', undefined))
    expect(refused.message).toContain('This customer was erased')
    expect([await balanceOf(customer), await noticesOf(id)]).toEqual([0n, []])
  })

  test('what was credited before the erasure and goes back after it is debited', async () => {
    const { customer, token } = await shop.newCustomer()
    const { data } = await shop.post('/payments', { amount_rub: 300, method: 'card' }, { token })
    const bill = [...card.side.bills.values()].find((each) => each.mark === data.payment_id)
    if (!bill) throw new Error('the provider has no such payment')
    card.side.pay(bill.id)
    expect(await notify(bill.id)).toBe(200)
    await shop.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    card.side.giveBack(bill.id, 30_000)
    expect([await notify(bill.id), await balanceOf(customer)]).toEqual([200, 0n])
  })

  test('verify finds nothing wrong after it', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
