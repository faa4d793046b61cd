import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Engine, engines, openTestDatabase } from '../../../test/harness/database.ts'
import { addCustomer, findingsOf, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { CustomerId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import type { Adjustment } from './movements.ts'

describe.each([...engines])('adjustments by an operator on %s', (engine: Engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db)
  })
  afterAll(() => opened.close())
  const adjustmentOf = (of: Partial<Adjustment>): Adjustment => ({
    kind: 'credit',
    amount: kopecks(5000n),
    note: 'top-up',
    key: null,
    reference: null,
    ...of,
  })
  const adjust = (customer: CustomerId, of: Partial<Adjustment>) =>
    services.db.transact((tx) => services.ledger.adjust(tx, customer, adjustmentOf(of)))
  const balance = async (customer: CustomerId) => (await services.ledger.balance(customer)).balance
  const refusal = (work: Promise<unknown>) => work.then(String, (error: unknown) => (error as { code: string }).code)

  test('an operator’s debit is refused above the balance, and verify finds nothing', async () => {
    const customer = await addCustomer(services, 10_000n)
    const { posting } = await adjust(customer, { kind: 'debit', amount: kopecks(4000n), reference: 'bank 17' })
    expect(posting).toMatchObject({ kind: 'debit', amount: kopecks(-4000n), balanceAfter: kopecks(6000n) })
    expect(posting).toMatchObject({ reference: 'bank 17', house: 'funds:operator' })
    expect(await refusal(adjust(customer, { kind: 'debit', amount: kopecks(6001n) }))).toBe('insufficient_funds')
    expect(await balance(customer)).toBe(kopecks(6000n))
    expect(await findingsOf(services)).toEqual([])
  })

  test('8 concurrent adjustments with one key have one effect', async () => {
    const customer = await addCustomer(services, 0n)
    const sent = await Promise.all(Array.from({ length: 8 }, () => adjust(customer, { key: 'payment 1' })))
    expect(sent.filter((each) => !each.isRepeat)).toHaveLength(1)
    expect(new Set(sent.map((each) => each.posting.seq))).toEqual(new Set([1]))
    expect(await balance(customer)).toBe(kopecks(5000n))
  })

  test('an adjustment of an erased customer is refused, and a repeated key returns its first posting', async () => {
    const customer = await addCustomer(services, 10_000n)
    const first = await adjust(customer, { key: 'payment of one who left' })
    await adjust(customer, { kind: 'debit', amount: kopecks(15_000n) })
    await services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    const before = await balance(customer)
    for (const kind of ['credit', 'debit'] as const) {
      expect(await refusal(adjust(customer, { kind, amount: kopecks(1n) }))).toBe('conflict')
    }
    const again = await adjust(customer, { key: 'payment of one who left' })
    expect([again.isRepeat, again.posting.seq]).toEqual([true, first.posting.seq])
    expect(await balance(customer)).toBe(before)
    expect(await findingsOf(services)).toEqual([])
  })

  test('the balance of an erased customer is written off by a debit of 100 roubles, and leaves the report of the day', async () => {
    const heldNow = async () => {
      const day = Math.floor(Date.now() / 86_400_000)
      return (await services.ledgerReports.days(day, day + 2)).at(-1)?.held ?? 0n
    }
    const customer = await addCustomer(services, 10_000n)
    await services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    const before = await heldNow()
    expect(await refusal(adjust(customer, { kind: 'debit', amount: kopecks(10_001n) }))).toBe('conflict')
    expect(await refusal(adjust(customer, { kind: 'credit', amount: kopecks(1n) }))).toBe('conflict')
    await adjust(customer, { kind: 'debit', amount: kopecks(10_000n) })
    expect([await balance(customer), before - (await heldNow())]).toEqual([kopecks(0n), 10_000n])
    expect(await findingsOf(services)).toEqual([])
  })

  test('an adjustment whose key belongs to another movement of any customer is refused as reused', async () => {
    const customer = await addCustomer(services, 0n)
    const another = await addCustomer(services, 10_000n)
    await adjust(customer, { key: 'payment 2', reference: 'bank 2' })
    for (const [owner, of] of [
      [customer, { amount: kopecks(1n), reference: 'bank 2' }],
      [customer, { reference: 'bank 3' }],
      [customer, { kind: 'debit', reference: 'bank 2' }],
      [another, { reference: 'bank 2' }],
    ] as const) {
      expect(await refusal(adjust(owner, { ...of, key: 'payment 2' }))).toBe('idempotency_key_reused')
    }
    expect([await balance(customer), await balance(another)]).toEqual([kopecks(5000n), kopecks(10_000n)])
  })
})
