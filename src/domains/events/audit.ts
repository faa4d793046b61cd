import { problemsOfPosition, problemsOfTime, type Sha256 } from '../../core/chain.ts'
import { type Audit, at, type Finding, type FindingProblem, problem, type Verifier } from '../../core/finding.ts'
import type { Database } from '../../db/transaction.ts'
import { isEventType } from './rules.ts'
import * as store from './store.ts'

const page = 500

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
        for (let after = { customer: '', seq: -1 }; ; ) {
          const batch = await store.eventsAfter(reader, after, page)
          for (const row of batch) {
            const event = { seq: Number(row.seq), at: Number(row.at) }
            const before = lastOf.get(row.customer_id)
            note(row.customer_id, event.seq, [
              ...(before ? problemsOfPosition(before, event, 'event') : []),
              ...(store.isUnchanged(row, deps.sha256) ? [] : [problem('event_changed')]),
              ...(isEventType(row.type) ? [] : [problem('event_type', { type: row.type })]),
              ...(isReadable(row.data) ? [] : [problem('event_unreadable')]),
              ...(before ? problemsOfTime(before, event, 'event') : []),
            ])
            lastOf.set(row.customer_id, { seq: event.seq, lastAt: event.at })
          }
          count += batch.length
          const last = batch.at(-1)
          if (!last || batch.length < page) break
          after = { customer: last.customer_id, seq: Number(last.seq) }
        }
        for (let after = ''; ; ) {
          const batch = await store.numbersAfter(reader, after, page)
          for (const { customer_id: customer, last: seq, last_at: lastAt } of batch) {
            const kept = lastOf.get(customer)
            if (kept && (kept.seq !== Number(seq) || kept.lastAt !== Number(lastAt))) {
              note(customer, Number(seq), [problem('event_last', { kept: kept.seq })])
            }
            lastOf.delete(customer)
          }
          const last = batch.at(-1)
          if (!last || batch.length < page) break
          after = last.customer_id
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
