import type { SubuserId } from '../../../core/ids.ts'
import { runningBefore } from '../../../core/stall-monitor.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { apply } from '../accounts/movements.ts'
import type { ByteAccount, ByteAccountKey } from '../accounts/rules.ts'
import { comeBack, readSubject, restoration, setAside, spendAside, spendLate, subjectOf } from '../accounts/rules.ts'
import * as accountStore from '../accounts/store.ts'
import { largest, least, type NodeBoot } from '../counts/rules.ts'
import type { TrafficDeps } from '../deps.ts'
import { holdLimit, type LeaseStep, lapse as lapseLine, minHoldLimit } from './rules.ts'
import * as store from './store.ts'

/** Silent boots per run, and lines of one boot per transaction. */
const bootsAtOnce = 100
const lapseAtOnce = 200
/** Large holdings that are compared with their limits. */
const maxCompared = 1000

/** The bytes that a node holds, and the number of accounts of which it holds as much as one node may. */
type NodeHoldings = { readonly bytes: bigint; accountsAtLimit: number }

/** Moves the bytes of a lease step in its account. */
export async function moveBytes(
  deps: TrafficDeps,
  tx: Tx,
  account: ByteAccount,
  { line, effect }: LeaseStep,
  kind: 'returned' | 'lapsed' = 'returned',
): Promise<ByteAccount> {
  const cause = { node: line.node, boot: line.boot }
  let current = account
  if (effect.settle > 0n) current = await apply(deps, tx, current, [spendAside(effect.settle)], cause)
  if (effect.late > 0n) current = await apply(deps, tx, current, [spendLate(current, effect.late)], cause)
  if (effect.giveBack > 0n) current = await apply(deps, tx, current, comeBack(current, kind, effect.giveBack), cause)
  if (effect.grant > 0n) current = await apply(deps, tx, current, [setAside(effect.grant)], cause)
  return current
}

/** Takes back what a boot holds, 200 lines per transaction, as long as it is silent or closed. */
async function reclaimAll(deps: TrafficDeps, boot: NodeBoot): Promise<void> {
  while ((await deps.db.transact((tx) => reclaim(deps, tx, boot))) > 0);
}

async function reclaim(deps: TrafficDeps, tx: Tx, boot: NodeBoot): Promise<number> {
  const { clock, terms } = deps
  await store.lockNode(tx, boot, clock())
  if (!(await store.isSilent(tx, boot, runningBefore(deps, terms.leaseLastsMs)))) return 0
  const isClosed = (await store.bootStatus(tx, boot)) === 'closed'
  const lines = await store.lockLines(tx, boot, await store.openSubjects(tx, boot, lapseAtOnce))
  const steps = [...lines.values()].map((line) => lapseLine(line, isClosed, terms.leaseBytes))
  const changed = steps.map((each) => each.line)
  store.writeLines(tx, changed, clock())
  for (const step of steps) {
    const key = readSubject(step.line.subject)
    const account = key && (await accountStore.lockKnownAccount(tx, key))
    if (account) await moveBytes(deps, tx, account, step, 'lapsed')
  }
  return steps.length
}

/** Takes back the leases of boots that are closed or were silent for longer than a lease lasts. Returns how many. */
export async function lapse(deps: TrafficDeps): Promise<number> {
  const silent = await store.silentBoots(deps.db, runningBefore(deps, deps.terms.leaseLastsMs), bootsAtOnce)
  for (const boot of silent) await reclaimAll(deps, boot)
  return silent.length
}

/** Closes all boots of a node: they claim nothing more, what they counted is settled, and the rest goes back. */
export async function closeNode(deps: TrafficDeps, node: string): Promise<void> {
  await deps.db.transact((tx) => store.closeBoots(tx, node, deps.clock()))
  for (const boot of await store.openBoots(deps.db, node)) await reclaimAll(deps, boot)
}

/** The bytes that nodes may still relay for a sub-user on their leases, over all its pools. */
export async function promised(tx: Tx, subuser: SubuserId): Promise<bigint> {
  const accounts = await accountStore.listAccounts(tx, [subuser])
  const open = await store.sumOpen(tx, accounts.map(subjectOf))
  return [...open.values()].reduce((sum, each) => sum + each.aside - each.unsettled, 0n)
}

/** The bytes that nodes have billed each of these accounts, less those restored, by subject; for `verify`. */
export async function billedOf(reader: Reader, accounts: readonly ByteAccountKey[]): Promise<Map<string, bigint>> {
  const billed = await store.sumAccepted(reader, accounts.map(subjectOf))
  for (const { restored, ...account } of await accountStore.sumRestored(reader, accounts)) {
    const subject = subjectOf(account)
    const accepted = billed.get(subject)
    if (accepted !== undefined) billed.set(subject, accepted - restored)
  }
  return billed
}

/** The accounts that a node has counted for, with their unsettled bytes. `next` is undefined after the last page. */
export async function countedBy({ db }: TrafficDeps, node: string, after: string, limit: number) {
  const found = await store.subjectsOf(db, node, after, limit)
  const items = found.flatMap(({ subject, unsettled }) => {
    const account = readSubject(subject)
    return account ? [{ account, unsettled }] : []
  })
  return { items, next: found.length < limit ? undefined : found.at(-1)?.subject }
}

/** The bytes that a node has billed an account since a moment, less those restored. */
export async function billedBy(reader: Reader, of: ByteAccountKey, node: string, sinceAt: number): Promise<bigint> {
  const boots = await accountStore.billedBy(reader, of, node, sinceAt)
  return boots.reduce((sum, each) => sum + largest(each.used, 0n), 0n)
}

/** Gives an account back, once, the bytes that a node billed it since a moment, and forgives debt made by that node. */
export async function restore(deps: TrafficDeps, tx: Tx, of: ByteAccountKey, node: string, sinceAt: number) {
  const found = await accountStore.lockKnownAccount(tx, of)
  if (!found) return 0n
  let [account, restored] = [found, 0n]
  for (const { boot, used, owed } of await accountStore.billedBy(tx, of, node, sinceAt)) {
    const due = largest(used, 0n) + largest(least(owed, account.owed), 0n)
    if (due === 0n) continue
    account = await apply(deps, tx, account, [restoration(account, due)], { node, boot })
    restored += due
  }
  return restored
}

/** The holdings of each node. */
export async function held({ db, terms }: TrafficDeps): Promise<Map<string, NodeHoldings>> {
  const holdings = new Map(
    (await store.sumHeld(db)).map((each) => [each.node, { bytes: each.held, accountsAtLimit: 0 }]),
  )
  const large = await store.largestHeld(db, minHoldLimit(terms), maxCompared)
  const subusers = new Set(large.flatMap(({ subject }) => readSubject(subject)?.subuser ?? []))
  const listed = await accountStore.listAccounts(db, [...subusers])
  const accounts = new Map(listed.map((each) => [subjectOf(each), each]))
  for (const each of large) {
    const [account, node] = [accounts.get(each.subject), holdings.get(each.node)]
    if (account && node && each.held >= holdLimit(terms, account)) node.accountsAtLimit += 1
  }
  return holdings
}
