import type { FleetOutcome } from './storm.ts'

/** The summary of a fleet storm as text. */
export function toFleetTable(outcome: FleetOutcome): string {
  const { first, honest } = outcome
  return [
    `fleet on ${outcome.engine}, seed ${outcome.seed}, ${outcome.minutes} minutes`,
    `done: ${Object.entries(outcome.faults)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}`,
    `sold ${first.sold} proxies: first byte at once ${first.atOnce} (the slowest after ${first.slowestMs} ms), later ${first.later}, made good ${first.madeGood}`,
    `${honest.customers} customers: ${honest.orders} orders, ${honest.refusals} refused, ${honest.usedBytes} bytes billed, ${honest.noted} lines noted`,
    `${honest.attempts} attempts: failed during faults ${honest.failedInFaults}, late ${honest.late}, outside ${honest.failedOutside}`,
    ...outcome.requestRates.map(({ node, total, calls, each }) => {
      const kinds = Object.entries(each).map(([what, times]) => `${what} ${times}`)
      return `${node} asked at most ${total} times a second (${kinds.join(', ')}), and called ${calls} times from its addresses`
    }),
    ...Object.entries(outcome.logged).map(([what, count]) => `  logged ${count} × ${what}`),
    '',
    ...outcome.problems.map((each) => `WRONG  ${each}`),
    outcome.problems.length === 0 ? 'All within bounds.' : `${outcome.problems.length} beyond bounds.`,
  ].join('\n')
}
