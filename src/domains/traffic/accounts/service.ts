import { type Bytes, bytes } from '../../../core/bytes.ts'
import type { Sha256 } from '../../../core/chain.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import { sumOpen } from '../leases/store.ts'
import { type AccountKey, type ByteAccount, comeIn, goOut, type Lot, type Standing, subjectOf } from './rules.ts'
import { createMovements } from './service-movements.ts'
import * as store from './store.ts'

/** Two accounts that bytes move between, both locked. */
type Pair = { readonly from: ByteAccount; readonly to: ByteAccount }

/** Byte accounts and the orders that their bytes came with. */
export function createAccounts(deps: { db: Database; clock: Clock; sha256: Sha256 }) {
  const { db, clock } = deps
  const { apply, takeLots } = createMovements(deps)

  /**
   * Takes what is free of a lot out of its account, if anything is and the lot still says so once the account is
   * locked.
   */
  async function leave(
    tx: Tx,
    of: AccountKey & { readonly order: OrderId },
    kind: 'expired' | 'refunded',
    isDue: (lot: Lot) => boolean,
  ): Promise<bigint> {
    const account = await store.lockAccount(tx, of)
    const lot = await store.findLot(tx, of)
    const free = least(lot?.rest ?? 0n, account.balance)
    if (!lot || free === 0n || !isDue(lot)) return 0n
    await apply(tx, account, [goOut(kind, free)], { order: of.order })
    store.takeFromLot(tx, lot, free)
    return free
  }

  return {
    /** Takes the account's turn, opening it if it is new. */
    lock: (tx: Tx, of: AccountKey): Promise<ByteAccount> => store.lockAccount(tx, of),

    /** Both accounts in one order whoever comes: two who move crosswise do not wait for each other for ever. */
    async lockPair(tx: Tx, from: SubuserId, to: SubuserId, pool: string): Promise<Pair> {
      const [first, second] = from < to ? [from, to] : [to, from]
      const a = await store.lockAccount(tx, { subuser: first, pool })
      const b = await store.lockAccount(tx, { subuser: second, pool })
      return from < to ? { from: a, to: b } : { from: b, to: a }
    },

    list: (reader: Reader, subusers: readonly SubuserId[]): Promise<ByteAccount[]> =>
      store.listAccounts(reader, subusers),

    /** Fresh bytes that come with an order and are good until a moment. What was owed before is forgiven with them. */
    async deposit(
      tx: Tx,
      account: ByteAccount,
      amount: bigint,
      { order, expiresAt }: { order: OrderId; expiresAt: number },
    ): Promise<ByteAccount> {
      const { subuser, pool } = account
      store.addToLot(tx, { subuser, pool, order, expiresAt }, amount)
      return apply(tx, account, comeIn(account, 'bought', amount), { order })
    },

    /**
     * Moves bytes from one account to another with the orders they came with, so that they expire and are refunded
     * alike.
     */
    async transfer(tx: Tx, accounts: Pair, amount: bigint, order: OrderId): Promise<Pair> {
      const from = await apply(tx, accounts.from, [goOut('moved_out', amount)], { order })
      const to = await apply(tx, accounts.to, comeIn(accounts.to, 'moved_in', amount), { order })
      for (const { lot, taken } of await takeLots(tx, from, amount)) {
        store.addToLot(tx, { subuser: to.subuser, pool: to.pool, order: lot.order, expiresAt: lot.expiresAt }, taken)
      }
      return { from, to }
    },

    /** What a customer has left of a locked account. */
    async left(tx: Tx, account: ByteAccount): Promise<Bytes> {
      if (account.aside === 0n) return bytes(account.balance)
      const open = await sumOpen(tx, [subjectOf(account)])
      const carried = [...open.values()].reduce((sum, each) => sum + each.unsettled, 0n)
      return bytes(account.balance + account.aside - carried)
    },

    /** How all accounts of a sub-user stand, by pool. */
    async standings(subuser: SubuserId): Promise<Map<string, Standing>> {
      const accounts = await store.listAccounts(db, [subuser])
      const open = await sumOpen(db, accounts.map(subjectOf))
      return new Map(
        accounts.map((account) => {
          const carried = open.get(subjectOf(account))?.unsettled ?? 0n
          const rest = account.balance + account.aside - carried
          const standing = {
            pool: account.pool,
            // The two were read one after the other; a settlement between them must not show less than nothing.
            left: bytes(rest > 0n ? rest : 0n),
            used: bytes(account.used + carried),
            updatedAt: account.seq === 0 ? null : account.lastAt,
          }
          return [account.pool, standing]
        }),
      )
    },

    /**
     * Takes back what is unused of an order, wherever it was moved, and tells how much. What a node holds is not
     * unused.
     */
    async takeBack(tx: Tx, order: OrderId): Promise<bigint> {
      let returned = 0n
      for (const lot of await store.lotsOfOrder(tx, order)) returned += await leave(tx, lot, 'refunded', () => true)
      return returned
    },

    /**
     * Lets bytes past their end go. Returns how many lots it looked at; call again while it is as many as asked for.
     */
    async expire(most: number): Promise<number> {
      const ended = await store.lotsEnded(db, clock(), most)
      for (const lot of ended) {
        await db.transact((tx) => leave(tx, lot, 'expired', ({ expiresAt }) => expiresAt <= clock()))
      }
      return ended.length
    },

    /** What was bought with an order. */
    boughtWith: store.boughtWith,

    /** The lots of an order, with what is left of each. */
    lotsWith: store.allLotsOf,

    /** How many bytes were moved with an order, for `verify`. */
    movedWith: store.movedWith,

    /** What was restored to these accounts in all, for `verify`. */
    async restoredTo(reader: Reader, named: readonly AccountKey[]): Promise<bigint> {
      return (await store.sumRestored(reader, named)).reduce((sum, each) => sum + each.restored, 0n)
    },

    /** All lots of an order, used up or not, for `verify`. */
    lotsOf: store.allLotsOf,

    /** The orders that lots name, in their order, a page at a time, for `verify`. */
    lotOrders: store.lotOrders,

    /** Who has unspent traffic of a pool, a page at a time. */
    holdersOf: store.holdersOf,

    /** The orders that movements name, in their order, a page at a time. */
    namedOrders: store.namedOrders,
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
