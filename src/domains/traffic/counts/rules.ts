import { type Bytes, bytes } from '../../../core/bytes.ts'

/**
 * What a node has carried for a subject since it booted: to the customer (`received`) and from the customer (`sent`).
 */
export type Count = { readonly subject: string; readonly received: Bytes; readonly sent: Bytes }

/** What a node claims, and how much of it was believed. */
export type Known = Count & { readonly believed: { readonly received: bigint; readonly sent: bigint } }

/** One report of a node. */
export type Report = { readonly node: string; readonly boot: string; readonly counts: readonly Count[] }

/** How much of a count is new against what was known. A smaller count is old news, not a correction. */
export function newIn(count: Count, known: Count | undefined): { received: Bytes; sent: Bytes } {
  const over = (now: bigint, before: bigint): Bytes => bytes(now > before ? now - before : 0n)
  return { received: over(count.received, known?.received ?? 0n), sent: over(count.sent, known?.sent ?? 0n) }
}

/** The larger of two counts of one subject, each direction by itself. */
export const largerOf = (count: Count, other: Count | undefined): Count => ({
  subject: count.subject,
  received: other && other.received > count.received ? other.received : count.received,
  sent: other && other.sent > count.sent ? other.sent : count.sent,
})

/**
 * One entry for each subject, the largest of what a report says of it, in an order that never makes two reports
 * deadlock.
 */
export function settle(counts: readonly Count[]): Count[] {
  const largest = new Map<string, Count>()
  for (const count of counts) {
    largest.set(count.subject, largerOf(count, largest.get(count.subject)))
  }
  return [...largest.values()].toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
}

/** No subject carries more than this in all, so that its bytes are an exact JSON number and no sum overflows. */
export const mostBytes = 8_000_000_000_000_000n
/** No report is believed further than this, however fast a link is and however long its node was silent. */
const mostInReport = 100_000_000_000_000n

/** What a node begins with, what it may save up while it is in touch, and the longest silence that is made up for. */
const firstMs = 100
const savedMs = 10_000
const longestSilenceMs = 86_400_000

/** How many bytes a node can have carried besides what it has claimed, as of a moment. */
export type Budget = { readonly rest: bigint; readonly at: number }

/** A byte that is carried comes in over the link once and goes out once, so both directions together fill one link. */
const carriedIn = (ms: number, linkMegabits: number): bigint => BigInt(ms) * BigInt(linkMegabits) * 125n

/** No more bytes than this are on their way through a link to customers who have not acknowledged them. */
export const inFlight = (linkMegabits: number): bigint => carriedIn(savedMs, linkMegabits)

export const firstBudget = (linkMegabits: number, sinceMs: number): Budget => ({
  rest: carriedIn(firstMs, linkMegabits),
  at: sinceMs,
})

/**
 * The budget once time has passed. Reports are late by seconds now and then, so a little is saved up; a node that could
 * not report made use of its link all the same. A clock that was set back gives nothing and takes nothing.
 */
export function refill(budget: Budget, linkMegabits: number, nowMs: number): Budget {
  const gapMs = Math.min(Math.max(nowMs - budget.at, 0), longestSilenceMs)
  const earned = budget.rest + carriedIn(gapMs, linkMegabits)
  const saved = carriedIn(Math.max(gapMs, savedMs), linkMegabits)
  return { rest: least(least(earned, saved), mostInReport), at: nowMs }
}

/** How much of what is new can be true, what goes to the customer first. */
export function believe(
  claimed: { readonly received: bigint; readonly sent: bigint },
  most: bigint,
): { received: Bytes; sent: Bytes } {
  const received = least(claimed.received, most)
  return { received: bytes(received), sent: bytes(least(claimed.sent, most - received)) }
}

/** What was claimed and not believed, over all of a report. */
export const sumRefused = (
  added: readonly { readonly claimed: bigint; readonly received: bigint; readonly sent: bigint }[],
): bigint => added.reduce((sum, each) => sum + each.claimed - each.received - each.sent, 0n)

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
