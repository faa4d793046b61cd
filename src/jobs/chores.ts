import type { LedgerAudit } from '../domains/ledger/index.ts'
import { toHex } from '../domains/ledger/rules.ts'
import type { Orders } from '../domains/orders/index.ts'

/** What the chores tell. */
type Notes = {
  info(event: string, fields?: Record<string, unknown>): void
  error(event: string, fields?: Record<string, unknown>): void
}

const minuteMs = 60_000
const checkpointEveryMs = 60 * minuteMs
const forgetEveryMs = 10 * minuteMs
const forgetAtOnce = 1000

type Chore = { readonly name: string; readonly everyMs: number; readonly work: () => Promise<void> }

/**
 * What the shop does by itself. Each chore is safe to run in several processes at once and to miss: it looks at what the
 * database holds and not at when it last ran.
 */
export function createChores(services: { orders: Orders; ledgerAudit: LedgerAudit }, notes: Notes) {
  const chores: readonly Chore[] = [
    {
      name: 'checkpoint',
      everyMs: checkpointEveryMs,
      async work() {
        const made = await services.ledgerAudit.makeCheckpoint()
        // Kept in a log elsewhere, the hash shows whether this database was rewritten as a whole.
        if (made) notes.info('checkpoint', { number: made.number, postings: made.postings, hash: toHex(made.hash) })
      },
    },
    {
      name: 'forget answers',
      everyMs: forgetEveryMs,
      async work() {
        while ((await services.orders.forgetAnswers(forgetAtOnce)) === forgetAtOnce) await Bun.sleep(50)
      },
    },
  ]
  let stopped = false
  const runs = new Set<Promise<void>>()
  const timers = chores.map((chore) =>
    setInterval(() => {
      if (stopped) return
      const run = chore.work().catch((fault: unknown) => notes.error('chore failed', { chore: chore.name, fault }))
      runs.add(run)
      void run.finally(() => runs.delete(run))
    }, chore.everyMs),
  )
  return {
    async stop(): Promise<void> {
      stopped = true
      for (const timer of timers) clearInterval(timer)
      await Promise.all(runs)
    },
  }
}
