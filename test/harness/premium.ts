import { createVault } from '../../src/adapters/crypto.ts'
import { createServices, type Services } from '../../src/app/shop/services.ts'
import type { CustomerId, SubuserId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { shippedTerms } from '../../src/domains/premium/rules.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { HandClock, runtimeWith } from './clock.ts'
import { type Engine, openTestDatabase } from './database.ts'
import { findingsOf, keylessRequest } from './wired.ts'

export const pool = 'residential'
/** A lease of 10 MB: the smallest purchase is ten of them, so traffic runs out quickly. */
export const leaseBytes = 10_000_000n
export const leaseLastsMs = shippedTerms.leaseLastsMs

export type PremiumShop = {
  readonly services: Services
  readonly clock: HandClock
  readonly address: string
  newCustomer(): Promise<CustomerId>
  /** Buys for a sub-user (the default one unless named) in tenths of a gigabyte. */
  buy(customer: CustomerId, tenths: number, subuser?: SubuserId): Promise<void>
  move(customer: CustomerId, tenths: number | 'all', from?: SubuserId, to?: SubuserId): Promise<void>
  /** The traffic account of a sub-user. */
  account(subuser: SubuserId): Promise<{ balance: bigint; aside: bigint; owed: bigint; used: bigint }>
  findings(): Promise<string[]>
  close(): Promise<void>
}

/** A shop without HTTP: all domains on a real database, the shipped prices, and a hand clock. */
export async function openPremiumShop(engine: Engine, terms: Partial<typeof shippedTerms> = {}): Promise<PremiumShop> {
  const database = await openTestDatabase(engine)
  const { db, testDatabase } = database
  const clock = new HandClock()
  const services = createServices(db, runtimeWith(clock), {
    vault: createVault(new Uint8Array(32).fill(7)),
    gateway: { host: 'gw.example.net', address: '198.51.100.1', port: 10_800 },
    premium: { ...shippedTerms, leaseBytes, ...terms },
  })
  // No gateway reports the state of exits here.
  services.premium.exits.isServed = async () => true
  await db.transact(async (tx) => void (await services.pricing.apply(tx, shippedCatalogue)))
  return {
    services,
    clock,
    address: testDatabase.address,
    async newCustomer() {
      const { id } = await services.customers.create('reseller')
      await db.transact(async (tx) => {
        await services.ledger.credit(tx, id, kopecks(100_000_000n), 'operator', 'test')
      })
      return id
    },
    async buy(customer, tenths, subuser) {
      await services.premium.traffic.buy(keylessRequest(customer), { pool, tenths, subuser })
    },
    async move(customer, tenths, from, to) {
      await services.premium.traffic.move(keylessRequest(customer), { pool, tenths, from, to })
    },
    async account(subuser) {
      const row = await db.first<{ balance: bigint; aside: bigint; owed: bigint; used: bigint }>(
        'SELECT balance, aside, owed, used FROM traffic_accounts WHERE subuser_id = $1 AND pool = $2',
        [subuser, pool],
      )
      return row ?? { balance: 0n, aside: 0n, owed: 0n, used: 0n }
    },
    async findings() {
      return (await findingsOf(services)).map((each) => `${each.where}: ${each.problem}`)
    },
    close: () => database.close(),
  }
}
