import * as chain from '../../core/chain.ts'
import {
  type Audit,
  at,
  type Finding,
  type FindingProblem,
  type FindingSubject,
  problem,
  type Verifier,
} from '../../core/finding.ts'
import type { Database } from '../../db/transaction.ts'
import { type Entry, fieldsOf } from './rules.ts'
import * as store from './store.ts'

const page = 500
const entryName = 'entry'

/** Walks the audit log from its first entry to its recorded end. */
export const createOperatorsVerifier = (deps: { db: Database; sha256: chain.Sha256 }): Verifier => ({
  name: 'operators',
  verify: (onProgress) =>
    deps.db.snapshot(async (reader): Promise<Audit> => {
      const findings: Finding[] = []
      const note = (where: FindingSubject, problems: readonly FindingProblem[]): void =>
        void findings.push(...problems.map((each) => ({ promise: 'audit' as const, where, ...each })))
      let walked = chain.emptyChain
      for (;;) {
        const batch = await store.entriesAfter(reader, walked.seq, page)
        const seals = await store.redactionsAmong(reader, walked.seq + 1, batch.at(-1)?.seq ?? 0)
        for (const entry of batch) {
          const where = at('audit_entry', { seq: entry.seq })
          note(where, problemsOf(walked, entry, seals.get(entry.seq), deps.sha256))
          walked = chain.endingWith(entry)
        }
        onProgress?.(walked.seq)
        if (batch.length < page) break
      }
      note(at('audit_log'), chain.problemsOfEnd(await store.findEnd(reader), walked, entryName))
      return { findings, covered: { 'entries of the audit log': walked.seq } }
    }),
})

/** An entry that an erasure has redacted keeps its number and hash; a seal covers its present content. */
function problemsOf(
  before: chain.Chain,
  entry: Entry,
  seal: Uint8Array | undefined,
  sha256: chain.Sha256,
): FindingProblem[] {
  if (!seal) return chain.problemsOfLink(before, entry, fieldsOf(entry), { sha256, entry: entryName })
  const isSealed = chain.sealEntry(entry.hash, fieldsOf(entry), sha256).toHex() === seal.toHex()
  return [
    ...chain.problemsOfPosition(before, entry, entryName),
    ...(isSealed ? [] : [problem('entry_redacted')]),
    ...chain.problemsOfTime(before, entry, entryName),
  ]
}
