import type { AlertType, EventData } from '../events/rules.ts'

/** Something that needs an operator, as a look has found it. */
export type Condition = { readonly type: AlertType; readonly subject: string; readonly data: EventData }

/** A condition that operators got a message about. */
export type Alert = Condition & { readonly raisedAt: number; readonly seenAt: number }

/** How long a condition must be absent until its alert ends. */
export const quietMs = 10 * 60_000
const maxOfType = 100

const keyOf = ({ type, subject }: Condition): string => `${type} ${subject}`

/** What a look changes: new alerts, alerts that last, and alerts that end. */
export function compare(known: readonly Alert[], found: readonly Condition[], nowMs: number, absentMs: number) {
  const knownKeys = new Set(known.map(keyOf))
  const byType = [...Map.groupBy(found, (each) => each.type).values()].flatMap((of) => of.slice(0, maxOfType))
  const foundKeys = new Set(byType.map(keyOf))
  return {
    raised: byType.filter((each) => !knownKeys.has(keyOf(each))),
    lasting: known.filter((each) => foundKeys.has(keyOf(each))),
    ended: known.filter((each) => !foundKeys.has(keyOf(each)) && nowMs - each.seenAt >= absentMs),
  }
}

type SlotCount = { readonly country: string; readonly ipv: number; readonly state: string; readonly count: number }

/** Kinds of addresses of which fewer than a twentieth is free. */
export function findLowStock(counts: readonly SlotCount[]): Condition[] {
  return [...Map.groupBy(counts, ({ country, ipv }) => `${country} ${ipv}`)].flatMap(([subject, of]) => {
    const sum = (state: string): number =>
      of.filter((each) => each.state === state).reduce((total, { count }) => total + count, 0)
    const [free, total] = [sum('free'), sum('free') + sum('leased')]
    const [first] = of
    if (!first || total === 0 || (free > 0 && free * 20 >= total)) return []
    return [{ type: 'stock.low' as const, subject, data: { country: first.country, ipv: first.ipv, free, total } }]
  })
}
