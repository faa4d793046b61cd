import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import { failureOf, refusalOf } from '../../../test/harness/failure.ts'
import {
  addStock,
  applyCatalogue,
  buyProxies,
  type DomainShop,
  openDomainShop,
  shipped,
} from '../../../test/harness/proxies.ts'
import { addCustomer, findingsOf, wire } from '../../../test/harness/wired.ts'

function dearer() {
  const list = shipped()
  const kind = list.dedicated.kinds['4']
  if (kind) kind.countries['DE'] = { per_day: 12 }
  return list
}

describe.each([...engines])('price lists on %s', (engine) => {
  let shop: DomainShop
  beforeAll(async () => {
    shop = await openDomainShop(engine)
  })
  afterAll(() => shop.close())
  const latest = async (): Promise<number> => (await shop.services.pricing.versions()).at(-1)?.version ?? 0

  test('a new price list keeps all earlier versions, and each order names its version', async () => {
    const { services } = shop
    await addStock(services, '203.0.113.0/28', 'DE', 4)
    const customer = await addCustomer(services, 1_000_000n)
    const first = await buyProxies(services, customer, { code: 'DE', ipv: 4 })
    expect(await applyCatalogue(services, dearer())).toBe(2)
    const second = await buyProxies(services, customer, { code: 'DE', ipv: 4 })
    expect(second.price).toBe((first.price * 2n) as typeof first.price)
    const orders = await services.orders.list(customer, undefined, 10)
    expect(new Map(orders.map((each) => [each.id, (each.calculation as { catalogue: number }).catalogue]))).toEqual(
      new Map([
        [first.receipt.order, 1],
        [second.receipt.order, 2],
      ]),
    )
    expect((await services.pricing.versions()).map((each) => each.version)).toEqual([1, 2])
    expect((await services.pricing.show(1))?.value).toEqual(shipped())
    expect((await services.pricing.show())?.value).toEqual(dearer())
    // A process started after version 1 was replaced prices the old order by version 1.
    expect(await findingsOf(wire(shop.db, shop.clock))).toEqual([])
  })

  test('a price list that is refused as invalid_request changes nothing', async () => {
    const { services } = shop
    const before = await latest()
    const bad = shipped()
    bad.dedicated.prolong_periods = [7, 3]
    expect((await refusalOf(applyCatalogue(services, bad))).code).toBe('invalid_request')
    expect(await latest()).toBe(before)
    expect((await services.pricing.current()).version).toBe(before)
  })

  test('another shop on the same database uses a new price list after 500 ms', async () => {
    const other = wire(shop.db, shop.clock)
    const before = await latest()
    expect((await other.pricing.current()).version).toBe(before)
    await applyCatalogue(shop.services, dearer())
    shop.clock.advance(500)
    expect((await other.pricing.current()).version).toBe(before + 1)
  })

  test('two price lists that are applied at once get different versions, or one of them fails', async () => {
    const before = await latest()
    const outcomes = await Promise.allSettled([
      applyCatalogue(shop.services, dearer()),
      applyCatalogue(wire(shop.db, shop.clock), dearer()),
    ])
    const versions = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(versions.length).toBeGreaterThan(0)
    expect(new Set(versions).size).toBe(versions.length)
    expect(await latest()).toBe(before + versions.length)
    expect(Math.max(...versions)).toBe(before + versions.length)
  })

  test('the database refuses to change or delete a price list', async () => {
    for (const statement of [
      `UPDATE catalogues SET text = '{}' WHERE version = 1`,
      'UPDATE catalogues SET version = 9 WHERE version = 1',
      'DELETE FROM catalogues WHERE version = 1',
    ]) {
      await failureOf(shop.db.transact((tx) => tx.run(statement)))
    }
    expect((await shop.services.pricing.show(1))?.value).toEqual(shipped())
  })

  test('a shop without a price list refuses a purchase as unavailable', async () => {
    const empty = await openDomainShop(engine)
    const services = wire(empty.db, empty.clock)
    await empty.db.transact(async (tx) => {
      await tx.run(
        engine === 'sqlite' ? 'DROP TRIGGER catalogues_no_delete' : 'DROP TRIGGER catalogues_append_only ON catalogues',
      )
      await tx.run('DELETE FROM catalogues')
    })
    const customer = await addCustomer(services, 1_000n)
    expect((await refusalOf(buyProxies(services, customer, { code: 'DE', ipv: 4 }))).code).toBe('unavailable')
    await empty.close()
  })
})
