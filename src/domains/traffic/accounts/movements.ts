import { type Bytes, bytes } from '../../../core/bytes.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { restartAlert } from '../alerts/store.ts'
import { least } from '../counts/rules.ts'
import type { TrafficDeps } from '../deps.ts'
import { sumOpen } from '../leases/store.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

const lotsAtOnce = 8

/** Two accounts that bytes move between, both locked. */
type AccountPair = Awaited<ReturnType<typeof lockPair>>

/**
 * Writes movements of a locked account in order. Used bytes are taken from the lots that expire first. Restored bytes
 * return to the lot that expires last, because their own lot is not known.
 */
export async function apply(
  deps: TrafficDeps,
  tx: Tx,
  account: rules.ByteAccount,
  changes: readonly rules.MovementChange[],
  cause: rules.MovementCause,
): Promise<rules.ByteAccount> {
  let current = account
  for (const change of changes) {
    if (change.amount === 0n && change.aside === 0n && change.owed === 0n) continue
    const moved = rules.move(current, change, cause, deps.clock(), deps.sha256)
    store.writeMovement(tx, moved.account, moved.movement)
    current = moved.account
    const used = rules.usedBy(change)
    if (used > 0n) await takeLots(tx, current, used)
    if (used < 0n) await fillLots(tx, current, -used)
  }
  return current
}

/** Takes bytes from an account's lots, a few rows at a time: the first ones nearly always hold enough. */
async function takeLots(tx: Tx, of: rules.ByteAccountKey, amount: bigint) {
  const taken: { lot: rules.Lot; share: bigint }[] = []
  let missing = amount
  for (let after = { expiresAt: -1, order: '' }; missing > 0n; ) {
    const lots = await store.listLots(tx, of, after, lotsAtOnce)
    const last = lots.at(-1)
    if (!last) throw new RangeError('the lots hold less than their account')
    const part = rules.distribute(lots, missing, (lot) => lot.rest)
    for (const { lot, share } of part.shares) store.takeFromLot(tx, lot, share)
    taken.push(...part.shares)
    missing = part.missing
    after = last
  }
  return taken
}

async function fillLots(tx: Tx, of: rules.ByteAccountKey, amount: bigint): Promise<void> {
  const { shares, missing } = rules.distribute(await store.lotsWithRoom(tx, of), amount, (lot) => lot.size - lot.rest)
  if (missing > 0n) throw new RangeError('more bytes would be restored than were used')
  for (const { lot, share } of shares) store.takeFromLot(tx, lot, -share)
}

/** Locks both accounts in the order of their ids, so that two crosswise moves do not deadlock. */
export async function lockPair(tx: Tx, from: SubuserId, to: SubuserId, pool: string) {
  const [first, second] = from < to ? [from, to] : [to, from]
  const a = await store.lockAccount(tx, { subuser: first, pool })
  const b = await store.lockAccount(tx, { subuser: second, pool })
  return from < to ? { from: a, to: b } : { from: b, to: a }
}

/** Adds the bytes of an order, valid until a moment. A debt is forgiven. */
export async function deposit(
  deps: TrafficDeps,
  tx: Tx,
  account: rules.ByteAccount,
  amount: bigint,
  { order, expiresAt }: { order: OrderId; expiresAt: number },
): Promise<rules.ByteAccount> {
  store.addToLot(tx, account, order, expiresAt, amount)
  const after = await apply(deps, tx, account, rules.comeIn(account, 'bought', amount), { order })
  restartAlert(tx, rules.subjectOf(after), after.balance + after.aside)
  return after
}

/** Moves bytes together with the orders they came with, so that they expire and are refunded alike. */
export async function transfer(
  deps: TrafficDeps,
  tx: Tx,
  accounts: AccountPair,
  amount: bigint,
  order: OrderId,
): Promise<AccountPair> {
  const from = await apply(deps, tx, accounts.from, [rules.goOut('moved_out', amount)], { order })
  const to = await apply(deps, tx, accounts.to, rules.comeIn(accounts.to, 'moved_in', amount), { order })
  for (const { lot, share } of await takeLots(tx, from, amount)) {
    store.addToLot(tx, to, lot.order, lot.expiresAt, share)
  }
  restartAlert(tx, rules.subjectOf(to), to.balance + to.aside)
  return { from, to }
}

/** The bytes that a customer has left of a locked account. */
export async function left(tx: Tx, account: rules.ByteAccount): Promise<Bytes> {
  if (account.aside === 0n) return bytes(account.balance)
  const open = await sumOpen(tx, [rules.subjectOf(account)])
  const unsettled = [...open.values()].reduce((sum, each) => sum + each.unsettled, 0n)
  return bytes(account.balance + account.aside - unsettled)
}

/** The balances of a sub-user by pool. */
export async function balances({ db }: TrafficDeps, subuser: SubuserId): Promise<Map<string, rules.PoolBalance>> {
  const accounts = await store.listAccounts(db, [subuser])
  const open = await sumOpen(db, accounts.map(rules.subjectOf))
  const found = accounts.map((account): rules.PoolBalance => {
    const unsettled = open.get(rules.subjectOf(account))?.unsettled ?? 0n
    const rest = account.balance + account.aside - unsettled
    return {
      pool: account.pool,
      // Accounts and leases are read one after the other; a settlement in between must not show less than zero.
      left: bytes(rest > 0n ? rest : 0n),
      used: bytes(account.used + unsettled),
      updatedAt: account.seq === 0 ? null : account.lastAt,
    }
  })
  return new Map(found.map((each) => [each.pool, each]))
}

/** Takes the free bytes of a lot out of its account, if the lot is still due once the account is locked. */
async function leave(
  deps: TrafficDeps,
  tx: Tx,
  of: store.LotKey,
  kind: 'expired' | 'refunded',
  isDue: (lot: rules.Lot) => boolean,
): Promise<bigint> {
  const account = await store.lockAccount(tx, of)
  const lot = await store.findLot(tx, of)
  const free = least(lot?.rest ?? 0n, account.balance)
  if (!lot || free === 0n || !isDue(lot)) return 0n
  await apply(deps, tx, account, [rules.goOut(kind, free)], { order: of.order })
  store.takeFromLot(tx, lot, free)
  return free
}

/** Takes back the unused bytes of an order, wherever they were moved. Bytes that a node holds are not unused. */
export async function reclaim(deps: TrafficDeps, tx: Tx, order: OrderId): Promise<bigint> {
  let returned = 0n
  for (const lot of await store.lotsOf(tx, order)) {
    if (lot.rest > 0n) returned += await leave(deps, tx, lot, 'refunded', () => true)
  }
  return returned
}

/** Removes expired bytes. Returns how many lots it looked at; call again while that is `limit`. */
export async function expire(deps: TrafficDeps, limit: number): Promise<number> {
  const ended = await store.lotsEnded(deps.db, deps.clock(), limit)
  for (const lot of ended) {
    await deps.db.transact((tx) => leave(deps, tx, lot, 'expired', ({ expiresAt }) => expiresAt <= deps.clock()))
  }
  return ended.length
}

/** The bytes that were restored to these accounts in all, for `verify`. */
export async function restoredTo(reader: Reader, accounts: readonly rules.ByteAccountKey[]): Promise<bigint> {
  return (await store.sumRestored(reader, accounts)).reduce((sum, each) => sum + each.restored, 0n)
}
