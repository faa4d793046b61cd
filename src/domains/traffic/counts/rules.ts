import { type Bytes, bytes } from '../../../core/bytes.ts'

/** Bytes that a node has relayed for a subject since it booted: `received` by the customer, `sent` by the customer. */
export type SubjectCount = { readonly subject: string; readonly received: Bytes; readonly sent: Bytes }

/** A node's claim, and how much of it is believed. */
export type BelievedCount = SubjectCount & { readonly believed: { readonly received: bigint; readonly sent: bigint } }

/** One run of a node's process. Boot names sort by time. */
export type NodeBoot = { readonly node: string; readonly boot: string }

export type CountReport = NodeBoot & { readonly counts: readonly SubjectCount[] }

/** A claim that is not billed. */
export type UnbilledClaim = NodeBoot & { readonly subject: string; readonly bytes: bigint; readonly at: number }

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
export const largest = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The part of a count that exceeds the known one. A smaller count is an old report, not a correction. */
export function newIn(count: SubjectCount, known: SubjectCount | undefined): { received: Bytes; sent: Bytes } {
  const over = (now: bigint, before: bigint): Bytes => bytes(largest(now - before, 0n))
  return { received: over(count.received, known?.received ?? 0n), sent: over(count.sent, known?.sent ?? 0n) }
}

/** The maximum of two counts of one subject, each direction by itself. */
export const largerOf = (count: SubjectCount, other: SubjectCount | undefined): SubjectCount => ({
  subject: count.subject,
  received: other && other.received > count.received ? other.received : count.received,
  sent: other && other.sent > count.sent ? other.sent : count.sent,
})

/** One maximum per subject, sorted, so that two reports lock rows in the same order. */
export function settle(counts: readonly SubjectCount[]): SubjectCount[] {
  const bySubject = new Map<string, SubjectCount>()
  for (const count of counts) bySubject.set(count.subject, largerOf(count, bySubject.get(count.subject)))
  return [...bySubject.values()].toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
}

/** Limit of a subject's and of an account's bytes: an exact JSON number, and no sum overflows. */
export const maxBytes = 8_000_000_000_000_000n
/** Limit of one report, however fast the link is and however long the node was silent. */
const maxBytesInReport = 100_000_000_000_000n

/** A node's first budget, the budget it may save up while in touch, and the longest silence that is made up for. */
const firstMs = 100
const savedMs = 10_000
const longestSilenceMs = 86_400_000

/** Token bucket of a node: bytes that it can have relayed beyond its claims, as of a moment. */
export type ByteBudget = { readonly rest: bigint; readonly at: number }

/** A relayed byte enters and leaves over the link once each, so both directions together fill one link. */
const bytesIn = (ms: number, linkMegabits: number): bigint => BigInt(ms) * BigInt(linkMegabits) * 125n

/** The most bytes that can be on their way through a link without being acknowledged by customers. */
export const maxInFlight = (linkMegabits: number): bigint => bytesIn(savedMs, linkMegabits)

export const firstBudget = (linkMegabits: number, sinceMs: number): ByteBudget => ({
  rest: bytesIn(firstMs, linkMegabits),
  at: sinceMs,
})

/**
 * Refills the bucket at the link's rate. Reports may be seconds late, so 10 s are saved up; a node that could not
 * report used its link all the same. A clock that was set back gives nothing and takes nothing.
 */
export function refill(budget: ByteBudget, linkMegabits: number, nowMs: number): ByteBudget {
  const gapMs = Math.min(Math.max(nowMs - budget.at, 0), longestSilenceMs)
  const earned = budget.rest + bytesIn(gapMs, linkMegabits)
  const saved = bytesIn(Math.max(gapMs, savedMs), linkMegabits)
  return { rest: least(least(earned, saved), maxBytesInReport), at: nowMs }
}

/** The part of a claim that fits into `max`, bytes received by the customer first. */
export function believe(claimed: { readonly received: bigint; readonly sent: bigint }, max: bigint) {
  const received = least(claimed.received, max)
  return { received: bytes(received), sent: bytes(least(claimed.sent, max - received)) }
}

/** Bytes claimed and not believed, over a whole report. */
export const sumRefused = (
  added: readonly { readonly claimed: bigint; readonly received: bigint; readonly sent: bigint }[],
): bigint => added.reduce((sum, each) => sum + each.claimed - each.received - each.sent, 0n)
