import type { Database } from '../../db/transaction.ts'
import { emptyChain, endingWith, problemsOfEnd, problemsOfLink, type Sha256 } from '../../kernel/chain.ts'
import type { Audit, Finding, Verifier } from '../../kernel/finding.ts'
import { fieldsOf } from './rules.ts'
import * as store from './store.ts'

const page = 500
const entryWord = 'entry'

/** Walks the audit log from its first entry: each follows the one before it, and the end is where it says. */
export const createOperatorsVerifier = (deps: { db: Database; sha256: Sha256 }): Verifier => ({
  name: 'operators',
  verify: (onProgress) =>
    deps.db.snapshot(async (reader): Promise<Audit> => {
      const findings: Finding[] = []
      const found = (where: string, problem: string): void => void findings.push({ promise: 'audit', where, problem })
      let walked = emptyChain
      for (;;) {
        const batch = await store.entriesAfter(reader, walked.seq, page)
        for (const entry of batch) {
          const problems = problemsOfLink(walked, entry, fieldsOf(entry), { sha256: deps.sha256, entry: entryWord })
          for (const problem of problems) found(`entry ${entry.seq} of the audit log`, problem)
          walked = endingWith(entry)
        }
        onProgress?.(walked.seq)
        if (batch.length < page) break
      }
      for (const problem of problemsOfEnd(await store.findEnd(reader), walked, entryWord)) {
        found('the audit log', problem)
      }
      return { findings, covered: { 'entries of the audit log': walked.seq } }
    }),
})
