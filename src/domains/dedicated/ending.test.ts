import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { sellInCountries } from '../../../test/harness/countries.ts'
import { engines } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { kindIn, prolongProxies, replaceProxy } from '../../../test/harness/proxies.ts'
import type { OrderId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { type PaidTerm, unusedOf } from './rules.ts'

const dayMs = 86_400_000

describe('the unused part of a price', () => {
  const term = fc.record({
    order: fc.constant('ord' as OrderId),
    chargeSeq: fc.integer({ min: 1, max: 9 }),
    lengthMs: fc.integer({ min: 1, max: 90 }).map((days) => days * dayMs),
    price: fc.bigInt({ min: 1n, max: 10_000_000n }).map(kopecks),
    shares: fc.integer({ min: 1, max: 1000 }),
  })
  const sum = (terms: readonly PaidTerm[], leftMs: number): bigint =>
    unusedOf(terms, leftMs).reduce((all, each) => all + each.amount, 0n)

  test('unusedOf is at most the price, zero without time left, and never falls as the time left rises', () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), fc.nat(400 * dayMs), fc.nat(dayMs), (terms, leftMs, moreMs) => {
        const maxSum = terms.reduce((all, each) => all + each.price / BigInt(each.shares), 0n)
        expect(sum(terms, leftMs)).toBeLessThanOrEqual(maxSum)
        expect(sum(terms, 0)).toBe(0n)
        expect(sum(terms, -moreMs)).toBe(0n)
        expect(sum(terms, leftMs + moreMs)).toBeGreaterThanOrEqual(sum(terms, leftMs))
      }),
    )
  })

  test('unusedOf refunds the newest term first, because it is used last', () => {
    const terms = [1, 2].map((chargeSeq) => ({
      order: `ord_${chargeSeq}` as OrderId,
      chargeSeq,
      lengthMs: 10 * dayMs,
      price: kopecks(1000n),
      shares: 1,
    }))
    expect(unusedOf(terms, 15 * dayMs).map((each) => each.amount)).toEqual([kopecks(1000n), kopecks(500n)])
  })
})

describe.each([...engines])('ending proxies on %s', (engine) => {
  const here = sellInCountries(engine, (number) => `10.2.${number}.0/29`)
  const { buy, events } = here

  test('the end of a prolonged proxy says what was paid, used and refunded, by purchase and prolongation', async () => {
    const { proxies, price } = await buy(1)
    const [proxy] = proxies
    const id = proxy?.id ?? 0
    await prolongProxies(here.floor.services, here.customer, [id], 30)
    here.floor.clock.advance(15 * dayMs)
    const answer = await here.floor.services.proxyOperator.end(id, { give: 'unused', note: 'complaint' })
    const half = Number(price / 2n) / 100
    const prolongation = answer.prolongation_rub
    expect(prolongation).toBeGreaterThan(0)
    expect(answer).toMatchObject({ purchase_rub: half, amount_rub: Math.round((half + prolongation) * 100) / 100 })
    expect(answer.services).toMatchObject([
      { proxy: id, address: proxy?.address, unused_purchase_rub: half, unused_prolongation_rub: prolongation },
    ])
  })

  const balance = async () => (await here.floor.services.ledger.balance(here.customer)).balance
  const free = async () => here.floor.services.stock.available(kindIn(here.code, 4))

  test('ending a proxy makes it gone at once, puts its address to rest and refunds the unused part once', async () => {
    const { proxies, receipt, price } = await buy(2)
    const id = proxies[0]?.id ?? 0
    here.floor.clock.advance(10 * dayMs)
    const before = await balance()
    const answer = await here.floor.services.proxyOperator.end(id, { give: 'unused', note: 'complaint' })
    expect(await balance()).toBe(kopecks(before + (price * 20n) / 60n))
    expect(answer).toMatchObject({ customer: here.customer, proxy: id, amount_rub: Number((price * 20n) / 60n) / 100 })
    expect(await here.floor.services.proxyOperator.show(id)).toMatchObject({ status: 'gone', addresses: [{}] })
    expect((await events()).map((each) => [each.type, each.order])).toEqual([
      ['order.refunded', receipt.order],
      ['proxy.ended', receipt.order],
    ])
    const again = here.floor.services.proxyOperator.end(id, { give: 'unused', note: 'complaint' })
    expect((await refusalOf(again)).code).toBe('not_found')
    // The other proxy of the same order ends later and refunds a second part of the same charge.
    here.floor.clock.advance(5 * dayMs)
    await here.floor.services.proxyOperator.end(proxies[1]?.id ?? 0, { give: 'unused', note: 'complaint' })
    expect(await balance()).toBe(kopecks(before + (price * 20n) / 60n + (price * 15n) / 60n))
    expect(await free()).toBe(6)
  })

  test('an end with give=nothing refunds nothing, and neither does an end in the grace period', async () => {
    const { proxies } = await buy(2, 7)
    const before = await balance()
    await here.floor.services.proxyOperator.end(proxies[0]?.id ?? 0, { give: 'nothing', note: 'abuse' })
    here.floor.clock.advance(8 * dayMs)
    await here.floor.services.proxyOperator.end(proxies[1]?.id ?? 0, { give: 'unused', note: 'abuse' })
    expect(await balance()).toBe(before)
    expect((await events()).map((each) => each.type)).toEqual(['proxy.ended', 'proxy.ended'])
  })

  test('unused prolonged time of an ended proxy is refunded from the charge that paid for it', async () => {
    const { proxies } = await buy(1, 7)
    const id = proxies[0]?.id ?? 0
    const prolonged = await prolongProxies(here.floor.services, here.customer, [id], 30)
    here.floor.clock.advance(dayMs)
    const before = await balance()
    await here.floor.services.proxyOperator.end(id, { give: 'unused', note: 'complaint' })
    const refunds = (await events()).filter((each) => each.type === 'order.refunded')
    expect(refunds.map((each) => each.order)).toEqual([proxies[0]?.order ?? null, prolonged.receipt.order])
    // 1 rouble per day, and 5 % off 30 days: 6 days of the first charge and all of the second.
    expect(await balance()).toBe(kopecks(before + 600n + 2850n))
  })

  test('ending an order refunds the whole price or the unused part, once per key', async () => {
    const { services, clock } = here.floor
    const first = await buy(3)
    clock.advance(15 * dayMs)
    const start = await balance()
    const request = { order: first.receipt.order, how: 'unused', note: 'lost', key: `${engine} one` } as const
    const answer = await services.refunds.end(request)
    expect(answer).toMatchObject({
      proxies: first.proxies.map((each) => each.id),
      amount_rub: Number(first.price / 2n) / 100,
    })
    expect(await services.refunds.end(request)).toEqual({ ...answer, replayed: true })
    expect(await balance()).toBe(kopecks(start + first.price / 2n))
    const other = services.refunds.end({ ...request, how: 'whole' })
    expect((await refusalOf(other)).code).toBe('conflict')
    const twice = services.refunds.end({ ...request, key: undefined })
    expect((await refusalOf(twice)).message).toContain('has already ended')
    const second = await buy(2)
    clock.advance(15 * dayMs)
    const before = await balance()
    const all = await Promise.allSettled(
      [1, 2, 3].map(() => services.refunds.end({ ...request, order: second.receipt.order, how: 'whole', key: 'two' })),
    )
    expect(all.map((each) => each.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    expect(await balance()).toBe(kopecks(before + second.price))
  })

  test('an order that prolonged proxies cannot be ended, and the refusal changes nothing', async () => {
    const { proxies } = await buy(1, 7)
    const prolonged = await prolongProxies(here.floor.services, here.customer, [proxies[0]?.id ?? 0], 30)
    const before = await balance()
    const request = { how: 'unused', note: 'x', key: undefined } as const
    const refused = here.floor.services.refunds.end({ ...request, order: prolonged.receipt.order })
    expect((await refusalOf(refused)).message).toContain('bought none')
    expect((await refusalOf(here.floor.services.refunds.end({ ...request, order: 'ord_0' as OrderId }))).code).toBe(
      'not_found',
    )
    expect([await balance(), await events()]).toEqual([before, []])
  })

  test('a manual refund reduces later refunds of the order, and a second one needs --again', async () => {
    const { services } = here.floor
    const { proxies, receipt, price } = await buy(1)
    const request = { order: receipt.order, again: false, note: 'slow', key: undefined } as const
    const maxAmount = kopecks(price - 10n)
    await services.refunds.refund({ ...request, amount: maxAmount })
    const twice = services.refunds.refund({ ...request, amount: kopecks(1n) })
    expect((await refusalOf(twice)).message).toContain('refunded already')
    await services.refunds.refund({ ...request, amount: kopecks(4n), again: true })
    const tooMuch = services.refunds.refund({ ...request, amount: kopecks(7n), again: true })
    expect((await refusalOf(tooMuch)).details).toMatchObject({ left_rub: 0.06 })
    const answer = await services.proxyOperator.end(proxies[0]?.id ?? 0, { give: 'unused', note: 'complaint' })
    expect(answer['amount_rub']).toBe(0.06)
  })

  test('an operator’s swap of an address stays within its kind and does not use the customer’s daily swap', async () => {
    const { services, clock } = here.floor
    const { proxies } = await buy(1)
    const { id, address } = proxies[0] ?? { id: 0, address: '' }
    await replaceProxy(services, here.customer, id)
    clock.advance(1000)
    expect((await refusalOf(replaceProxy(services, here.customer, id))).code).toBe('conflict')
    const answer = await services.proxyOperator.replace(id, { note: 'range lost', key: `${engine} swap` })
    expect(await services.proxyOperator.replace(id, { note: 'range lost', key: `${engine} swap` })).toEqual({
      ...answer,
      replayed: true,
    })
    clock.advance(1000)
    await replaceProxy(services, here.customer, id)
    const view = await services.proxyOperator.show(id)
    expect(view.addresses).toHaveLength(4)
    expect(view.addresses[0]).toMatchObject({ address })
    expect((await events()).map((each) => each.data['by'])).toEqual(['customer', 'operator', 'customer'])
    expect(JSON.stringify(view, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
      'assword',
    )
  })

  test('the database refuses refunds above their charge', async () => {
    const { receipt, price } = await buy(1)
    await here.floor.services.orders.refund(receipt.order, kopecks(price - 1n), 'most of it')
    const forced = here.floor.db.transact((tx) =>
      tx.run(
        `INSERT INTO postings (customer_id, seq, kind, house, amount, balance_after, order_id, refund_of, note, at, hash)
         SELECT customer_id, seq + 1, kind, house, 2, balance_after + 2, order_id, refund_of, note, at, hash
         FROM postings WHERE customer_id = $1 AND kind = 'refund'`,
        [here.customer],
      ),
    )
    expect(await forced.then(() => 'written').catch(() => 'refused')).toBe('refused')
  })
})
