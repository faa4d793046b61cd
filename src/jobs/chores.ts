import type { Log } from '../core/log.ts'
import { toIso } from '../core/time.ts'
import type { Ledger, LedgerAudit } from '../domains/ledger/index.ts'
import { toHex } from '../domains/ledger/rules.ts'
import type { Orders } from '../domains/orders/index.ts'

/** What the chores tell. */
export type Notes = Pick<Log, 'info' | 'error'>

/** One transaction of the shop's database, for what several domains do together. */
export type Transacting = { transact<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> }
type Tx = Parameters<Ledger['lock']>[0]

const minuteMs = 60_000
const checkpointEveryMs = 60 * minuteMs
const forgetEveryMs = 10 * minuteMs
const forgetAtOnce = 1000

/** How a chore came to its end. */
export type ChoreRun = { readonly name: string; readonly ok: boolean }

export type Chore = {
  readonly name: string
  readonly everyMs: number
  readonly work: () => Promise<void>
  /** Every shop does it for itself: it is about what this process has in its memory, or on its machine. */
  readonly isOwn?: true
}

/** Whether this is the process that does a chore, of all that could. */
type Leads = (chore: string) => Promise<boolean>

/** Writes a checkpoint down where this database cannot reach. */
export type KeepCheckpoint = (checkpoint: {
  readonly number: number
  readonly hash: string
  readonly madeAt: string
}) => Promise<void>

/** What the shop does for its money by itself. */
export function moneyChores(
  services: { orders: Orders; ledgerAudit: LedgerAudit; keepCheckpoint: KeepCheckpoint },
  notes: Notes,
): readonly Chore[] {
  return [
    {
      name: 'checkpoint',
      everyMs: checkpointEveryMs,
      async work() {
        const made = await services.ledgerAudit.makeCheckpoint()
        if (!made) return
        // Kept elsewhere, the hash shows whether this database was rewritten as a whole.
        const hash = toHex(made.hash)
        notes.info('checkpoint', { number: made.number, postings: made.postings, hash })
        await services.keepCheckpoint({ number: made.number, hash, madeAt: toIso(made.madeAt) })
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
}

/**
 * Runs chores, each at its pace and never twice at once: of several shops on one database one leads in each. The lead
 * may pass on in the middle of a chore, so it is safe to run in several processes all the same, and to miss: it looks
 * at what the database holds and not at when it last ran.
 */
export function startChores(
  chores: readonly Chore[],
  notes: Notes,
  leads: Leads,
  onRun: (run: ChoreRun) => void = () => {},
) {
  const running = new Map<string, Promise<void>>()
  async function runOnce(chore: Chore): Promise<void> {
    if (!chore.isOwn && !(await leads(chore.name))) return
    await chore.work()
    onRun({ name: chore.name, ok: true })
  }
  const timers = chores.map((chore) =>
    setInterval(() => {
      if (running.has(chore.name)) return
      const run = runOnce(chore)
        .catch((fault: unknown) => {
          onRun({ name: chore.name, ok: false })
          notes.error('chore failed', { chore: chore.name, fault })
        })
        .finally(() => running.delete(chore.name))
      running.set(chore.name, run)
    }, chore.everyMs),
  )
  return {
    async stop(): Promise<void> {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running.values())
    },
  }
}
