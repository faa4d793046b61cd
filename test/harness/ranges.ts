import { afterEach, beforeEach, expect } from 'bun:test'
import { createServices, type Services } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import type { AddressRun } from '../../src/domains/stock/ranges/rules.ts'
import type { Ipv } from '../../src/domains/stock/rules.ts'
import { runtimeWith } from './clock.ts'
import type { Engine } from './database.ts'
import { buyProxies, type DomainShop, kindIn, openDomainShop, shippedWith } from './proxies.ts'
import { addCustomer, findingsOf } from './wired.ts'

/**
 * Opens a shop without a gateway before each test of a `describe`, and checks and closes it after the test. It sells
 * addresses in AT.
 */
export function useRangeShop(engine: Engine, connections?: number) {
  let shop: DomainShop
  let services: Services
  let customer: CustomerId
  beforeEach(async () => {
    shop = await openDomainShop(engine, shippedWith('AT'), connections)
    // The services of `openDomainShop` have a gateway that serves all stock.
    services = createServices(shop.db, runtimeWith(shop.clock), shop.services.config)
    customer = await addCustomer(services, 10n ** 9n)
  })
  afterEach(async () => {
    expect(await findingsOf(services)).toEqual([])
    await shop.close()
  })
  const contact = (node: string) => services.fleet.seen(node as never, { version: '0' })
  async function claim(node: string, prefix: string, served: readonly AddressRun[], isLocal: boolean): Promise<void> {
    const { ranges } = await services.stock.ranges.overview()
    const range = ranges.find((each) => each.prefix === prefix)?.id ?? 0
    await services.stock.ranges.tried(node, [{ range, served, problems: [], seenAs: null }], isLocal)
  }
  return {
    get db() {
      return shop.db
    },
    get clock() {
      return shop.clock
    },
    get services() {
      return services
    },
    get customer() {
      return customer
    },
    /** Records a contact of the gateway with the shop at the present time. */
    contact,
    addGateway: async (name: string): Promise<string> => {
      const { id } = await shop.db.transact((tx) => services.fleet.add(tx, { kind: 'gateway', name, location: 'test' }))
      await contact(id)
      return id
    },
    /** A gateway's report that it can use these addresses. It needs a proof before they are sold. */
    claim: (node: string, prefix: string, ...served: AddressRun[]) => claim(node, prefix, served, false),
    /** The same report over the shop's own socket, which needs no proof. */
    claimLocally: (node: string, prefix: string, ...served: AddressRun[]) => claim(node, prefix, served, true),
    buy: async (count = 1, ipv: Ipv = 4): Promise<string[]> => {
      const { proxies } = await buyProxies(services, customer, { code: 'AT', ipv, period: 7, count })
      return proxies.map((each) => each.address)
    },
    /** The number of slots on sale after the cache of 1 s has expired. */
    available: (ipv: Ipv = 4): Promise<number> => {
      shop.clock.advance(1001)
      return services.stock.available(kindIn('AT', ipv))
    },
    /** The gateway that serves an address. */
    gatewayOf: async (address: string): Promise<string | null> => {
      const sql = 'SELECT serving_node FROM stock WHERE address = $1'
      return (await shop.db.first<{ serving_node: string | null }>(sql, [address]))?.serving_node ?? null
    },
  }
}
