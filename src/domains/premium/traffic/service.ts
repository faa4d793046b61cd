import { type Bytes, bytes, bytesInGigabyte, toGigabytes } from '../../../core/bytes.ts'
import { addDays } from '../../../core/calendar.ts'
import type { CustomerId, OrderId, SubuserId } from '../../../core/ids.ts'
import { keysetPages } from '../../../core/keyset-pages.ts'
import { type Kopecks, kopecks, toRoubles } from '../../../core/money.ts'
import { type Clock, toIso } from '../../../core/time.ts'
import type { Database, Tx } from '../../../db/transaction.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Answer, Ending, Orders, PurchaseRequest, Told } from '../../orders/index.ts'
import type { Order } from '../../orders/rules.ts'
import type { Held, Pricing } from '../../pricing/index.ts'
import { type Catalogue, priceTraffic, type TrafficPrice } from '../../pricing/rules.ts'
import type { PoolBalance } from '../../traffic/accounts/rules.ts'
import { type ByteAccount, never } from '../../traffic/accounts/rules.ts'
import type { Traffic } from '../../traffic/index.ts'
import {
  noSuchTrafficOrder,
  notCarried,
  nothingToMove,
  nothingUnused,
  onlyUnused,
  sameSubuser,
  unknownPool,
} from '../errors.ts'
import type { Exits } from '../exits/service.ts'
import type { Subuser } from '../subusers/rules.ts'
import type { Subusers } from '../subusers/service.ts'
import { touchSubuser } from '../subusers/store.ts'
import { ownersOf } from '../subusers/store-audit.ts'

export type Bought = {
  readonly order: OrderId
  readonly pool: string
  readonly price: Kopecks
  readonly balance: Kopecks
  readonly added: Bytes
  readonly left: Bytes
  readonly subuser: Subuser
}

export type Moved = {
  readonly order: OrderId
  readonly pool: string
  readonly moved: Bytes
  readonly from: { readonly subuser: Subuser; readonly left: Bytes }
  readonly to: { readonly subuser: Subuser; readonly left: Bytes }
}

type Refunded = {
  readonly order: OrderId
  readonly returned: Bytes
  readonly money: Kopecks
  readonly balance: Kopecks
}

export const product = 'premium'

const holdersAtOnce = 500

/**
 * Traffic as it is sold: bought, moved between sub-users, shown and given back. The bytes themselves are the traffic
 * domain's.
 */
export function createTrafficSales(deps: {
  db: Database
  clock: Clock
  ledger: Ledger
  orders: Orders
  pricing: Pricing
  traffic: Pick<Traffic, 'accounts'>
  subusers: Subusers
  exits: Pick<Exits, 'isCarried'>
}) {
  const { db, clock, orders, pricing, subusers } = deps
  const { accounts } = deps.traffic

  /**
   * Fresh bytes are on their way to an account: nodes that had been told there was nothing left are told to ask again.
   */
  function touchIfEmpty(tx: Tx, account: ByteAccount): void {
    if (account.balance === 0n) touchSubuser(tx, account.subuser, clock())
  }

  async function heldOf(pool: string): Promise<Held> {
    const customers = new Set<CustomerId>()
    let services = 0
    const all = keysetPages((after: string, limit) => accounts.holdersOf(db, pool, after, limit), {
      start: '',
      size: holdersAtOnce,
      keyOf: (id) => id,
    })
    for await (const ids of all) {
      services += ids.length
      for (const owner of (await ownersOf(db, ids)).values()) customers.add(owner)
    }
    return { goods: { product, pool }, customers: customers.size, services, renewals: new Map() }
  }

  return {
    /** `available`: whether a purchase now would be carried, and so not be refused. */
    async quote(pool: string, tenths: number): Promise<TrafficPrice & { readonly available: boolean }> {
      const priced = price(await pricing.current(), pool, tenths)
      return { ...priced, available: await deps.exits.isCarried(pool) }
    },

    async pools(): Promise<string[]> {
      return [...(await pricing.current()).premium.pools.keys()]
    },

    /** Who has unspent traffic of each pool now. Nothing of it renews itself. */
    async held(): Promise<Held[]> {
      const pools = [...((await pricing.find())?.premium.pools.keys() ?? [])]
      return Promise.all(pools.map((pool) => heldOf(pool)))
    },

    /** Charges, adds the bytes and writes the answer in one commit: nobody pays for traffic that is not there. */
    async buy(
      request: PurchaseRequest<Bought>,
      wish: { pool: string; tenths: number; subuser: SubuserId | undefined },
    ): Promise<Answer> {
      const catalogue = await pricing.current(request.catalogue)
      const { pool, tenths } = wish
      const isCarried = await deps.exits.isCarried(pool)
      const asked = { pool_type: pool, gb: tenths / 10, subuser_id: wish.subuser ?? null }
      return orders.sell(request, { product, action: 'buy', wish: asked }, async (sale) => {
        const { tx, order } = sale
        const { total, perGigabyte } = price(catalogue, pool, tenths)
        if (!isCarried) throw notCarried(pool)
        const subuser = await subusers.resolve(tx, request.by.customer, wish.subuser)
        const account = await accounts.lock(tx, { subuser: subuser.id, pool })
        const receipt = await sale.charge({
          price: total,
          calculation: {
            catalogue: catalogue.version,
            pool_type: pool,
            gb: tenths / 10,
            price_per_gb_rub: toRoubles(perGigabyte),
          },
          note: `${tenths / 10} GB ${pool}`,
        })
        const added = (BigInt(tenths) * bytesInGigabyte) / 10n
        const days = catalogue.premium.pools.get(pool)?.expiresDays ?? null
        const expiresAt = days === null ? never : addDays(sale.nowMs, days)
        touchIfEmpty(tx, account)
        const after = await accounts.deposit(tx, account, added, { order, expiresAt })
        return { ...receipt, pool, price: total, added: bytes(added), left: await accounts.left(tx, after), subuser }
      })
    },

    /** Each pool's standing, or one's. A pool that was never bought stands at nothing. */
    async balance(
      customer: CustomerId,
      id: SubuserId | undefined,
      pool: string | undefined,
    ): Promise<{ subuser: Subuser; pools: PoolBalance[] }> {
      const subuser = await subusers.load(customer, id)
      const standings = await accounts.standings(subuser.id)
      const known = [...(await pricing.current()).premium.pools.keys()]
      const names = [...new Set([...known, ...standings.keys()])]
      if (pool !== undefined && !names.includes(pool)) throw unknownPool(known)
      const nothing = { left: bytes(0n), used: bytes(0n), updatedAt: null }
      const shown = pool === undefined ? names : [pool]
      return { subuser, pools: shown.map((name) => standings.get(name) ?? { pool: name, ...nothing }) }
    },

    /** An order without a price: so a move has a number, is listed, and a repeat under one key moves once. */
    async move(
      request: PurchaseRequest<Moved>,
      wish: {
        pool: string
        tenths: number | 'all'
        from: SubuserId | undefined
        to: SubuserId | undefined
      },
    ): Promise<Answer> {
      const known = [...(await pricing.current()).premium.pools.keys()]
      const { pool, tenths } = wish
      const asked = {
        pool_type: pool,
        gb: tenths === 'all' ? 'all' : tenths / 10,
        from_subuser_id: wish.from ?? null,
        to_subuser_id: wish.to ?? null,
      }
      return orders.sell(request, { product, action: 'move', wish: asked }, async (sale) => {
        const { tx, order } = sale
        const from = await subusers.resolve(tx, request.by.customer, wish.from)
        const to = await subusers.resolve(tx, request.by.customer, wish.to)
        if (from.id === to.id) throw sameSubuser()
        const pair = await accounts.lockPair(tx, from.id, to.id, pool)
        if (!known.includes(pool) && pair.from.seq === 0) throw unknownPool(known)
        const amount = tenths === 'all' ? pair.from.balance : (BigInt(tenths) * bytesInGigabyte) / 10n
        if (amount === 0n) throw nothingToMove(pool)
        await sale.charge({
          price: kopecks(0n),
          calculation: { bytes: Number(amount) },
          note: `moved ${pool} traffic`,
        })
        touchIfEmpty(tx, pair.to)
        const after = await accounts.transfer(tx, pair, amount, order)
        return {
          order,
          pool,
          moved: bytes(amount),
          from: { subuser: from, left: await accounts.left(tx, after.from) },
          to: { subuser: to, left: await accounts.left(tx, after.to) },
        }
      })
    },

    /** Hands all that a sub-user has free to another, pool by pool. */
    async inherit(tx: Tx, from: SubuserId, to: SubuserId, order: OrderId): Promise<{ pool: string; moved: Bytes }[]> {
      const moved: { pool: string; moved: Bytes }[] = []
      for (const { pool } of await accounts.list(tx, [from])) {
        const pair = await accounts.lockPair(tx, from, to, pool)
        const amount = pair.from.balance
        if (amount === 0n) continue
        touchIfEmpty(tx, pair.to)
        await accounts.transfer(tx, pair, amount, order)
        moved.push({ pool, moved: bytes(amount) })
      }
      return moved
    },

    /**
     * Gives back the unused part of an order, bytes for money, once and in one commit. Bytes that a node holds are not
     * unused. The money is the same part of the price as the bytes are of the order, a fraction of a kopeck staying
     * with the shop.
     */
    refund: (id: OrderId, note: string): Promise<Refunded> =>
      db.transact(async (tx) => refund(tx, await orders.find(tx, id), note)),

    /** The same, as the operator ends whatever an order has bought. */
    /** What an order has bought, and what is left of it. */
    async delivered(order: Order): Promise<Told[]> {
      return (await accounts.lotsOf(db, order.id)).map((lot) => ({
        subuser: lot.subuser,
        pool: lot.pool,
        bought_gb: toGigabytes(bytes(lot.size)),
        left_gb: toGigabytes(bytes(lot.rest)),
        expires_at: lot.expiresAt >= never ? null : toIso(lot.expiresAt),
      }))
    },

    ending: {
      product,
      async endOrder(tx, order, how, note) {
        if (how === 'whole') throw onlyUnused()
        const { returned, money, balance } = await refund(tx, order, note)
        return { returned_gb: toGigabytes(returned), amount_rub: toRoubles(money), balance_rub: toRoubles(balance) }
      },
    } satisfies Ending,
  }

  async function refund(tx: Tx, order: Order | undefined, note: string): Promise<Refunded> {
    if (!order?.chargeSeq || order.product !== product || order.action !== 'buy') throw noSuchTrafficOrder()
    await deps.ledger.lock(tx, order.customer)
    const returned = await accounts.takeBack(tx, order.id)
    const bought = (await accounts.boughtWith(tx, order.id)).reduce((sum, each) => sum + each.bytes, 0n)
    const money = bought === 0n ? 0n : (order.price * returned) / bought
    if (money === 0n) throw nothingUnused()
    const charge = { customer: order.customer, chargeSeq: order.chargeSeq }
    const posting = await orders.giveBack(tx, charge, kopecks(money), note)
    return { order: order.id, returned: bytes(returned), money: posting.amount, balance: posting.balanceAfter }
  }
}

/** The price of traffic in a pool, or the pools that there are. */
function price(catalogue: Catalogue, pool: string, tenths: number): TrafficPrice {
  const pools = catalogue.premium.pools
  if (!pools.has(pool)) throw unknownPool([...pools.keys()])
  return priceTraffic(catalogue, pool, tenths)
}
