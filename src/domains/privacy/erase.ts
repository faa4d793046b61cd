import type { CustomerId, RandomBytes } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Operators } from '../operators/index.ts'
import type { Entry } from '../operators/rules.ts'
import { isBeginning, type Lost, redact, thingsIn, toLostDetails } from './rules.ts'
import * as store from './store.ts'

/** A request that began before an erasure is over after this long; the erasure is repeated for its rows. */
const repeatedForMs = 10 * 60_000

/** Rows that one transaction deletes, and log entries that are read together. */
const atOnce = 500
/** Things that one transaction blanks; each takes several statements, and SQLite has one writer. */
const thingsAtOnce = 50
/** Operators' actions that name a proxy by its number only. */
const byNumber = new Set(['endProxy', 'replaceProxy'])

/** Erasure of a customer's personal data. Money, orders and leases of addresses stay under the customer's id. */
export type ErasingDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly ledger: Pick<Ledger, 'lock' | 'balance'>
  readonly customers: Pick<Customers, 'load' | 'forget'>
  readonly operators: Pick<Operators, 'logAfter' | 'redact'>
  /** Blanks earlier versions of the customer's rows; returns how many. Refuses if the history was tampered with. */
  readonly history: { erase(customer: string, nowMs: number, newName: () => string): Promise<number> }
  /** Blocks a customer and touches the customer's goods. */
  readonly block: (tx: Tx, id: CustomerId, blocked: boolean) => Promise<void>
  /** Clears the cache of sessions. */
  readonly onErased: () => void
}

/** Those log entries that are about a customer. */
async function findAbout(deps: ErasingDeps, customer: CustomerId, batch: readonly Entry[]): Promise<Entry[]> {
  const named = batch.map((entry) => ({ entry, ...thingsIn(entry.request) }))
  const owned = await store.ownedAmong(
    deps.db,
    customer,
    named.flatMap((each) => each.ids),
    named.filter((each) => byNumber.has(each.entry.action)).flatMap((each) => each.numbers),
  )
  const beginning = await store.findBeginning(deps.db, customer)
  const about = named.filter(
    ({ entry, ids, numbers }) =>
      ids.some((id) => id === customer || owned.has(id)) ||
      (byNumber.has(entry.action) && numbers.some((number) => owned.has(String(number)))) ||
      (beginning && isBeginning(entry, beginning)),
  )
  return about.map(({ entry }) => entry)
}

/** Redacts the requests of operators about a customer. */
async function redactLog(deps: ErasingDeps, customer: CustomerId): Promise<number> {
  let count = 0
  for (let after = 0; ; ) {
    const batch = await deps.operators.logAfter(after, atOnce)
    const about = await findAbout(deps, customer, batch)
    const personal = about.filter((entry) => redact(entry.request) !== entry.request)
    if (personal.length > 0) {
      await deps.db.transact(async (tx) => {
        for (const entry of personal) await deps.operators.redact(tx, entry, redact(entry.request), customer)
      })
    }
    count += personal.length
    const last = batch.at(-1)
    if (!last || batch.length < atOnce) return count
    after = last.seq
  }
}

/** Deletes operators' sealed answers about a customer, such as a new token, before their 7 days are over. */
async function deleteAnswersAbout({ db }: ErasingDeps, customer: CustomerId): Promise<void> {
  const read = (after: store.SealedAnswer, limit: number) => store.operatorsSealedAnswers(db, after, limit)
  const from = {
    start: { customer_id: '', key: '', named_ids: '' },
    size: atOnce,
    keyOf: (row: store.SealedAnswer) => row,
  }
  for await (const page of keysetPages(read, from)) {
    const named = page.map((row) => ({ row, ids: row.named_ids.split(' ') }))
    const ids = named.flatMap((each) => each.ids)
    const owned = await store.ownedAmong(db, customer, ids, [])
    const about = named.filter((each) => each.ids.some((id) => id === customer || owned.has(id)))
    if (about.length === 0) continue
    await db.transact(async (tx) => {
      for (const { row } of about) await store.deleteSealedAnswer(tx, row)
    })
  }
}

/** Blanks the customer's things in many small transactions; the customer is blocked already. */
async function blankThings(deps: ErasingDeps, customer: CustomerId): Promise<void> {
  for (const piece of store.blankings) {
    while ((await deps.db.transact((tx) => piece(tx, customer, thingsAtOnce, deps.clock()))) === thingsAtOnce) continue
  }
  for (const walk of store.walks) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const from: string = after
      after = await deps.db.transact((tx) => walk(tx, customer, from, thingsAtOnce))
    }
  }
}

/** The part that is too large for one transaction; a job resumes it. Counts blanked versions and redacted entries. */
async function finish(deps: ErasingDeps, customer: CustomerId) {
  // A request that began before the block may have written since.
  await deps.db.transact((tx) => store.blankPerson(tx, customer, deps.clock()))
  await blankThings(deps, customer)
  while ((await deps.db.transact((tx) => store.forgetHosts(tx, customer, atOnce))) === atOnce) continue
  await deleteAnswersAbout(deps, customer)
  const entries = await redactLog(deps, customer)
  const versions = await deps.history.erase(customer, deps.clock(), () => deps.random(8).toHex())
  await deps.db.transact((tx) => store.finishErasure(tx, customer, deps.clock()))
  return { entries, versions }
}

/** What an erasure would destroy. */
export async function lost(deps: ErasingDeps, customer: CustomerId): Promise<Lost> {
  await deps.customers.load(customer)
  return store.findLost(deps.db, customer, (await deps.ledger.balance(customer)).balance, deps.clock())
}

/** Erases a customer. Refused unless confirmed, and while a payment is open. It can be repeated. */
export async function erase(
  deps: ErasingDeps,
  customer: CustomerId,
  request: {
    readonly by: 'customer' | 'operator'
    readonly isConfirmed: (lost: Lost) => boolean
    /** Checks the caller's authentication again, with the account locked. */
    readonly assertStill?: (tx: Tx) => Promise<void>
  },
) {
  await deps.customers.load(customer)
  const nowMs = deps.clock()
  const destroyed = await deps.db.transact(async (tx) => {
    const account = await deps.ledger.lock(tx, customer)
    await request.assertStill?.(tx)
    const would = await store.findLost(tx, customer, account.balance, nowMs)
    const details = toLostDetails(would)
    const { open_payments, ...confirmed } = details
    if (open_payments > 0) throw new Refusal('erasure_with_open_payments', { open_payments }, details)
    if (!request.isConfirmed(would)) throw new Refusal('erasure_not_confirmed', confirmed, details)
    await store.beginErasure(tx, customer, request.by, nowMs)
    await deps.block(tx, customer, true)
    await store.blankPerson(tx, customer, nowMs)
    for (const each of await store.operatorAnswers(tx, customer)) {
      const redacted = { request: redact(each.request), answer: redact(each.answer) }
      if (redacted.request === each.request && redacted.answer === each.answer) continue
      await store.redactAnswer(tx, each.key, redacted.request, redacted.answer)
    }
    return would
  })
  deps.customers.forget()
  deps.onErased()
  const done = await finish(deps, customer)
  const kept = await store.findErasure(deps.db, customer)
  return { customer, erasedAt: Number(kept?.at ?? nowMs), lost: destroyed, ...done }
}

/** Resumes interrupted erasures; returns how many are finished, and the refusals of the others. */
export async function resume(deps: ErasingDeps): Promise<{ finished: number; refused: readonly Refusal[] }> {
  const refused: Refusal[] = []
  const tryToFinish = async (customer: CustomerId): Promise<void> => {
    await finish(deps, customer).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error
      refused.push(error)
    })
  }
  const waiting = await store.unfinished(deps.db)
  for (const customer of waiting) await tryToFinish(customer)
  const finished = waiting.length - refused.length
  const sinceAt = deps.clock() - repeatedForMs
  for (let some = await store.begunSince(deps.db, sinceAt, ''); some.length > 0; ) {
    for (const customer of some) {
      await deps.db.transact((tx) => store.reopenErasure(tx, customer))
      await tryToFinish(customer)
    }
    some = await store.begunSince(deps.db, sinceAt, some.at(-1) ?? '')
  }
  return { finished, refused }
}
