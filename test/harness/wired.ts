import { createVault } from '../../src/adapters/crypto.ts'
import { createServices, realRuntime, type Services, type ShopConfig } from '../../src/app/shop/services.ts'
import { sayFinding } from '../../src/core/finding.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import type { Database, Tx } from '../../src/db/transaction.ts'
import type { Payer } from '../../src/domains/ledger/index.ts'
import type { PurchaseAnswer, PurchaseRequest, Receipt } from '../../src/domains/orders/index.ts'
import { type HandClock, runtimeWith } from './clock.ts'
import { isLong } from './scale.ts'
import { addStockGateway } from './stock-gateway.ts'

/**
 * All domains on a database, without HTTP; on real time without a clock. No gateway reports the state of exits, so
 * traffic is sold without such reports.
 */
export function wire(
  db: Database,
  clock?: Pick<HandClock, 'read'>,
  config: Pick<ShopConfig, 'maxTokens' | 'apiVersion'> = {},
): Services {
  const gateway = { host: '127.0.0.1', port: 10_800 }
  const runtime = clock ? runtimeWith(clock) : realRuntime
  const services = createServices(db, runtime, { vault: createVault(new Uint8Array(32)), gateway, ...config })
  services.premium.exits.isServed = async () => true
  return addStockGateway(services)
}

/** A customer with so many kopecks. */
export async function addCustomer(services: Services, money: bigint): Promise<CustomerId> {
  const { id } = await services.customers.create('test')
  if (money > 0n) await credit(services, id, money)
  return id
}

export const credit = (services: Services, customer: CustomerId, money: bigint) =>
  services.db.transact((tx) => services.ledger.credit(tx, customer, kopecks(money), 'operator', 'top-up'))

/** A purchase of a product with this price, through the same code as every product. */
export function buy(
  services: Services,
  by: Payer,
  price: bigint,
  options: { readonly key?: string; readonly text?: string; readonly automatic?: true } = {},
): Promise<PurchaseAnswer> {
  const toBody = (receipt: Receipt) => JSON.stringify({ order: receipt.order, balance: String(receipt.balance) })
  const input = { product: 'things', action: 'buy', input: { thing: options.text ?? 'a thing' } }
  const request = { by, key: options.key, toBody, ...(options.automatic && { automatic: options.automatic }) }
  return services.orders.sell(request, input, (sale) =>
    sale.charge({ price: kopecks(price), calculation: { price: String(price) }, note: 'a thing' }),
  )
}

/** A purchase request without a key, whose answer body is not used. */
export const keylessRequest = (customer: CustomerId): { by: Payer; key: undefined; toBody: () => string } => ({
  by: { customer, token: null },
  key: undefined,
  toBody: () => '',
})

/** The same, and returns the bought product. */
export async function buying<Bought>(
  customer: CustomerId,
  buyIt: (request: PurchaseRequest<Bought>) => Promise<PurchaseAnswer>,
): Promise<Bought> {
  let caught: { bought: Bought } | undefined
  const toBody = (bought: Bought): string => {
    caught = { bought }
    return ''
  }
  await buyIt({ ...keylessRequest(customer), toBody })
  if (!caught) throw new Error('nothing was sold')
  return caught.bought
}

/** Verifiers of the schema, which no domain changes, and of constraints, which the database enforces on every row. */
const ofDatabase = ['schema', 'integrity']

/** A finding with its English sentences. */
type FindingText = ReturnType<typeof sayFinding>

async function findingsBy(verifiers: Services['verifiers']): Promise<FindingText[]> {
  const audits = await Promise.all(verifiers.map((verifier) => verifier.verify()))
  return audits.flatMap((audit) => audit.findings).map((each) => sayFinding(each))
}

/** The findings of `verify` in the shop's rows; in a long run, all findings. */
export const findingsOf = (services: Services): Promise<FindingText[]> =>
  findingsBy(services.verifiers.filter(({ name }) => isLong || !ofDatabase.includes(name)))

/** All findings of `verify`, for tests that damage the database itself. */
export const allFindingsOf = (services: Services): Promise<FindingText[]> => findingsBy(services.verifiers)

class Undone extends Error {}

/**
 * The findings of `verify` after a change, which is rolled back: verify reads within the transaction of the change, so
 * that one database serves many changes. The caller has run verify before, so that the expected schema is cached.
 */
export async function findingsAfter(db: Database, change: (tx: Tx) => Promise<unknown>): Promise<FindingText[]> {
  let found: FindingText[] = []
  await db
    .transact(async (tx) => {
      await change(tx)
      const inside: Database = { ...db, ...tx, snapshot: (work) => work(tx), transact: (work) => work(tx) }
      found = await allFindingsOf(wire(inside))
      throw new Undone()
    })
    .catch((error: unknown) => {
      if (!(error instanceof Undone)) throw error
    })
  return found
}
