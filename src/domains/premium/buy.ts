import { type Bytes, bytes, bytesInGigabyte } from '../../core/bytes.ts'
import { addDays } from '../../core/calendar.ts'
import { type CustomerId, type OrderId, readId, type SubuserId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { PurchaseAnswer, PurchaseRequest } from '../orders/index.ts'
import { numberIn, type Plain, textIn } from '../orders/rules.ts'
import type { Buyer } from '../payments/index.ts'
import type { HeldGoods } from '../pricing/index.ts'
import { type Catalogue, priceTraffic, type TrafficPrice } from '../pricing/rules.ts'
import { never, type PoolBalance } from '../traffic/accounts/rules.ts'
import { type PremiumDeps, unknownPool } from './deps.ts'
import { touchIfEmpty } from './move.ts'
import { product } from './rules.ts'
import { load, resolve } from './subusers/manage.ts'
import type { Subuser } from './subusers/rules.ts'
import { ownersOf } from './subusers/store.ts'

/** Tests without a gateway replace `isServed`. */
type BuyDeps = PremiumDeps & { readonly exits: { isServed(pool: string): Promise<boolean> } }

type TrafficOrder = { readonly pool: string; readonly tenths: number; readonly subuser: SubuserId | undefined }

type BoughtTraffic = {
  readonly order: OrderId
  readonly pool: string
  readonly price: Kopecks
  readonly balance: Kopecks
  readonly added: Bytes
  readonly left: Bytes
  readonly subuser: Subuser
}

const holdersAtOnce = 500

function priceOf(catalogue: Catalogue, pool: string, tenths: number): TrafficPrice {
  const offered = catalogue.premium.pools
  if (!offered.has(pool)) throw unknownPool([...offered.keys()])
  return priceTraffic(catalogue, pool, tenths)
}

/** `available`: whether an exit serves the pool now, so that a purchase is not refused. */
export async function quote(deps: BuyDeps, pool: string, tenths: number) {
  const priced = priceOf(await deps.pricing.current(), pool, tenths)
  return { ...priced, available: await deps.exits.isServed(pool) }
}

export async function pools({ pricing }: PremiumDeps): Promise<string[]> {
  return [...(await pricing.current()).premium.pools.keys()]
}

/** Charges, adds the bytes and stores the answer in one commit. */
export async function buy(
  deps: BuyDeps,
  request: PurchaseRequest<BoughtTraffic>,
  { pool, tenths, subuser: id }: TrafficOrder,
): Promise<PurchaseAnswer> {
  const { accounts } = deps.traffic
  const catalogue = await deps.pricing.current(request.catalogue)
  const isServed = await deps.exits.isServed(pool)
  const gb = tenths / 10
  const orderInput = { pool_type: pool, gb, subuser_id: id ?? null }
  return deps.orders.sell(request, { product, action: 'buy', input: orderInput }, async (sale) => {
    const { tx, order } = sale
    const { total, perGigabyte } = priceOf(catalogue, pool, tenths)
    if (!isServed) throw new Refusal('no_exit_usable', { pool }, { charged: false })
    const subuser = await resolve(deps, tx, request.by.customer, id)
    const account = await accounts.lock(tx, { subuser: subuser.id, pool })
    const receipt = await sale.charge({
      price: total,
      calculation: { catalogue: catalogue.version, pool_type: pool, gb, price_per_gb_kopecks: String(perGigabyte) },
      note: `${gb} GB ${pool}`,
    })
    const added = (BigInt(tenths) * bytesInGigabyte) / 10n
    const days = catalogue.premium.pools.get(pool)?.expiresDays ?? null
    const expiresAt = days === null ? never : addDays(sale.nowMs, days)
    touchIfEmpty(deps, tx, account)
    const after = await accounts.deposit(tx, account, added, { order, expiresAt })
    return { ...receipt, pool, price: total, added: bytes(added), left: await accounts.left(tx, after), subuser }
  })
}

/** Buys when a payment arrives. */
export const buyerOf = (deps: BuyDeps): Buyer => ({
  product: 'traffic',
  async quote(stored) {
    const { pool, tenths } = readOrder(stored)
    return (await quote(deps, pool, tenths)).total
  },
  buy: (request, stored) => buy(deps, { ...request, automatic: true }, readOrder(stored)),
})

/** An order that was stored with a payment. */
function readOrder(stored: Plain): TrafficOrder {
  const [pool, tenths] = [textIn(stored, 'pool'), numberIn(stored, 'tenths')]
  if (pool === undefined || tenths === undefined) throw new Error('a stored order of traffic cannot be read')
  return { pool, tenths, subuser: readId('subuser', textIn(stored, 'subuser') ?? '') }
}

/** The balance of each pool, or of one. A pool without a purchase has a balance of zero. */
export async function balance(
  deps: PremiumDeps,
  customer: CustomerId,
  id: SubuserId | undefined,
  pool: string | undefined,
): Promise<{ subuser: Subuser; pools: PoolBalance[] }> {
  const subuser = await load(deps, customer, id)
  const balances = await deps.traffic.accounts.balances(subuser.id)
  const known = await pools(deps)
  const names = [...new Set([...known, ...balances.keys()])]
  if (pool !== undefined && !names.includes(pool)) throw unknownPool(known)
  const nothing = { left: bytes(0n), used: bytes(0n), updatedAt: null }
  const shown = pool === undefined ? names : [pool]
  return { subuser, pools: shown.map((name) => balances.get(name) ?? { pool: name, ...nothing }) }
}

/** Who holds unspent traffic of each pool. Traffic does not renew itself. */
export async function held(deps: PremiumDeps): Promise<HeldGoods[]> {
  const sold = [...((await deps.pricing.find())?.premium.pools.keys() ?? [])]
  return Promise.all(sold.map((pool) => heldOf(deps, pool)))
}

async function heldOf({ db, traffic }: PremiumDeps, pool: string): Promise<HeldGoods> {
  const customers = new Set<CustomerId>()
  let services = 0
  const read = (after: string, limit: number) => traffic.accounts.holdersOf(db, pool, after, limit)
  for await (const ids of keysetPages(read, { start: '', size: holdersAtOnce, keyOf: (id) => id })) {
    services += ids.length
    for (const owner of (await ownersOf(db, ids)).values()) customers.add(owner)
  }
  return { goods: { product, pool }, customers: customers.size, services, renewals: new Map() }
}
