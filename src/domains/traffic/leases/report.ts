import { bind } from '../../../core/bind.ts'
import { bytes } from '../../../core/bytes.ts'
import { refuseField } from '../../../core/refusal.ts'
import type { Tx } from '../../../db/transaction.ts'
import { secretCachedMs } from '../../fleet/rules.ts'
import { type ByteAccount, type ByteAccountKey, readSubject, subjectOf } from '../accounts/rules.ts'
import { lockKnownAccount } from '../accounts/store.ts'
import { inFlight, refuse, take } from '../counts/counts.ts'
import { largest, least, type NodeBoot } from '../counts/rules.ts'
import { lockBoot } from '../counts/store.ts'
import type { TrafficDeps } from '../deps.ts'
import { moveBytes } from './leases.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

const maxRequests = 1000
/** Each open boot may leave one lease unpaid, so only a few may run beside the latest. */
const maxBeside = 3

type OpenReport = Awaited<ReturnType<typeof lockReport>>

/**
 * Opens a node's report in the caller's transaction: stores its counts and locks its lines. Reports of one node are
 * serialised. A lease request of a later boot makes that boot the holder of the node's leases; a replaced boot gets
 * nothing more. The caller then calls `book`, and `grant` or `giveBack` for each request in order.
 */
export async function openLeaseReport(deps: TrafficDeps, tx: Tx, report: rules.LeaseReport) {
  const open = await lockReport(deps, tx, report)
  return {
    /** A later boot holds the node's leases. */
    replaced: open.replaced,
    requests: report.leaseRequests.toSorted((a, b) => a.turn - b.turn),
    ...bind(open, { book, grant, giveBack, allowances }),
  }
}

async function lockReport(deps: TrafficDeps, tx: Tx, report: rules.LeaseReport) {
  if (report.leaseRequests.length > maxRequests) throw refuseField('lease_requests', 'max_items', { max: maxRequests })
  const nowMs = deps.clock()
  const requested = new Set(report.leaseRequests.map(subjectOf))
  // A second request about the same account would be granted a second lease.
  if (requested.size < report.leaseRequests.length) throw refuseField('lease_requests', 'duplicates')
  const { added, replaced } = await takeCounts(deps, tx, report, nowMs)
  const lines = await lockLines(tx, report, [...added.map((each) => each.subject), ...requested])
  const elsewhere = await store.heldByOtherBoots(tx, report, [...requested])
  const accounts = new Map<string, ByteAccount>()
  const isMoving = report.leaseRequests.some((each) => (each.moving ?? 0n) > 0n)
  const maxMoving = isMoving ? await inFlight(deps, tx, report.node) : 0n
  return { deps, tx, report, nowMs, requested, added, replaced, lines, elsewhere, accounts, maxMoving }
}

/** Keeps a step's line and moves the bytes in its account. */
async function keep(open: OpenReport, subject: string, step: rules.LeaseStep): Promise<void> {
  const account = open.accounts.get(subject)
  if (account) open.accounts.set(subject, await moveBytes(open.deps, open.tx, account, step))
  open.lines.set(subject, step.line)
}

/** Answers a request, unless its account does not exist. */
async function answer(
  open: OpenReport,
  request: rules.LeaseRequest,
  toStep: (line: rules.LeaseLine, account: ByteAccount) => rules.LeaseStep,
): Promise<void> {
  const subject = subjectOf(request)
  const [line, account] = [open.lines.get(subject), open.accounts.get(subject)]
  if (!line || !account) return
  const step = toStep(line, account)
  await keep(open, subject, step)
  store.writeLines(open.tx, [step.line], open.nowMs)
}

/**
 * Locks the accounts, in sorted order, and books what was counted. Only late claims touch an account now; the rest
 * is settled with the next request. Returns the relayed bytes without those in quarantine.
 */
async function book(open: OpenReport): Promise<rules.RelayedBytes[]> {
  const { tx, lines } = open
  for (const [subject, line] of lines) {
    const key = open.requested.has(subject) || line.claimable > 0n ? readSubject(subject) : undefined
    const account = key && (await lockKnownAccount(tx, key))
    if (account) open.accounts.set(subject, account)
  }
  const relayed: rules.RelayedBytes[] = []
  const changed: rules.LeaseLine[] = []
  let refused = 0n
  for (const { subject, received, sent, claimed } of open.added) {
    const line = lines.get(subject)
    const key = readSubject(subject)
    if (!line || !key) continue
    const step = rules.count(line, { claimed, believed: received + sent }, open.replaced)
    await keep(open, subject, step)
    changed.push(step.line)
    refused += step.quarantined
    const accepted = claimed - step.quarantined
    const toCustomer = least(received, accepted)
    if (accepted > 0n) relayed.push({ ...key, received: toCustomer, sent: accepted - toCustomer })
  }
  store.writeLines(tx, changed, open.nowMs)
  refuse(open.deps, tx, open.report.node, refused)
  return relayed
}

/**
 * Fills a line up to one lease, limited by the account, the `ceiling` (null is none) and what one node may hold.
 * Moving bytes count as far as the line holds them and the node's link relays them.
 */
const grant = (open: OpenReport, request: rules.LeaseRequest, ceiling: bigint | null): Promise<void> =>
  answer(open, request, (line, account) => {
    const { terms } = open.deps
    const free = open.replaced ? 0n : least(ceiling ?? account.balance, account.balance)
    const held = rules.remaining(line) + (open.elsewhere.get(line.subject) ?? 0n)
    const room = largest(rules.holdLimit(terms, account) - held, 0n)
    const moving = least(least(request.moving ?? 0n, rules.remaining(line)), open.maxMoving)
    open.maxMoving -= moving
    const size = rules.leaseSize(terms, request.pace ?? 0n, free)
    return rules.grant(line, request.turn, size, least(free, room), moving)
  })

const giveBack = (open: OpenReport, request: rules.LeaseRequest): Promise<void> =>
  answer(open, request, (line) => rules.giveBack(line, request.turn))

/** For each requested account, the count that the node must not pass. */
const allowances = ({ report, lines }: OpenReport): (ByteAccountKey & { readonly upto: bigint })[] =>
  report.leaseRequests.flatMap(({ subuser, pool }) => {
    const line = lines.get(subjectOf({ subuser, pool }))
    return line ? [{ subuser, pool, upto: rules.allowance(line) }] : []
  })

/** Stores the report's counts, and decides which boot holds the node's leases. */
async function takeCounts(deps: TrafficDeps, tx: Tx, report: rules.LeaseReport, nowMs: number) {
  const { node, boot } = report
  const holder = await store.lockNode(tx, report, nowMs)
  const status = await store.bootStatus(tx, report)
  const counts = report.counts.map((each) => ({
    subject: subjectOf(each),
    received: bytes(each.received),
    sent: bytes(each.sent),
  }))
  const added = await take(deps, tx, { node, boot, counts })
  if (counts.length === 0) await lockBoot(tx, report, nowMs)
  // Boot names sort by time, so a late report of an old boot does not displace the new one. A new holder closes all
  // earlier boots that are known, except those it names as running beside it; an earlier one that is unknown is late.
  const isEarlier = boot < holder.boot
  const isForgotten = isEarlier && (await isBeforeJoin(deps, tx, node, holder.sinceAt))
  const replaced = status === 'closed' || (isEarlier && !isForgotten && status === 'unknown')
  if (replaced) store.closeBoot(tx, report, nowMs)
  else if ((holder.boot < boot || isForgotten) && report.leaseRequests.some((each) => each.want === 'lease')) {
    const beside = (report.beside ?? []).slice(0, maxBeside)
    store.holdWith(tx, report, nowMs)
    await store.closeOthers(tx, report, isForgotten ? 'all' : 'earlier', beside, nowMs)
  }
  return { added, replaced }
}

/** Whether a boot took the leases under a secret that the node's last join replaced: a thief may have had it. */
async function isBeforeJoin(deps: TrafficDeps, tx: Tx, node: string, sinceAt: number): Promise<boolean> {
  const { joinedAt } = await deps.fleet.findLink(tx, node)
  return joinedAt !== null && sinceAt < joinedAt + secretCachedMs
}

/** The report's lines by subject, in sorted order, locked or new. */
async function lockLines(tx: Tx, boot: NodeBoot, subjects: readonly string[]): Promise<Map<string, rules.LeaseLine>> {
  const sorted = [...new Set(subjects)].toSorted()
  const known = await store.lockLines(tx, boot, sorted)
  return new Map(sorted.map((subject) => [subject, known.get(subject) ?? rules.newLine(boot, subject)]))
}
