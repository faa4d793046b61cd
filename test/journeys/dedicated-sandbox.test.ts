import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { openSandbox } from '../../src/jobs/sandbox/open.ts'
import { enginesOf, openTestDatabase } from '../harness/database.ts'
import { addStock, applyCatalogue, kindIn, shippedWith, slotsByState } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, wire } from '../harness/wired.ts'

const noTokenFile = { find: () => undefined, take: (make: () => string) => make() }
const countries = ['DE', 'FR', 'GB', 'NL', 'RU', 'US']

describe.each([...enginesOf('sqlite')])('the stock of a sandbox on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    // A real sandbox adds more stock than the prepared test databases have.
    service = await startService(engine, {}, undefined, true, 'migrated')
  })
  afterAll(() => service.stop())

  test('a sandbox sells 1,000 or more local addresses of every kind in each of six countries', async () => {
    for (const country of countries) {
      for (const ipv of [3, 4, 6]) {
        const { data } = await service.get(`/dedicated/quote?country_code=${country}&period=30&count=1000&ipv=${ipv}`)
        expect(data.available).toBeGreaterThanOrEqual(1_000)
        expect(data.price_rub).toBeGreaterThan(0)
      }
    }
    const addresses = await service.services.db.all<{ country: string; ipv: bigint; n: bigint; least: string }>(
      `SELECT country, ipv, COUNT(DISTINCT address) AS n, MIN(address) AS least FROM stock
       WHERE address LIKE '127.%' GROUP BY country, ipv ORDER BY country, ipv`,
    )
    expect(addresses).toHaveLength(12)
    for (const each of addresses) expect(Number(each.n)).toBeGreaterThanOrEqual(1_000)
    const foreign = await service.services.db.first<{ n: bigint }>(
      `SELECT COUNT(*) AS n FROM stock WHERE address NOT LIKE '127.%'`,
    )
    expect(Number(foreign?.n)).toBe(0)
    const { data } = await service.post('/dedicated/buy', { country_code: 'RU', period: 3, count: 1, ipv: 6 })
    expect(data.proxies[0].exit_ip).toMatch(/^fd/)
  })

  test('a second start completes the stock that a first start left incomplete; a third adds none', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    const services = wire(db)
    // The first start created the mode, the prices and part of the addresses.
    await db.transact((tx) => services.customers.decideMode(tx, 'sandbox'))
    await applyCatalogue(services, shippedWith())
    for (const prefix of ['127.10.0.0/22', '127.11.0.0/24']) {
      await addStock(services, prefix, prefix.startsWith('127.10') ? 'DE' : 'FR', 4)
    }
    const later = wire(db)
    expect(await openSandbox(later, shippedCatalogue, undefined, noTokenFile)).toBeUndefined()
    for (const country of countries) {
      for (const ipv of [3, 4, 6] as const) {
        expect(await wire(db).stock.available(kindIn(country, ipv))).toBeGreaterThanOrEqual(1_000)
      }
    }
    const states = await slotsByState(later)
    expect(states).toEqual({ free: 6 * 1024 * 4, leased: 0, resting: 0, retired: 0 })
    await openSandbox(wire(db), shippedCatalogue, undefined, noTokenFile)
    expect(await slotsByState(later)).toEqual(states)
    expect(await findingsOf(later)).toEqual([])
    await opened.close()
  })
})
