import type { Sha256 } from '../../core/chain.ts'
import type { Audit, Finding, Verifier } from '../../core/finding.ts'
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
        const found = (customer: string, seq: number, problem: string): void =>
          void findings.push({ promise: 'event', where: `event ${seq} of ${customer}`, problem })
        const lastOf = new Map<string, { readonly seq: number; readonly at: number }>()
        let count = 0
        for (let after = { customer: '', seq: -1 }; ; ) {
          const batch = await store.eventsAfter(reader, after, page)
          for (const row of batch) {
            const seq = Number(row.seq)
            const before = lastOf.get(row.customer_id)
            if (before && seq !== before.seq + 1) found(row.customer_id, seq, 'the one before it is missing')
            if (!store.isUnchanged(row, deps.sha256)) found(row.customer_id, seq, 'it differs from its digest')
            if (!isEventType(row.type)) found(row.customer_id, seq, 'it is of no kind')
            if (!isReadable(row.data)) found(row.customer_id, seq, 'what it tells cannot be read')
            if (before && row.at < before.at) found(row.customer_id, seq, 'it is dated before the one before it')
            lastOf.set(row.customer_id, { seq, at: Number(row.at) })
          }
          count += batch.length
          const last = batch.at(-1)
          if (!last || batch.length < page) break
          after = { customer: last.customer_id, seq: Number(last.seq) }
        }
        for (let after = ''; ; ) {
          const batch = await store.numbersAfter(reader, after, page)
          for (const { customer_id: customer, last: seq, last_at: at } of batch) {
            const kept = lastOf.get(customer)
            if (kept && (kept.seq !== Number(seq) || kept.at !== Number(at))) {
              found(customer, Number(seq), 'it is not the last one')
            }
            lastOf.delete(customer)
          }
          const last = batch.at(-1)
          if (!last || batch.length < page) break
          after = last.customer_id
        }
        for (const [customer, { seq }] of lastOf) found(customer, seq, 'no number was given out for it')
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
