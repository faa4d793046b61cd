import { addDays } from '../../../core/calendar.ts'
import { type Audit, attempt, type Finding, maxFindings, type Verifier } from '../../../core/finding.ts'
import { keysetPages } from '../../../core/keyset-pages.ts'
import type { Database, Reader } from '../../../db/transaction.ts'
import type { Orders } from '../../orders/index.ts'
import type { Order } from '../../orders/rules.ts'
import type { Pricing } from '../../pricing/index.ts'
import { type Catalogue, priceTraffic } from '../../pricing/rules.ts'
import { never } from '../../traffic/accounts/rules.ts'
import type { Traffic } from '../../traffic/index.ts'
import { ownersOf } from '../subusers/store-audit.ts'
import { product } from './service.ts'

const page = 500

type Parts = {
  readonly db: Database
  readonly orders: Orders
  readonly pricing: Pricing
  readonly traffic: {
    readonly accounts: Pick<Traffic['accounts'], 'boughtWith' | 'movedWith' | 'ordersNamedIn' | 'lotsOf' | 'restoredTo'>
  }
}

/**
 * Each purchase has its bytes once, as many as its order says, at the price of its price list; nothing moves without an
 * order.
 */
export function createPremiumVerifier(deps: Parts): Verifier {
  return {
    name: 'premium',
    verify: (onProgress) =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        let orders = 0
        await deps.orders.walk(reader, product, async (order) => {
          orders += 1
          await attempt(findings, { promise: 'traffic order', where: `order ${order.id}` }, async () => {
            const problem = await (order.action === 'buy' ? problemOfPurchase : problemOfMove)(deps, reader, order)
            if (problem) findings.push(found(order.id, problem))
          })
          onProgress?.(orders)
        })
        findings.push(...(await checkNamed(deps, reader, 'traffic_movements', 'bytes name it')))
        findings.push(...(await checkNamed(deps, reader, 'traffic_lots', 'lots name it')))
        return { findings: findings.slice(0, maxFindings), covered: { 'traffic orders': orders } }
      }),
  }
}

const found = (order: string, problem: string): Finding => ({
  promise: 'traffic order',
  where: `order ${order}`,
  problem,
})

/** Whatever order bytes name is there, and is one of ours. */
async function checkNamed(
  deps: Parts,
  reader: Reader,
  table: 'traffic_lots' | 'traffic_movements',
  by: string,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const all = keysetPages((after: string, limit) => deps.traffic.accounts.ordersNamedIn(reader, table, after, limit), {
    start: '',
    size: page,
    keyOf: (id) => id,
  })
  for await (const named of all) {
    const known = new Map((await deps.orders.findAudited(reader, named)).map((order) => [order.id, order]))
    for (const id of named) {
      if (known.get(id)?.product !== product) findings.push(found(id, `${by}, and it is not there`))
    }
  }
  return findings
}

/** What was moved is what the order says. A deletion may hand on more later, when nodes give it back. */
async function problemOfMove(deps: Parts, reader: Reader, order: Order): Promise<string | undefined> {
  const isMove = order.action === 'move'
  const asked = Object.keys(order.wish ?? {})
  if (!isMove && order.action !== 'delete') return 'it is neither a purchase nor a move nor a deletion'
  if (asked.includes('from_subuser_id') !== isMove) return 'it is not what was asked for'
  const told = BigInt((order.calculation as { bytes?: number } | null)?.bytes ?? -1)
  const moved = await deps.traffic.accounts.movedWith(reader, order.id)
  return (isMove ? moved === told : moved >= told && told >= 0n) ? undefined : 'what was moved is not what it says'
}

async function problemOfPurchase(deps: Parts, reader: Reader, order: Order): Promise<string | undefined> {
  const bought = await deps.traffic.accounts.boughtWith(reader, order.id)
  const [delivery] = bought
  if (!delivery) return 'it was paid and nothing was delivered'
  if (bought.length > 1) return 'it was delivered more than once'
  const told = (order.calculation ?? {}) as { catalogue?: unknown; pool_type?: unknown; gb?: unknown }
  const tenths = typeof told.gb === 'number' ? Math.round(told.gb * 10) : 0
  if (delivery.pool !== told.pool_type || delivery.bytes !== BigInt(tenths) * 100_000_000n) {
    return 'what was delivered is not what it says'
  }
  const catalogue = typeof told.catalogue === 'number' ? await deps.pricing.version(reader, told.catalogue) : undefined
  if (!catalogue) return 'its price list is not there'
  const asked = (order.wish ?? {}) as { pool_type?: unknown; gb?: unknown; subuser_id?: unknown }
  if (asked.pool_type !== told.pool_type || asked.gb !== told.gb) return 'it was not priced as it was asked for'
  if ((asked.subuser_id ?? delivery.subuser) !== delivery.subuser) return 'it was delivered to another sub-user'
  if (priceTraffic(catalogue, delivery.pool, tenths).total !== order.price) return 'its price is not its price list’s'
  return problemOfLots(deps, reader, order, delivery, catalogue)
}

/** The bytes of an order expire when its price list says, wherever they were moved, and stay with its customer. */
async function problemOfLots(
  deps: Parts,
  reader: Reader,
  order: Order,
  delivery: { readonly subuser: string; readonly pool: string; readonly bytes: bigint },
  catalogue: Catalogue,
): Promise<string | undefined> {
  const lots = await deps.traffic.accounts.lotsOf(reader, order.id)
  const days = catalogue.premium.pools.get(delivery.pool)?.expiresDays ?? null
  const expiresAt = days === null ? never : addDays(order.createdAt, days)
  if (lots.some((lot) => lot.expiresAt !== expiresAt)) return 'its bytes do not expire when its price list says'
  if (lots.some((lot) => lot.pool !== delivery.pool)) return 'its bytes are in another pool'
  const first = lots.find((lot) => lot.subuser === delivery.subuser)
  if (!first || first.size < delivery.bytes) return 'its bytes are not where they were bought for'
  const left = lots.reduce((sum, lot) => sum + lot.rest, 0n)
  // What is restored goes to any lot with room, and a lot that bytes were moved out of has room for another order's.
  if (left > delivery.bytes && left > delivery.bytes + (await deps.traffic.accounts.restoredTo(reader, lots))) {
    return 'more of it is left than was bought'
  }
  const owners = await ownersOf(
    reader,
    lots.map((lot) => lot.subuser),
  )
  return lots.every((lot) => owners.get(lot.subuser) === order.customer) ? undefined : 'another customer has its bytes'
}
