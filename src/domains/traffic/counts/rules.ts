import { type Bytes, bytes } from '../../../kernel/bytes.ts'

/**
 * What a node has carried for a subject since it booted: to the customer (`received`) and from the customer (`sent`).
 */
export type Count = { readonly subject: string; readonly received: Bytes; readonly sent: Bytes }

/** One report of a node. */
export type Report = { readonly node: string; readonly boot: string; readonly counts: readonly Count[] }

/** How much of a count is new against what was known. A smaller count is old news, not a correction. */
export function newIn(count: Count, known: Count | undefined): { received: Bytes; sent: Bytes } {
  const over = (now: bigint, before: bigint): Bytes => bytes(now > before ? now - before : 0n)
  return { received: over(count.received, known?.received ?? 0n), sent: over(count.sent, known?.sent ?? 0n) }
}

/**
 * One entry for each subject, the largest of what a report says of it, in an order that never makes two reports
 * deadlock.
 */
export function settle(counts: readonly Count[]): Count[] {
  const largest = new Map<string, Count>()
  for (const count of counts) {
    const other = largest.get(count.subject)
    largest.set(count.subject, {
      subject: count.subject,
      received: other && other.received > count.received ? other.received : count.received,
      sent: other && other.sent > count.sent ? other.sent : count.sent,
    })
  }
  return [...largest.values()].toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
}
