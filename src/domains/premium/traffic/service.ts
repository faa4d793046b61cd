import type { Database, Tx } from '../../../db/transaction.ts'
import { type Bytes, bytes, bytesInGigabyte } from '../../../kernel/bytes.ts'
import type { CustomerId, OrderId, SubuserId } from '../../../kernel/ids.ts'
import { type Kopecks, kopecks, toRoubles } from '../../../kernel/money.ts'
import { addDays } from '../../../kernel/terms.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Answer, Orders, PurchaseRequest } from '../../orders/index.ts'
import type { Pricing } from '../../pricing/index.ts'
import { type Catalogue, priceTraffic, type TrafficPrice } from '../../pricing/rules.ts'
import type { Leases } from '../../traffic/index.ts'
import { noSuchTrafficOrder, nothingUnused, sameSubuser, unknownPool } from '../errors.ts'
import { type Subuser, subjectOf } from '../rules.ts'
import type { Subusers } from '../subusers/service.ts'
import { touchSubuser } from '../subusers/store.ts'
import {
  type Cause,
  type Change,
  comeIn,
  goOut,
  type Lot,
  move,
  never,
  type TrafficAccount,
  takeFromLots,
  usedBy,
} from './rules.ts'
import * as store from './store.ts'

export type Traffic = ReturnType<typeof createTraffic>

/** How an account stands, as a customer counts: what nodes have carried is used, settled or not. */
export type Standing = {
  readonly pool: string
  readonly left: Bytes
  readonly used: Bytes
  readonly updatedAt: number | null
}

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

export const product = 'premium'

const lotsAtOnce = 8

export function createTraffic(deps: {
  db: Database
  clock: Clock
  sha256: (text: string) => Uint8Array
  ledger: Ledger
  orders: Orders
  pricing: Pricing
  leases: Leases
  subusers: Subusers
}) {
  const { db, clock, orders, pricing, subusers } = deps

  /** Moves bytes of an account that this transaction has locked. What is used is taken from the lots, what ends first first. */
  async function apply(
    tx: Tx,
    account: TrafficAccount,
    changes: readonly Change[],
    cause: Cause,
  ): Promise<TrafficAccount> {
    let current = account
    for (const change of changes) {
      if (change.amount === 0n && change.aside === 0n && change.owed === 0n) continue
      const moved = move(current, change, cause, clock(), deps.sha256)
      store.writeMovement(tx, moved.account, moved.movement)
      current = moved.account
      const used = usedBy(change)
      if (used > 0n) await takeLots(tx, current, used)
    }
    return current
  }

  /** Takes bytes from an account's lots; a few at a time, because the first ones nearly always hold enough. */
  async function takeLots(
    tx: Tx,
    of: { subuser: SubuserId; pool: string },
    amount: bigint,
  ): Promise<{ lot: Lot; taken: bigint }[]> {
    const takings: { lot: Lot; taken: bigint }[] = []
    let missing = amount
    for (let after = { expiresAt: -1, order: '' }; missing > 0n; ) {
      const lots = await store.listLots(tx, of, after, lotsAtOnce)
      const last = lots.at(-1)
      if (!last) throw new RangeError('the lots hold less than their account')
      for (const { lot, taken } of takeFromLots(lots, missing)) {
        store.takeFromLot(tx, lot, taken)
        takings.push({ lot, taken })
        missing -= taken
      }
      after = last
    }
    return takings
  }

  /** Fresh bytes. Nodes that had been told there were none are told to ask again. */
  async function arrive(
    tx: Tx,
    account: TrafficAccount,
    kind: 'bought' | 'moved_in',
    amount: bigint,
    order: OrderId,
  ): Promise<TrafficAccount> {
    if (account.balance === 0n) touchSubuser(tx, account.subuser, clock())
    return apply(tx, account, comeIn(account, kind, amount), { order })
  }

  /** Moves bytes from one sub-user to another with the orders they came from, so that they expire and are refunded alike. */
  async function transfer(
    tx: Tx,
    accounts: { from: TrafficAccount; to: TrafficAccount },
    amount: bigint,
    order: OrderId,
  ): Promise<{ from: TrafficAccount; to: TrafficAccount }> {
    const from = await apply(tx, accounts.from, [goOut('moved_out', amount)], { order })
    const to = await arrive(tx, accounts.to, 'moved_in', amount, order)
    for (const { lot, taken } of await takeLots(tx, from, amount)) {
      store.addToLot(tx, { subuser: to.subuser, pool: to.pool, order: lot.order, expiresAt: lot.expiresAt }, taken)
    }
    return { from, to }
  }

  /** Both accounts in one order whoever comes: two who move crosswise do not wait for each other for ever. */
  async function lockPair(tx: Tx, from: SubuserId, to: SubuserId, pool: string) {
    const [first, second] = from < to ? [from, to] : [to, from]
    const a = await store.lockAccount(tx, first, pool)
    const b = await store.lockAccount(tx, second, pool)
    return from < to ? { from: a, to: b } : { from: b, to: a }
  }

  async function leftOf(tx: Tx, account: TrafficAccount): Promise<Bytes> {
    if (account.aside === 0n) return bytes(account.balance)
    const open = await deps.leases.open(tx, [subjectOf(account.subuser, account.pool)])
    return bytes(account.balance + account.aside - sumOf(open))
  }

  return {
    apply,

    async quote(pool: string, tenths: number): Promise<TrafficPrice> {
      return price(await pricing.current(), pool, tenths)
    },

    async pools(): Promise<string[]> {
      return [...(await pricing.current()).premium.pools.keys()]
    },

    /** Charges, adds the bytes and writes the answer in one commit: nobody pays for traffic that is not there. */
    async buy(
      request: PurchaseRequest<Bought>,
      wish: { pool: string; tenths: number; subuser: SubuserId | undefined },
    ): Promise<Answer> {
      const catalogue = await pricing.current()
      const { pool, tenths } = wish
      const asked = { pool_type: pool, gb: tenths / 10, subuser_id: wish.subuser ?? null }
      return orders.sell(request, { product, action: 'buy', wish: asked }, async (sale) => {
        const { tx, order } = sale
        const { total, perGigabyte } = price(catalogue, pool, tenths)
        const subuser = await subusers.resolve(tx, request.by.customer, wish.subuser)
        const account = await store.lockAccount(tx, subuser.id, pool)
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
        const after = await arrive(tx, account, 'bought', added, order)
        const days = catalogue.premium.pools.get(pool)?.expiresDays ?? null
        const expiresAt = days === null ? never : addDays(sale.nowMs, days)
        store.addToLot(tx, { subuser: subuser.id, pool, order, expiresAt }, added)
        return { ...receipt, pool, price: total, added: bytes(added), left: await leftOf(tx, after), subuser }
      })
    },

    /** Each pool's standing, or one's. A pool that was never bought stands at nothing. */
    async balance(
      customer: CustomerId,
      id: SubuserId | undefined,
      pool: string | undefined,
    ): Promise<{ subuser: Subuser; pools: Standing[] }> {
      const subuser = await subusers.load(customer, id)
      const accounts = await store.listAccounts(db, subuser.id)
      const known = [...(await pricing.current()).premium.pools.keys()]
      const names = [...new Set([...known, ...accounts.map((each) => each.pool)])]
      if (pool !== undefined && !names.includes(pool)) throw unknownPool(known)
      const shown = pool === undefined ? names : [pool]
      const open = await deps.leases.open(
        db,
        shown.map((each) => subjectOf(subuser.id, each)),
      )
      const standings = shown.map((name): Standing => {
        const account = accounts.find((each) => each.pool === name)
        const carried = open.get(subjectOf(subuser.id, name))?.unsettled ?? 0n
        if (!account) return { pool: name, left: bytes(0n), used: bytes(0n), updatedAt: null }
        return {
          pool: name,
          // The two were read one after the other; a settlement between them must not show less than nothing.
          left: bytes(atLeastZero(account.balance + account.aside - carried)),
          used: bytes(account.used + carried),
          updatedAt: account.seq === 0 ? null : account.lastAt,
        }
      })
      return { subuser, pools: standings }
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
        const accounts = await lockPair(tx, from.id, to.id, pool)
        if (!known.includes(pool) && accounts.from.seq === 0) throw unknownPool(known)
        const amount = tenths === 'all' ? accounts.from.balance : (BigInt(tenths) * bytesInGigabyte) / 10n
        if (amount === 0n) throw nothingUnused()
        await sale.charge({
          price: kopecks(0n),
          calculation: { bytes: Number(amount) },
          note: `moved ${pool} traffic`,
        })
        const after = await transfer(tx, accounts, amount, order)
        return {
          order,
          pool,
          moved: bytes(amount),
          from: { subuser: from, left: await leftOf(tx, after.from) },
          to: { subuser: to, left: await leftOf(tx, after.to) },
        }
      })
    },

    /** Hands all that a sub-user has free to another, pool by pool. */
    async inherit(tx: Tx, from: SubuserId, to: SubuserId, order: OrderId): Promise<{ pool: string; moved: Bytes }[]> {
      const moved: { pool: string; moved: Bytes }[] = []
      for (const { pool } of await store.listAccounts(tx, from)) {
        const accounts = await lockPair(tx, from, to, pool)
        const amount = accounts.from.balance
        if (amount === 0n) continue
        await transfer(tx, accounts, amount, order)
        moved.push({ pool, moved: bytes(amount) })
      }
      return moved
    },

    /**
     * Gives back the unused part of an order, bytes for money, once and in one commit. Bytes that a node holds are not unused.
     * The money is the same part of the price as the bytes are of the order, a fraction of a kopeck staying with the shop.
     */
    refund: (
      id: OrderId,
      note: string,
    ): Promise<{ order: OrderId; returned: Bytes; money: Kopecks; balance: Kopecks }> =>
      db.transact(async (tx) => {
        const order = await orders.find(tx, id)
        if (!order?.chargeSeq || order.product !== product || order.action !== 'buy') throw noSuchTrafficOrder()
        await deps.ledger.lock(tx, order.customer)
        let returned = 0n
        for (const { subuser, pool } of await store.lotsOfOrder(tx, id)) {
          const account = await store.lockAccount(tx, subuser, pool)
          const lot = await store.findLot(tx, subuser, pool, id)
          const free = least(lot?.rest ?? 0n, account.balance)
          if (!lot || free === 0n) continue
          await apply(tx, account, [goOut('refunded', free)], { order: id })
          store.takeFromLot(tx, lot, free)
          returned += free
        }
        const bought = (await store.boughtWith(tx, id)).reduce((sum, each) => sum + each.bytes, 0n)
        const money = bought === 0n ? 0n : (order.price * returned) / bought
        if (money === 0n) throw nothingUnused()
        const posting = await deps.ledger.refund(tx, order.customer, order.chargeSeq, kopecks(money), note)
        return { order: id, returned: bytes(returned), money: posting.amount, balance: posting.balanceAfter }
      }),

    /** Lets bytes past their end go. Returns how many lots it looked at; call again while it is as many as asked for. */
    async expire(most: number): Promise<number> {
      const ended = await store.lotsEnded(db, clock(), most)
      for (const { subuser, pool, order } of ended) {
        await db.transact(async (tx) => {
          const account = await store.lockAccount(tx, subuser, pool)
          const lot = await store.findLot(tx, subuser, pool, order)
          const free = least(lot?.rest ?? 0n, account.balance)
          if (!lot || free === 0n || lot.expiresAt > clock()) return
          await apply(tx, account, [goOut('expired', free)], { order })
          store.takeFromLot(tx, lot, free)
        })
      }
      return ended.length
    },
  }
}

/** The price of traffic in a pool, or the pools that there are. */
function price(catalogue: Catalogue, pool: string, tenths: number): TrafficPrice {
  const pools = catalogue.premium.pools
  if (!pools.has(pool)) throw unknownPool([...pools.keys()])
  return priceTraffic(catalogue, pool, tenths)
}

const sumOf = (open: ReadonlyMap<string, { unsettled: bigint }>): bigint =>
  [...open.values()].reduce((sum, each) => sum + each.unsettled, 0n)
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const atLeastZero = (value: bigint): bigint => (value > 0n ? value : 0n)
