import { type Verifier, verifyAll } from '../../../core/finding.ts'
import { Refusal } from '../../../core/refusal.ts'
import { type Clock, toIso } from '../../../core/time.ts'
import { createKeptVerifier, type LedgerAudit } from '../../../domains/ledger/index.ts'
import { noRun, type Run } from './shapes.ts'

const busy = (): Refusal => new Refusal('verification_running')

/** Long work that nobody waits for with an open request: one run at a time, and what the last one came to. */
export function createVerification(deps: {
  readonly verifiers: readonly Verifier[]
  readonly ledgerAudit: LedgerAudit
  readonly clock: Clock
  readonly onFault: (fault: unknown) => void
}) {
  let run: Run = noRun

  async function work(verifiers: readonly Verifier[]): Promise<void> {
    try {
      const verdict = await verifyAll(verifiers, (part) => {
        run = { ...run, part, done: 0 }
        return (done) => {
          run = { ...run, done }
        }
      })
      const findings = verdict.findings.map((each) => ({ ...each }))
      const told = { ...verdict, findings, covered: { ...verdict.covered }, notes: [...verdict.notes] }
      run = { ...run, ...told, state: 'done', part: null, ended_at: toIso(deps.clock()) }
    } catch (fault) {
      run = { ...run, state: 'failed', ended_at: toIso(deps.clock()) }
      deps.onFault(fault)
    }
  }

  return {
    show: (): Run => run,

    start(against: readonly { readonly number?: number | undefined; readonly hash: string }[]): Run {
      if (run.state === 'running') throw busy()
      run = { ...noRun, state: 'running', started_at: toIso(deps.clock()) }
      const kept = against.map(({ number, hash }) => ({ number, hash: hash.toLowerCase() }))
      const also = kept.length === 0 ? [] : [createKeptVerifier(deps.ledgerAudit, kept)]
      void work([...deps.verifiers, ...also])
      return run
    },
  }
}
