import type { Database, Reader } from '../../../db/transaction.ts'
import { type Audit, type Finding, mostFindings, type Verifier } from '../../../kernel/finding.ts'
import { pagesOf } from '../../../kernel/pages.ts'
import type { Orders } from '../../orders/index.ts'
import type { Order } from '../../orders/rules.ts'
import type { Pricing } from '../../pricing/index.ts'
import { priceTraffic } from '../../pricing/rules.ts'
import type { Traffic } from '../../traffic/index.ts'
import { product } from './service.ts'

const page = 500

type Parts = {
  readonly db: Database
  readonly orders: Orders
  readonly pricing: Pricing
  readonly traffic: { readonly accounts: Pick<Traffic['accounts'], 'boughtWith' | 'namedOrders'> }
}

/**
 * Each purchase has its bytes once, as many as its order says, at the price of its price list; nothing moves without an
 * order.
 */
export function createPremiumVerifier(deps: Parts): Verifier {
  return {
    name: 'premium',
    verify: () =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        let orders = 0
        await deps.orders.walk(reader, product, async (order) => {
          orders += 1
          const problem = order.action === 'buy' ? await problemOfPurchase(deps, reader, order) : undefined
          if (problem) findings.push(found(order.id, problem))
        })
        findings.push(...(await checkNamed(deps, reader)))
        return { findings: findings.slice(0, mostFindings), covered: { 'traffic orders': orders } }
      }),
  }
}

const found = (order: string, problem: string): Finding => ({
  promise: 'traffic order',
  where: `order ${order}`,
  problem,
})

/** Whatever order bytes name is there, and is one of ours. */
async function checkNamed(deps: Parts, reader: Reader): Promise<Finding[]> {
  const findings: Finding[] = []
  const all = pagesOf((after: string, limit) => deps.traffic.accounts.namedOrders(reader, after, limit), {
    start: '',
    size: page,
    keyOf: (id) => id,
  })
  for await (const named of all) {
    for (const id of named) {
      const order = await deps.orders.find(reader, id)
      if (order?.product !== product) findings.push(found(id, 'bytes name it, and it is not there'))
    }
  }
  return findings
}

async function problemOfPurchase(deps: Parts, reader: Reader, order: Order): Promise<string | undefined> {
  const bought = await deps.traffic.accounts.boughtWith(reader, order.id)
  const [delivery] = bought
  if (!delivery) return 'it was paid and nothing was delivered'
  if (bought.length > 1) return 'it was delivered more than once'
  const told = order.calculation as { catalogue?: unknown; pool_type?: unknown; gb?: unknown }
  const tenths = typeof told.gb === 'number' ? Math.round(told.gb * 10) : 0
  if (delivery.pool !== told.pool_type || delivery.bytes !== BigInt(tenths) * 100_000_000n) {
    return 'what was delivered is not what it says'
  }
  const catalogue = typeof told.catalogue === 'number' ? await deps.pricing.version(reader, told.catalogue) : undefined
  if (!catalogue) return 'its price list is not there'
  return priceTraffic(catalogue, delivery.pool, tenths).total === order.price
    ? undefined
    : 'its price is not its price list’s'
}
