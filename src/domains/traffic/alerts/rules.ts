/** How much of the traffic is used when a customer gets an event, in percent. */
const alertPercents = [80, 95, 100] as const

/** Traffic after the last purchase, and the amount left at which the next event is due; null if none is due. */
export type TrafficAlert = { readonly subject: string; readonly whole: bigint; readonly dueLeft: bigint | null }

const leftAt = (whole: bigint, percent: number): bigint => (whole * BigInt(100 - percent)) / 100n

/** An alert as a purchase begins it. */
export const startAlert = (subject: string, whole: bigint): TrafficAlert => ({
  subject,
  whole,
  dueLeft: whole > 0n ? leftAt(whole, alertPercents[0]) : null,
})

/** The highest percentage that is reached, and when the next event is due. */
export function judgeAlert({ whole }: TrafficAlert, left: bigint): { percent: number; dueLeft: bigint | null } {
  const percent = alertPercents.findLast((each) => left <= leftAt(whole, each)) ?? 0
  const next = alertPercents.find((each) => each > percent)
  return { percent, dueLeft: next === undefined ? null : leftAt(whole, next) }
}
