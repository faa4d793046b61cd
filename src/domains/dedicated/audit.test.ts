import { expect, test } from 'bun:test'
import { runtimeWith } from '../../../test/harness/clock.ts'
import { engines } from '../../../test/harness/database.ts'
import { addStock, buyProxies, openDomainShop, prolongProxies, shippedWith } from '../../../test/harness/proxies.ts'
import { addCustomer, findingsOf, wire } from '../../../test/harness/wired.ts'
import { createVault } from '../../adapters/crypto.ts'
import { createServices } from '../../app/shop/services.ts'
import type { Database, Reader } from '../../db/transaction.ts'

/** The same database; `look` runs before each statement of a snapshot. */
function observed(db: Database, look: (sql: string) => Promise<void>): Database {
  const watch = (reader: Reader): Reader => ({
    ...reader,
    async all(sql, values) {
      await look(sql)
      return reader.all(sql, values)
    },
  })
  return { ...db, snapshot: (work) => db.snapshot((reader) => work(watch(reader))) }
}

test.each([...engines])('verify keeps at most 1,000 of 1,501 proxies in memory, on %s', async (engine) => {
  const shop = await openDomainShop(engine, shippedWith('AT'))
  await addStock(shop.services, '2001:db8::/64', 'AT', 6)
  const customer = await addCustomer(shop.services, 10n ** 9n)
  for (const count of [501, 500, 500]) await buyProxies(shop.services, customer, { code: 'AT', ipv: 6, count })
  const passwords: WeakRef<Uint8Array>[] = []
  const vault = createVault(new Uint8Array(32))
  const open: typeof vault.open = (sealed, context) => {
    passwords.push(new WeakRef(sealed))
    return vault.open(sealed, context)
  }
  let alive = 0
  const db = observed(shop.db, async (sql) => {
    // The walk over the slots follows the walk over the proxies.
    if (!sql.startsWith('SELECT * FROM stock WHERE id >') || alive > 0) return
    // A target that this turn has touched lives until its end.
    await new Promise(setImmediate)
    Bun.gc(true)
    alive = passwords.filter((each) => each.deref() !== undefined).length
  })
  const gateway = { host: '127.0.0.1', port: 10_800 }
  const services = createServices(db, runtimeWith(shop.clock), { vault: { ...vault, open }, gateway })
  const audit = await services.verifiers.find(({ name }) => name === 'dedicated')?.verify()
  expect(audit).toMatchObject({ findings: [], covered: { proxies: 1501, leases: 1501 } })
  expect([passwords.length, alive <= 1000]).toEqual([1501, true])
  await shop.close()
})

test.each([...engines])(
  'verify knows each prolonging of proxies whose ids are 200,000 apart, on %s',
  async (engine) => {
    const shop = await openDomainShop(engine, shippedWith('AT'))
    await addStock(shop.services, '2001:db8::/64', 'AT', 6)
    const customer = await addCustomer(shop.services, 10n ** 9n)
    const ids: number[] = []
    let services = shop.services
    for (let count = 0; count < 3; count += 1) {
      const { proxies } = await buyProxies(services, customer, { code: 'AT', ipv: 6, count: 2 })
      ids.push(...proxies.map(({ id }) => id))
      await shop.db.transact((tx) => tx.run(`UPDATE counters SET next = next + 200000 WHERE name = 'proxy'`))
      // The numbers that this process has reserved are left out.
      services = wire(shop.db, shop.clock)
    }
    shop.clock.advance(1000)
    await prolongProxies(services, customer, ids, 30)
    shop.clock.advance(1000)
    await prolongProxies(services, customer, ids.toReversed().slice(0, 5), 30)
    expect((ids.at(-1) ?? 0) - (ids[0] ?? 0)).toBeGreaterThan(400_000)
    expect(await findingsOf(services)).toEqual([])
    await shop.close()
  },
)
