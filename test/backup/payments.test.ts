import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { backUp } from '../../src/app/backup/backup.ts'
import { restore } from '../../src/app/backup/restore.ts'
import { createActions } from '../../src/app/shop/admin.ts'
import type { Services } from '../../src/app/shop/services.ts'
import { readAddress } from '../../src/core/address.ts'
import type { CustomerId, NoticeId, PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import { configOfTestDatabase, ignoreProgress } from '../harness/backups.ts'
import { HandClock } from '../harness/clock.ts'
import { engines, makeTestDatabase, openTestDatabase, type TestDatabase } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { addCustomer, findingsOf, wire } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

const key = { TURNPIKE_SECRET_KEY: '00'.repeat(32) }
const amount = kopecks(50_000n)

describe.each([...engines])('payments of a restored shop on %s', (engine) => {
  const clock = new HandClock()
  let card: Introduced
  let restoredDatabase: TestDatabase
  let db: Database
  let shop: Services
  let customer: CustomerId
  /** Payments that were opened before the backup and paid after it. */
  const paid: PaymentId[] = []
  let unpaid: PaymentId
  /** Opened and paid after the backup: the restored shop has no such payments. */
  let later: PaymentId
  let unnoticed: PaymentId
  /** Opened after the backup and not paid. */
  let abandoned: PaymentId

  beforeAll(async () => {
    const original = await openTestDatabase(engine)
    const { testDatabase } = original
    const services = wire(original.db, clock)
    customer = await addCustomer(services, 0n)
    card = await introduce(services, 'yookassa', { now: clock.read })
    const begin = async (): Promise<PaymentId> => {
      const topUp = { amount, method: 'card', returnUrl: undefined, email: undefined }
      return (await services.payments.begin({ customer, token: null }, undefined, topUp, 'http://shop')).payment.id
    }
    for (let count = 0; count < 5; count += 1) paid.push(await begin())
    unpaid = await begin()
    const backup = join(testDatabase.folder, 'backup')
    await backUp(configOfTestDatabase(engine, testDatabase, key), backup, clock.read, ignoreProgress)
    later = await begin()
    unnoticed = await begin()
    abandoned = await begin()
    for (const { id, mark } of card.side.bills.values()) if (mark !== unpaid && mark !== abandoned) card.side.pay(id)
    await services.paymentWatch.pollDue(20)
    restoredDatabase = await makeTestDatabase(engine)
    clock.advance(1000)
    const work = { clock: clock.read, onProgress: ignoreProgress, verify: async () => true }
    await restore(configOfTestDatabase(engine, restoredDatabase, key), backup, work)
    await original.db.close()
    await testDatabase.remove()
    db = openDatabase(restoredDatabase.address)
    shop = wire(db, clock)
  })
  afterAll(async () => {
    await card.side.stop()
    await db.close()
    await restoredDatabase.remove()
  })

  const credit = (payment: PaymentId, also: { amount?: typeof amount; reference?: string; key?: string | null } = {}) =>
    createActions(shop).adjust(customer, {
      kind: 'credit',
      amount: also.amount ?? amount,
      note: 'paid after the backup',
      key: also.key === undefined ? payment : also.key,
      reference: also.reference ?? null,
    })
  const billOf = (payment: PaymentId): string => {
    const bill = [...card.side.bills.values()].find(({ mark }) => mark === payment)
    if (!bill) throw new Error('there is no bill')
    return bill.id
  }
  const notify = (payment: PaymentId) => {
    const { headers, body } = card.side.notificationOf(billOf(payment))
    const notification = {
      headers: new Headers(headers),
      body: new TextEncoder().encode(body),
      from: readAddress('127.0.0.1'),
    }
    return shop.paymentWatch.notify('yookassa', notification)
  }
  const balance = async (): Promise<bigint> => (await shop.ledger.balance(customer)).balance

  test('a payment of 500 ₽ that was paid after the backup is credited once, by hand, poll and notification in any order', async () => {
    const [first, second, third, fourth, fifth] = paid as [PaymentId, PaymentId, PaymentId, PaymentId, PaymentId]
    // A credit by hand for an unpaid payment is refused, whatever the operator believes.
    expect((await refusalOf(credit(unpaid))).reason).toBe('payment_not_paid')
    expect((await refusalOf(credit(first, { amount: kopecks(40_000n) }))).reason).toBe('payment_is_other')
    expect(await balance()).toBe(0n)
    await credit(first)
    expect(await credit(first)).toMatchObject({ isRepeat: true })
    expect(await credit(first, { key: first.toUpperCase() })).toMatchObject({ isRepeat: true })
    expect(await balance()).toBe(50_000n)
    await notify(second)
    expect(await credit(second)).toMatchObject({ isRepeat: true })
    expect(await balance()).toBe(100_000n)
    await credit(third, { key: null, reference: third })
    await notify(third)
    expect(await balance()).toBe(150_000n)
    await Promise.all([credit(fourth), notify(fourth), credit(fourth)])
    expect(await balance()).toBe(200_000n)
    // The restored shop asks about every open payment at once: the fifth is credited without an operator.
    expect(await shop.paymentWatch.pollDue(20)).toMatchObject({ silent: [] })
    expect(await balance()).toBe(250_000n)
    expect(await credit(fifth)).toMatchObject({ isRepeat: true })
    for (const payment of [...paid, unpaid]) await notify(payment)
    expect(await balance()).toBe(250_000n)
    expect(await findingsOf(shop)).toEqual([])
  })

  test('a payment that the restored shop does not know is credited once, by hand or from its notice', async () => {
    const before = await balance()
    await notify(later)
    const [notice] = await shop.paymentOperator.unmatched(false, 10)
    expect(notice).toMatchObject({ reason: 'unknown', payment: later })
    const wrong = { amount: kopecks(40_000n) }
    expect((await refusalOf(credit(later, wrong))).reason).toBe('payment_amount_is_other')
    await credit(later)
    expect(await credit(later, { key: later.toUpperCase() })).toMatchObject({ isRepeat: true })
    const resolving = shop.paymentOperator.resolve(notice?.id as NoticeId, { customer, note: 'paid' })
    expect((await refusalOf(resolving)).reason).toBe('operator_key_of_other_transaction')
    expect(await balance()).toBe(before + 50_000n)
    expect(await findingsOf(shop)).toEqual([])
  })

  test('a credit of 400 ₽ under the id of a payment of 500 ₽ that the restored shop does not know changes nothing', async () => {
    const before = await balance()
    for (const also of [{ amount: kopecks(40_000n) }, { amount: kopecks(40_000n), key: null, reference: unnoticed }]) {
      expect((await refusalOf(credit(unnoticed, also))).reason).toBe('payment_amount_is_other')
    }
    expect((await refusalOf(credit(abandoned))).reason).toBe('payment_not_paid')
    card.side.isDown = true
    expect((await refusalOf(credit(unnoticed))).reason).toBe('payment_not_confirmed')
    card.side.isDown = false
    expect(await balance()).toBe(before)
    await notify(unnoticed)
    const notices = await shop.paymentOperator.unmatched(false, 10)
    const notice = notices.find(({ payment }) => payment === unnoticed)
    await shop.paymentOperator.resolve(notice?.id as NoticeId, { customer, note: 'paid' })
    expect(await balance()).toBe(before + 50_000n)
    expect(await findingsOf(shop)).toEqual([])
  })

  test('a debit under the id of a payment is refused, so that the payment is credited when it is paid', async () => {
    const topUp = { amount, method: 'card', returnUrl: undefined, email: undefined }
    const { id } = (await shop.payments.begin({ customer, token: null }, undefined, topUp, 'http://shop')).payment
    const before = await balance()
    for (const named of [id, id.toUpperCase()]) {
      const input = { kind: 'debit', amount: kopecks(100n), note: '', key: named, reference: null } as const
      expect((await refusalOf(createActions(shop).adjust(customer, input))).reason).toBe('payment_id_as_key')
    }
    expect(await balance()).toBe(before)
    card.side.pay(billOf(id))
    await notify(id)
    expect(await balance()).toBe(before + 50_000n)
  })

  test('a payment that an earlier version credited by hand becomes a notice when its provider reports the money', async () => {
    const before = await balance()
    await db.transact((tx) =>
      shop.ledger.adjust(tx, customer, { kind: 'credit', amount, note: '', key: unpaid, reference: null }),
    )
    card.side.pay(billOf(unpaid))
    await notify(unpaid)
    expect(await balance()).toBe(before + 50_000n)
    expect(await shop.paymentOperator.unmatched(false, 10)).toContainEqual(
      expect.objectContaining({ reason: 'twice', payment: unpaid }),
    )
    expect(await credit(unpaid)).toMatchObject({ isRepeat: true })
    expect(await findingsOf(shop)).toEqual([])
  })
})
