import { Refusal } from '../../../core/refusal.ts'
import { type Clock, toIso } from '../../../core/time.ts'
import type { PaymentOperator, Providers } from '../../../domains/payments/index.ts'
import { type Comparison, noComparison } from './shapes-reconcile.ts'

const busy = (): Refusal => new Refusal('reconciliation_running')

type Days = { readonly provider: string | undefined; readonly fromAt: number; readonly toAt: number }

/** A provider may take minutes over its list, so nobody waits for it with an open request: one run at a time. */
export function createReconciliation(deps: {
  readonly paymentOperator: PaymentOperator
  readonly providers: Providers
  readonly clock: Clock
  readonly onReconcileFault: (fault: unknown) => void
}) {
  let run: Comparison = noComparison

  async function work({ provider, fromAt, toAt }: Days): Promise<void> {
    try {
      const { compared, differences } = await deps.paymentOperator.reconcile(provider, fromAt, toAt)
      const told = differences.map((each) => ({
        provider: each.provider,
        payment_id: each.payment,
        provider_id: each.providerId,
        problem: each.problem,
      }))
      run = { ...run, state: 'done', compared, differences: told, ended_at: toIso(deps.clock()) }
    } catch (fault) {
      const problem = fault instanceof Refusal ? fault.message : 'A fault here; the log tells more.'
      run = { ...run, state: 'failed', problem, ended_at: toIso(deps.clock()) }
      deps.onReconcileFault(fault)
    }
  }

  return {
    show: (): Comparison => run,

    async start(days: Days): Promise<Comparison> {
      if (days.provider !== undefined) await deps.providers.load(days.provider)
      if (run.state === 'running') throw busy()
      run = { ...noComparison, state: 'running', started_at: toIso(deps.clock()) }
      void work(days)
      return run
    },
  }
}
