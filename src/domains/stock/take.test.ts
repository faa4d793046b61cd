import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { runtimeWith } from '../../../test/harness/clock.ts'
import { engines } from '../../../test/harness/database.ts'
import { failureOf, refusalOf } from '../../../test/harness/failure.ts'
import {
  addStock,
  buyProxies,
  type DomainShop,
  kindIn,
  openDomainShop,
  shippedWith,
  slotsByState,
} from '../../../test/harness/proxies.ts'
import { wideIn } from '../../../test/harness/scans.ts'
import { addCustomer, findingsOf, wire } from '../../../test/harness/wired.ts'
import { realRuntime } from '../../app/shop/services.ts'
import { type Address, contains, readAddress, readPrefix } from '../../core/address.ts'
import type { CustomerId } from '../../core/ids.ts'
import type { Ipv } from './rules.ts'

const dayMs = 86_400_000
const countries = ['AT', 'BE', 'CH', 'CZ', 'DK', 'ES', 'FI', 'GR', 'HU', 'IE', 'IT', 'NO', 'PL', 'PT', 'SE']

function addressOf(text: string): Address {
  const address = readAddress(text)
  if (!address) throw new Error(`${text} is not an address`)
  return address
}

describe.each([...engines])('stock on %s', (engine) => {
  let shop: DomainShop
  let customer: CustomerId
  let used = 0
  beforeAll(async () => {
    shop = await openDomainShop(engine, shippedWith(...countries))
    customer = await addCustomer(shop.services, 10n ** 12n)
  })
  afterAll(async () => {
    const states = await slotsByState(shop.services)
    const all = await shop.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM stock')
    expect(Object.values(states).reduce((sum, each) => sum + each, 0)).toBe(Number(all?.n))
    expect(await findingsOf(shop.services)).toEqual([])
    await shop.close()
  })

  /** A country for one test, so that tests do not share addresses. */
  const freshCountry = (): string => {
    used += 1
    return countries[used - 1] ?? ''
  }
  const buy = async (code: string, ipv: Ipv, count = 1, by = customer): Promise<string[]> =>
    (await buyProxies(shop.services, by, { code, ipv, period: 7, count })).proxies.map((each) => each.address)
  const free = (code: string, ipv: Ipv): Promise<number> => {
    shop.clock.advance(1000)
    return shop.services.stock.available(kindIn(code, ipv))
  }

  test('a repeated import adds nothing, and an overlapping block adds only new addresses', async () => {
    const code = freshCountry()
    expect(await addStock(shop.services, '10.1.0.0/24', code, 4)).toBe(256)
    expect(await addStock(shop.services, '10.1.0.0/24', code, 4)).toBe(0)
    expect(await addStock(shop.services, '10.1.0.0/23', code, 4)).toBe(256)
    expect(await free(code, 4)).toBe(512)
  })

  test('addresses of a gateway that is being drained are not counted and not sold until draining ends', async () => {
    const code = freshCountry()
    await addStock(shop.services, '10.99.0.0/30', code, 4)
    await shop.services.fleet.drain('stock-gateway', true)
    expect(await free(code, 4)).toBe(0)
    expect(await refusalOf(buy(code, 4))).toMatchObject({ code: 'unavailable' })
    await shop.services.fleet.drain('stock-gateway', false)
    expect(await free(code, 4)).toBe(4)
    expect(await buy(code, 4)).toHaveLength(1)
  })

  test('two concurrent imports of the same block add it once', async () => {
    const code = freshCountry()
    const other = wire(shop.db, shop.clock)
    const added = await Promise.all([
      addStock(shop.services, '10.2.0.0/24', code, 4),
      addStock(other, '10.2.0.0/24', code, 4),
    ])
    expect(added[0] + added[1]).toBe(256)
    expect(await free(code, 4)).toBe(256)
  })

  test('a shared address has 3 slots, and a customer gets at most one slot of each address', async () => {
    const code = freshCountry()
    expect(await addStock(shop.services, '10.3.0.0/30', code, 3)).toBe(12)
    expect(await addStock(shop.services, '10.3.0.0/30', code, 3)).toBe(0)
    const first = await buy(code, 3, 4)
    expect(new Set(first).size).toBe(4)
    expect((await refusalOf(buy(code, 3, 1))).details).toMatchObject({ available: 0 })
    const others = await Promise.all([addCustomer(shop.services, 10n ** 6n), addCustomer(shop.services, 10n ** 6n)])
    for (const other of others) expect(new Set(await buy(code, 3, 4, other)).size).toBe(4)
    const last = await addCustomer(shop.services, 10n ** 6n)
    expect((await refusalOf(buy(code, 3, 1, last))).details).toMatchObject({ available: 0 })
  })

  test('an import skips addresses that are in stock as another kind or in another country', async () => {
    const [code, other] = [freshCountry(), freshCountry()]
    expect(await addStock(shop.services, '10.4.0.0/31', code, 4)).toBe(2)
    expect(await addStock(shop.services, '10.4.0.0/30', code, 3)).toBe(6)
    expect(await addStock(shop.services, '10.4.0.0/31', other, 3)).toBe(0)
    expect(await addStock(shop.services, '10.4.0.2/31', code, 4)).toBe(0)
    expect(await addStock(shop.services, '10.4.0.2/31', other, 3)).toBe(0)
    expect([await free(code, 4), await free(code, 3), await free(other, 3)]).toEqual([2, 6, 0])
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('the database refuses a slot of an address that has another kind', async () => {
    const code = freshCountry()
    await addStock(shop.services, '10.4.1.0/32', code, 4)
    const attempt = shop.services.db.transact((tx) =>
      tx.run(
        `INSERT INTO stock (id, address, slot, country, ipv, state, retiring) VALUES (990001, '10.4.1.0', 1, $1, 3, 'free', 0)`,
        [code],
      ),
    )
    expect(await attempt.catch((error: unknown) => (error as Error).name)).toMatch(/ConstraintViolation|SQLiteError/)
  })

  test('a retired address is not sold, a leased one retires when its lease ends, and restore puts both back', async () => {
    const code = freshCountry()
    await addStock(shop.services, '10.5.0.0/31', code, 4)
    const [held = ''] = await buy(code, 4)
    const other = held.endsWith('0') ? '10.5.0.1' : '10.5.0.0'
    expect(await shop.services.stockOperator.retire(addressOf(other))).toBe(1)
    expect(await shop.services.stockOperator.retire(addressOf(held))).toBe(1)
    expect((await refusalOf(buy(code, 4))).code).toBe('out_of_stock')
    expect(
      await shop.services.stockOperator.list({ country: code, ipv: 4, state: 'leased', after: 0, limit: 9 }),
    ).toMatchObject([{ address: held, retiring: true }])
    shop.clock.advanceDays(10)
    await shop.services.dedicatedUpkeep.release(100)
    shop.clock.advanceDays(30)
    await shop.services.stock.endRest(1000)
    expect((await refusalOf(buy(code, 4))).details).toMatchObject({ available: 0 })
    for (const address of [held, other]) await shop.services.stockOperator.restore(addressOf(address))
    expect(new Set(await buy(code, 4, 2))).toEqual(new Set([held, other]))
  })

  test('a quarantined address is sold only after 5 days, and quarantine of a leased address is refused', async () => {
    const code = freshCountry()
    await addStock(shop.services, '10.6.0.0', code, 4)
    const address = addressOf('10.6.0.0')
    await shop.services.stockOperator.quarantine(address, 5)
    // A shorter quarantine does not end a longer one early.
    await shop.services.stockOperator.quarantine(address, 1)
    shop.clock.advance(5 * dayMs - 1)
    await shop.services.stock.endRest(1000)
    expect((await refusalOf(buy(code, 4))).code).toBe('out_of_stock')
    shop.clock.advance(1)
    await shop.services.stock.endRest(1000)
    expect(await buy(code, 4)).toEqual(['10.6.0.0'])
    expect((await refusalOf(shop.services.stockOperator.quarantine(address, 5))).code).toBe('not_found')
    expect(
      await shop.services.stockOperator.list({ country: code, ipv: 4, state: 'leased', after: 0, limit: 9 }),
    ).toHaveLength(1)
  })

  test('an address that is not in stock can be neither retired nor restored nor quarantined', async () => {
    const { stockOperator } = shop.services
    const unknown = addressOf('192.0.2.1')
    expect((await refusalOf(stockOperator.retire(unknown))).code).toBe('not_found')
    expect((await refusalOf(stockOperator.restore(unknown))).code).toBe('not_found')
    expect((await refusalOf(stockOperator.quarantine(unknown, 1))).code).toBe('not_found')
  })

  test('an IPv6 /32 is stored as one block, and 600 addresses sold from it become 600 different slots', async () => {
    const code = freshCountry()
    const before = await slotsByState(shop.services)
    expect(await addStock(shop.services, '2001:db8::/32', code, 6)).toBe(1)
    expect(await addStock(shop.services, '2001:db8::/32', code, 6)).toBe(0)
    expect(await slotsByState(shop.services)).toEqual(before)
    expect(await free(code, 6)).toBe(20_000)
    const sold = [...(await buy(code, 6, 300)), ...(await buy(code, 6, 300))]
    expect(new Set(sold).size).toBe(600)
    const block = readPrefix('2001:db8::/32')
    for (const text of sold) expect(block && contains(block, addressOf(text))).toBeTrue()
    expect((await slotsByState(shop.services))['leased']).toBe((before['leased'] ?? 0) + 600)
  })

  test('an address of an IPv6 block is sold again after its rest, before a new one is drawn', async () => {
    const code = freshCountry()
    await addStock(shop.services, '2001:db8:5::/64', code, 6)
    const [first] = await buy(code, 6)
    shop.clock.advanceDays(10)
    await shop.services.dedicatedUpkeep.release(10_000)
    shop.clock.advanceDays(7)
    await shop.services.stock.endRest(10_000)
    expect(await buy(code, 6)).toEqual([first ?? ''])
  })

  test('a retired IPv6 block sells no address until it is restored', async () => {
    const code = freshCountry()
    const block = readPrefix('2001:db8:6::/64')
    if (!block) throw new Error('not a block')
    await shop.services.stock.add(block, kindIn(code, 6))
    await buy(code, 6, 2)
    await shop.services.stockOperator.retirePrefix(block)
    expect((await refusalOf(buy(code, 6))).code).toBe('out_of_stock')
    expect((await refusalOf(shop.services.stockOperator.retirePrefix(block))).code).toBe('not_found')
    await shop.services.stockOperator.restorePrefix(block)
    expect(await buy(code, 6, 1)).toHaveLength(1)
    expect((await refusalOf(shop.services.stockOperator.restorePrefix(block))).code).toBe('not_found')
  })

  test('an IPv6 /126 is stored as 4 slots, and exactly its 4 addresses are sold', async () => {
    const code = freshCountry()
    expect(await addStock(shop.services, '2001:db8:7::/126', code, 6)).toBe(4)
    expect(await free(code, 6)).toBe(4)
    const sold = await buy(code, 6, 4)
    expect(new Set(sold)).toEqual(new Set(['2001:db8:7::', '2001:db8:7::1', '2001:db8:7::2', '2001:db8:7::3']))
    expect((await refusalOf(buy(code, 6))).details).toMatchObject({ available: 0 })
  })

  test('a new address of an IPv6 block is never an existing one, even if the random source repeats it', async () => {
    const code = freshCountry()
    // A random source that draws one address seven times before the next one.
    let calls = 0
    const stuck = (count: number): Uint8Array => {
      if (count !== 16) return realRuntime.random(count)
      calls += 1
      return new Uint8Array(16).fill(Math.floor(calls / 7))
    }
    const { createStock } = await import('./index.ts')
    const { createCounter } = await import('../../db/counter.ts')
    const stock = createStock({
      db: shop.db,
      ...runtimeWith(shop.clock),
      random: stuck,
      fleet: shop.services.fleet,
      customers: shop.services.customers,
      life: () => 0,
      slotIds: createCounter(shop.db, 'slot'),
      rangeIds: createCounter(shop.db, 'range'),
    })
    await addStock(shop.services, '2001:db8:8::/64', code, 6)
    const seen = new Set<string>()
    for (let round = 0; round < 5; round += 1) {
      const ready = await stock.prepare(kindIn(code, 6), 2)
      await shop.db.transact(async (tx) => {
        const slots = await stock.take(tx, kindIn(code, 6), 2, new Set(), ready)
        for (const slot of slots) {
          expect(seen.has(slot.address)).toBeFalse()
          seen.add(slot.address)
        }
        // Retired, so that verify does not report leased slots without a proxy.
        await tx.run(`UPDATE stock SET state = 'retired', known_node = NULL WHERE country = $1`, [code])
      })
    }
    expect(seen.size).toBe(10)
  })

  describe('database constraints of stock and leases', () => {
    const lease = (slotId: number, from: number, to: number | null) =>
      shop.db.transact((tx) =>
        tx.run('INSERT INTO leases (slot_id, started_at, ended_at, proxy_id) VALUES ($1, $2, $3, 1)', [
          slotId,
          from,
          to,
        ]),
      )
    let slotId = 0
    beforeAll(async () => {
      const code = freshCountry()
      await addStock(shop.services, '10.9.0.0', code, 4)
      await buyProxies(shop.services, customer, { code, ipv: 4, period: 7 })
      const row = await shop.db.first<{ id: bigint }>('SELECT id FROM stock WHERE country = $1', [code])
      slotId = Number(row?.id)
    })

    test('the database refuses two open leases of one slot', async () => {
      await failureOf(lease(slotId, shop.clock.nowMs + 1, null))
      // Without the trigger the unique index still refuses. All of this is undone with the transaction.
      const refused = await failureOf(
        shop.db.transact(async (tx) => {
          const on = engine === 'sqlite' ? '' : ' ON leases'
          await tx.run(`DROP TRIGGER leases_no_overlap${on}`)
          const at = shop.clock.nowMs + 1
          await tx.run('INSERT INTO leases (slot_id, started_at, proxy_id) VALUES ($1, $2, 1)', [slotId, at])
        }),
      )
      expect(refused).toMatchObject({ name: 'ConstraintViolation', kind: 'unique' })
    })

    test('the database refuses leases of one slot that overlap in the past', async () => {
      const started = await shop.db.first<{ started_at: bigint }>('SELECT started_at FROM leases WHERE slot_id = $1', [
        slotId,
      ])
      const at = Number(started?.started_at)
      for (const [from, to] of [
        [at, at + 10],
        [at - 10, at + 10],
        [at + 5, at + 10],
      ] as const) {
        await failureOf(lease(slotId, from, to))
      }
    })

    test('the database refuses to delete a lease, to move it, and to change an ended one', async () => {
      const statements = [
        `DELETE FROM leases WHERE slot_id = ${slotId}`,
        `UPDATE leases SET started_at = started_at - 1 WHERE slot_id = ${slotId}`,
        `UPDATE leases SET proxy_id = proxy_id + 1 WHERE slot_id = ${slotId}`,
        `UPDATE leases SET slot_id = slot_id + 1000000 WHERE slot_id = ${slotId}`,
        `UPDATE leases SET ended_at = started_at - 1 WHERE slot_id = ${slotId}`,
        'UPDATE leases SET ended_at = NULL WHERE ended_at IS NOT NULL',
        'UPDATE leases SET ended_at = ended_at + 1 WHERE ended_at IS NOT NULL',
      ]
      const ended = await shop.db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM leases WHERE ended_at IS NOT NULL')
      expect(Number(ended?.n)).toBeGreaterThan(0)
      for (const statement of statements) await failureOf(shop.db.transact((tx) => tx.run(statement)))
    })

    test('the database refuses one address twice, a slot too many, and an unknown state', async () => {
      const add = (address: string, slot: number, ipv: number, state: string) =>
        shop.db.transact((tx) =>
          tx.run(
            `INSERT INTO stock (id, address, slot, country, ipv, state, retiring) VALUES (990000001, $1, $2, 'SE', $3, $4, 0)`,
            [address, slot, ipv, state],
          ),
        )
      await failureOf(add('10.9.0.0', 0, 4, 'free'))
      await failureOf(add('10.9.9.9', 1, 4, 'free'))
      await failureOf(add('10.9.9.9', 3, 3, 'free'))
      await failureOf(add('10.9.9.9', 0, 4, 'lost'))
      await failureOf(add('10.9.9.9', 0, 5, 'free'))
      await failureOf(add('10.9.9.9', 0, 4, 'resting'))
    })
  })
})

/** PostgreSQL only: SQLite keeps no statistics here and has one query plan. */
test('a sale on PostgreSQL right after an import reads at most 300 rows of stock, without table statistics', async () => {
  const shop = await openDomainShop('postgres', shippedWith('AT'))
  try {
    const customer = await addCustomer(shop.services, 10n ** 12n)
    await addStock(shop.services, '10.32.0.0/19', 'AT', 4)
    const stock = { table: 'stock', columns: [], max: 300 }
    for (const count of [1, 3]) {
      const buy = () => buyProxies(shop.services, customer, { code: 'AT', ipv: 4, period: 7, count })
      expect(await wideIn(shop.db, stock, buy)).toEqual([])
    }
  } finally {
    await shop.close()
  }
})
