import type { Sha256 } from '../../../core/chain.ts'
import type { Clock } from '../../../core/time.ts'
import type { Tx } from '../../../db/transaction.ts'
import {
  type AccountKey,
  type ByteAccount,
  type Cause,
  type Change,
  type Lot,
  move,
  returnToLots,
  takeFromLots,
  usedBy,
} from './rules.ts'
import * as store from './store.ts'

const lotsAtOnce = 8

/** The one way that bytes move. Each takes part in the caller's transaction, which has locked the account. */
export function createMovements(deps: { clock: Clock; sha256: Sha256 }) {
  /** Takes bytes from an account's lots; a few at a time, because the first ones nearly always hold enough. */
  async function takeLots(tx: Tx, of: AccountKey, amount: bigint): Promise<{ lot: Lot; taken: bigint }[]> {
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

  /**
   * Which lot a byte was taken from nobody knows: it returns to the one that ends last, which serves the customer
   * longest.
   */
  async function fillLots(tx: Tx, of: AccountKey, amount: bigint): Promise<void> {
    for (const { lot, returned } of returnToLots(await store.lotsWithRoom(tx, of), amount)) {
      store.takeFromLot(tx, lot, -returned)
    }
  }

  /** Makes movements, one after the other. What is used is taken from the lots, what ends first first. */
  async function apply(tx: Tx, account: ByteAccount, changes: readonly Change[], cause: Cause): Promise<ByteAccount> {
    let current = account
    for (const change of changes) {
      if (change.amount === 0n && change.aside === 0n && change.owed === 0n) continue
      const moved = move(current, change, cause, deps.clock(), deps.sha256)
      store.writeMovement(tx, moved.account, moved.movement)
      current = moved.account
      const used = usedBy(change)
      if (used > 0n) await takeLots(tx, current, used)
      if (used < 0n) await fillLots(tx, current, -used)
    }
    return current
  }

  return { apply, takeLots }
}
