import type { CustomerId, RandomBytes } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Operators } from '../operators/index.ts'
import type { Entry } from '../operators/rules.ts'
import { notConfirmed, paymentsOpen } from './errors.ts'
import type { HistoryEraser } from './ports.ts'
import { idsIn, isBeginning, type Lost, redact, toLostDetails } from './rules.ts'
import * as store from './store.ts'
import { pieces, walks } from './store-things.ts'

/** A request that was let in before an erasure is over by then; what it has left behind goes too. */
const lookedAtAgainMs = 10 * 60_000

/** How many rows one transaction deletes, and how many entries of the audit log are looked at together. */
const atOnce = 500
/** How many of his things one transaction blanks; each takes several statements, and SQLite has one that writes. */
const thingsAtOnce = 50
/** Operators' actions that name a proxy by its number alone. */
const byNumber = new Set(['endProxy', 'replaceProxy'])

/** What an erasure came to. */
type Erased = {
  readonly customer: CustomerId
  readonly erasedAt: number
  readonly lost: Lost
  /** How many versions of rows, and how many entries of the audit log, say less now. */
  readonly versions: number
  readonly entries: number
}

export type Erasing = ReturnType<typeof createErasing>

/** Forgets who a customer was. Money, orders and who held which address stay, under his number. */
export function createErasing(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly ledger: Pick<Ledger, 'lock' | 'balance'>
  readonly customers: Pick<Customers, 'load' | 'forget'>
  readonly operators: Pick<Operators, 'logAfter' | 'redact'>
  readonly history: HistoryEraser
  /** Blocks a customer with all that he has. */
  readonly block: (tx: Tx, id: CustomerId, blocked: boolean) => Promise<void>
  /** All who are signed in are asked for anew. */
  readonly onErased: () => void
}) {
  const { db, clock, operators } = deps

  /** Whose the things are that these entries name. */
  async function isAbout(customer: CustomerId, batch: readonly Entry[]): Promise<(entry: Entry) => boolean> {
    const named = batch.map((entry) => ({ entry, ...idsIn(entry.request) }))
    const owned = await store.ownedAmong(
      db,
      customer,
      named.flatMap((each) => each.ids),
      named.filter((each) => byNumber.has(each.entry.action)).flatMap((each) => each.numbers),
    )
    const beginning = await store.findBeginning(db, customer)
    const about = new Set(
      named
        .filter(
          ({ entry, ids, numbers }) =>
            ids.some((id) => id === customer || owned.has(id)) ||
            (byNumber.has(entry.action) && numbers.some((number) => owned.has(String(number)))) ||
            (beginning && isBeginning(entry, beginning)),
        )
        .map(({ entry }) => entry.seq),
    )
    return (entry) => about.has(entry.seq)
  }

  /** What operators asked for about him loses every text that is not an id, a moment or a number. */
  async function redactLog(customer: CustomerId): Promise<number> {
    let count = 0
    for (let after = 0; ; ) {
      const batch = await operators.logAfter(after, atOnce)
      const isHis = await isAbout(customer, batch)
      const told = batch.filter((entry) => isHis(entry) && redact(entry.request) !== entry.request)
      if (told.length > 0) {
        await db.transact(async (tx) => {
          for (const entry of told) await operators.redact(tx, entry, redact(entry.request), customer)
        })
      }
      count += told.length
      const last = batch.at(-1)
      if (!last || batch.length < atOnce) return count
      after = last.seq
    }
  }

  /** He is blocked already, and whatever he has does nothing: others need not wait until the last of it is blank. */
  async function blankThings(customer: CustomerId): Promise<void> {
    for (const piece of pieces) {
      while ((await db.transact((tx) => piece(tx, customer, thingsAtOnce, clock()))) === thingsAtOnce) continue
    }
    for (const walk of walks) {
      for (let after: string | undefined = ''; after !== undefined; ) {
        const from: string = after
        after = await db.transact((tx) => walk(tx, customer, from, thingsAtOnce))
      }
    }
  }

  /** What is too much for one transaction. Whoever is interrupted here is finished by a chore, or by asking again. */
  async function finish(customer: CustomerId): Promise<Pick<Erased, 'versions' | 'entries'>> {
    // What was let in before the door was shut may have written since.
    await db.transact((tx) => store.blankPerson(tx, customer, clock()))
    await blankThings(customer)
    while ((await db.transact((tx) => store.forgetHosts(tx, customer, atOnce))) === atOnce) continue
    const entries = await redactLog(customer)
    const versions = await deps.history.erase(customer, clock(), () => deps.random(8).toHex())
    await db.transact((tx) => store.finishErasure(tx, customer, clock()))
    return { entries, versions }
  }

  return {
    /** What would go with him. */
    async lost(customer: CustomerId): Promise<Lost> {
      await deps.customers.load(customer)
      return store.findLost(db, customer, (await deps.ledger.balance(customer)).balance, clock())
    },

    /**
     * Erases a customer. It is refused unless it is confirmed, and while a payment of his is under way. Once more it
     * changes nothing but what has come since.
     */
    async erase(
      customer: CustomerId,
      wish: { readonly by: 'customer' | 'operator'; readonly isConfirmed: (lost: Lost) => boolean },
    ): Promise<Erased> {
      await deps.customers.load(customer)
      const nowMs = clock()
      const lost = await db.transact(async (tx) => {
        const account = await deps.ledger.lock(tx, customer)
        const would = await store.findLost(tx, customer, account.balance, nowMs)
        if (would.openPayments > 0) throw paymentsOpen(toLostDetails(would))
        if (!wish.isConfirmed(would)) throw notConfirmed(toLostDetails(would))
        await store.beginErasure(tx, customer, wish.by, nowMs)
        await deps.block(tx, customer, true)
        await store.blankPerson(tx, customer, nowMs)
        for (const each of await store.operatorAnswers(tx, customer)) {
          const [request, answer] = [redact(each.request), redact(each.answer)]
          if (request === each.request && answer === each.answer) continue
          await store.redactAnswer(tx, each.key, request, answer)
        }
        return would
      })
      deps.customers.forget()
      deps.onErased()
      const done = await finish(customer)
      const kept = await store.findErasure(db, customer)
      return { customer, erasedAt: Number(kept?.at ?? nowMs), lost, ...done }
    },

    /** Goes on with erasures that something has interrupted; tells how many. What cannot be finished is told apart. */
    async resume(): Promise<{ finished: number; refused: readonly Refusal[] }> {
      const refused: Refusal[] = []
      const tryToFinish = async (customer: CustomerId): Promise<void> => {
        await finish(customer).catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error
          refused.push(error)
        })
      }
      const waiting = await store.unfinished(db)
      for (const customer of waiting) await tryToFinish(customer)
      const finished = waiting.length - refused.length
      const sinceAt = clock() - lookedAtAgainMs
      for (let some = await store.begunSince(db, sinceAt, ''); some.length > 0; ) {
        for (const customer of some) {
          await db.transact((tx) => store.reopenErasure(tx, customer))
          await tryToFinish(customer)
        }
        some = await store.begunSince(db, sinceAt, some.at(-1) ?? '')
      }
      return { finished, refused }
    },
  }
}
