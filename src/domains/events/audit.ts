import { problemsOfPosition, problemsOfTime, type Sha256 } from '../../core/chain.ts'
import { type Audit, at, type Finding, type FindingProblem, problem, type Verifier } from '../../core/finding.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import type { Database } from '../../db/transaction.ts'
import { hasEventType } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

/** Checks that a customer's kept events have no gap up to the last number, and that each is readable and unchanged. */
export function createEventsVerifier(deps: { db: Database; sha256: Sha256 }): Verifier {
  return {
    name: 'events',
    verify: () =>
      deps.db.snapshot(async (reader): Promise<Audit> => {
        const findings: Finding[] = []
        const note = (customer: string, seq: number, problems: readonly FindingProblem[]): void =>
          void findings.push(
            ...problems.map((each) => ({ promise: 'event' as const, where: at('event', { seq, customer }), ...each })),
          )
        const lastOf = new Map<string, { readonly seq: number; readonly lastAt: number }>()
        let count = 0
        const readEvents = (after: store.EventPosition, limit: number) => store.eventsAfter(reader, after, limit)
        const first = { start: { customer_id: '', seq: -1 }, size: pageSize, keyOf: (row: store.EventRow) => row }
        for await (const page of keysetPages(readEvents, first)) {
          for (const row of page) {
            const event = { seq: Number(row.seq), at: Number(row.at) }
            const before = lastOf.get(row.customer_id)
            note(row.customer_id, event.seq, [
              ...(before ? problemsOfPosition(before, event, 'event') : []),
              ...(store.isUnchanged(row, deps.sha256) ? [] : [problem('event_changed')]),
              ...(hasEventType(row.customer_id, row.type) ? [] : [problem('event_type', { type: row.type })]),
              ...(isReadable(row.data) ? [] : [problem('event_unreadable')]),
              ...(before ? problemsOfTime(before, event, 'event') : []),
            ])
            lastOf.set(row.customer_id, { seq: event.seq, lastAt: event.at })
          }
          count += page.length
        }
        const readNumbers = (after: string, limit: number) => store.numbersAfter(reader, after, limit)
        const start = { start: '', size: pageSize, keyOf: (row: { customer_id: string }) => row.customer_id }
        for await (const page of keysetPages(readNumbers, start)) {
          for (const { customer_id: customer, last: seq, last_at: lastAt } of page) {
            const kept = lastOf.get(customer)
            if (kept && (kept.seq !== Number(seq) || kept.lastAt !== Number(lastAt))) {
              note(customer, Number(seq), [problem('event_last', { kept: kept.seq })])
            }
            lastOf.delete(customer)
          }
        }
        for (const [customer, { seq }] of lastOf) note(customer, seq, [problem('event_unnumbered')])
        return { findings, covered: { events: count } }
      }),
  }
}

function isReadable(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
