import { type Bytes, bytes, bytesInGigabyte } from '../../core/bytes.ts'
import type { OrderId, SubuserId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { zero } from '../../core/money.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import { forgetMetadata } from '../metadata/index.ts'
import type { PurchaseAnswer, PurchaseRequest } from '../orders/index.ts'
import type { ByteAccount } from '../traffic/accounts/rules.ts'
import { type PremiumDeps, unknownPool } from './deps.ts'
import { product } from './rules.ts'
import { load, noSuchSubuser, resolve } from './subusers/manage.ts'
import type { Subuser } from './subusers/rules.ts'
import * as store from './subusers/store.ts'

type MovedPool = { readonly pool: string; readonly moved: Bytes }

type Side = { readonly subuser: Subuser; readonly left: Bytes }
type MovedTraffic = MovedPool & { readonly order: OrderId; readonly from: Side; readonly to: Side }

type DeletedSubuser = {
  readonly order: OrderId
  readonly subuser: Subuser
  readonly heir: Subuser
  readonly returned: readonly MovedPool[]
}

const deletedAtOnce = 500

const sameSubuser = (): Refusal => refuseField('to_subuser_id', 'other_subuser')
const defaultStays = (): Refusal => new Refusal('default_subuser_stays')

/** Before bytes arrive at an empty account: makes nodes read the sub-user again, so that they ask for a lease. */
export function touchIfEmpty({ clock }: PremiumDeps, tx: Tx, account: ByteAccount): void {
  if (account.balance === 0n) store.touchSubuser(tx, account.subuser, clock())
}

/** Moves bytes between sub-users with an order of price zero: it is listed, and a repeated key moves once. */
export async function move(
  deps: PremiumDeps,
  request: PurchaseRequest<MovedTraffic>,
  input: Readonly<{ pool: string; tenths: number | 'all'; from: SubuserId | undefined; to: SubuserId | undefined }>,
): Promise<PurchaseAnswer> {
  const { accounts } = deps.traffic
  const known = [...(await deps.pricing.current()).premium.pools.keys()]
  const { pool, tenths } = input
  const orderInput = {
    pool_type: pool,
    gb: tenths === 'all' ? 'all' : tenths / 10,
    from_subuser_id: input.from ?? null,
    to_subuser_id: input.to ?? null,
  }
  return deps.orders.sell(request, { product, action: 'move', input: orderInput }, async (sale) => {
    const { tx, order } = sale
    const from = await resolve(deps, tx, request.by.customer, input.from)
    const to = await resolve(deps, tx, request.by.customer, input.to)
    if (from.id === to.id) throw sameSubuser()
    const pair = await accounts.lockPair(tx, from.id, to.id, pool)
    if (!known.includes(pool) && pair.from.seq === 0) throw unknownPool(known)
    const amount = tenths === 'all' ? pair.from.balance : (BigInt(tenths) * bytesInGigabyte) / 10n
    if (amount === 0n) throw new Refusal('no_traffic_to_move', { pool }, { available_gb: 0, charged: false })
    await sale.charge({ price: zero, calculation: { bytes: Number(amount) }, note: `moved ${pool} traffic` })
    touchIfEmpty(deps, tx, pair.to)
    const after = await accounts.transfer(tx, pair, amount, order)
    return {
      order,
      pool,
      moved: bytes(amount),
      from: { subuser: from, left: await accounts.left(tx, after.from) },
      to: { subuser: to, left: await accounts.left(tx, after.to) },
    }
  })
}

/** Moves all free bytes of a sub-user to another, pool by pool. */
async function inherit(deps: PremiumDeps, tx: Tx, from: SubuserId, to: SubuserId, order: OrderId) {
  const { accounts } = deps.traffic
  const moved: MovedPool[] = []
  for (const { pool } of await accounts.list(tx, [from])) {
    const pair = await accounts.lockPair(tx, from, to, pool)
    const amount = pair.from.balance
    if (amount === 0n) continue
    touchIfEmpty(deps, tx, pair.to)
    await accounts.transfer(tx, pair, amount, order)
    moved.push({ pool, moved: bytes(amount) })
  }
  return moved
}

/**
 * Deletes a sub-user and moves its traffic to another, the default one unless given. Bytes that a node holds follow
 * when the node returns them. The login is not given out again.
 */
export function remove(
  deps: PremiumDeps,
  request: PurchaseRequest<DeletedSubuser>,
  input: { readonly subuser: SubuserId; readonly to: SubuserId | undefined },
): Promise<PurchaseAnswer> {
  const orderInput = { subuser_id: input.subuser, to_subuser_id: input.to ?? null }
  return deps.orders.sell(request, { product, action: 'delete', input: orderInput }, async (sale) => {
    const { tx, order } = sale
    const { customer } = request.by
    const heir = await resolve(deps, tx, customer, input.to)
    const { id } = await resolve(deps, tx, customer, input.subuser)
    if (id === heir.id) throw input.to === undefined ? defaultStays() : sameSubuser()
    const subuser = await store.lockSubuser(tx, id)
    if (!subuser || subuser.deletedAt !== null) throw noSuchSubuser()
    if (subuser.isDefault) throw defaultStays()
    const returned = await inherit(deps, tx, subuser.id, heir.id, order)
    const calculation = { bytes: Number(returned.reduce((sum, each) => sum + each.moved, 0n)) }
    await sale.charge({ price: zero, calculation, note: `deleted sub-user ${subuser.login}` })
    store.closeSubuser(tx, subuser.id, heir.id, order, sale.nowMs)
    forgetMetadata(tx, customer, 'subuser', subuser.id)
    return { order, subuser, heir, returned }
  })
}

/** Moves bytes that nodes returned to deleted sub-users to their heirs. Returns the number of those sub-users. */
export async function passOn(deps: PremiumDeps): Promise<number> {
  const { db, traffic } = deps
  let passed = 0
  const read = (after: string, limit: number) => store.listDeleted(db, after, limit)
  for await (const deleted of keysetPages(read, { start: '', size: deletedAtOnce, keyOf: (each) => each.id })) {
    const ids = deleted.map((each) => each.id)
    const free = (await traffic.accounts.list(db, ids)).filter((account) => account.balance > 0n)
    const holding = new Set(free.map((account) => account.subuser))
    for (const { id, customer, heir, order } of deleted.filter((each) => holding.has(each.id))) {
      // An heir that was deleted too cannot use the bytes: the default sub-user inherits.
      const to = (await store.findSubuser(db, customer, heir)) ?? (await load(deps, customer, undefined))
      await db.transact((tx) => inherit(deps, tx, id, to.id, order))
    }
    passed += holding.size
  }
  return passed
}
