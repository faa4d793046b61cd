import type { Operations } from '../../client/customer.ts'

type Item = Operations['getPremiumUsage']['answer']['items'][number]

const spans = { hour: { stepMs: 3_600_000, count: 48 }, day: { stepMs: 86_400_000, count: 30 } } as const
export type By = keyof typeof spans

/** The start of the chart, at a whole step, so that reopened pages use the same query. */
export function sinceOf(by: By, nowAt: number): string {
  const { stepMs, count } = spans[by]
  return new Date(Math.floor(nowAt / stepMs) * stepMs - (count - 1) * stepMs).toISOString()
}

export function fill(by: By, from: string, items: readonly Item[]) {
  const { stepMs, count } = spans[by]
  const fromAt = Date.parse(from)
  const times = Array.from({ length: count }, (_, index) => fromAt + index * stepMs)
  const found = new Map(items.map((each) => [Math.floor(Date.parse(each.key) / stepMs), each]))
  const of = (field: 'received_bytes' | 'sent_bytes') =>
    times.map((at) => found.get(Math.floor(at / stepMs))?.[field] ?? 0)
  return { times, received: of('received_bytes'), sent: of('sent_bytes') }
}
