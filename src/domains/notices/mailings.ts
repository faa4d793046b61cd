import { type CustomerId, type MailingId, makeId } from '../../core/ids.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import { newLetter } from './collect.ts'
import type { NoticeDeps } from './deps.ts'
import { noSuchMailing } from './errors.ts'
import { type Audience, type Mailing, type MailingTexts, priceEvent } from './rules.ts'
import * as store from './store.ts'
import { countCustomers, listAudience } from './store-audience.ts'
import { deleteWaiting, insertLetters } from './store-letters.ts'

const firstCustomer = '' as CustomerId
/** How many customers an audience has now, how many of them can get a message, and the first of them. */
export async function countAudience({ db, clock }: NoticeDeps, audience: Audience, samples: number) {
  const nowMs = clock()
  const sample = await listAudience(db, audience, { after: firstCustomer, nowMs, limit: samples })
  return { ...(await countCustomers(db, audience, nowMs)), sample }
}

/** Begins to send a message by e-mail to every customer of the audience who has not unsubscribed. */
export async function sendMessage(deps: NoticeDeps, audience: Audience, of: MailingTexts): Promise<Mailing> {
  if (!deps.isOn) throw new Refusal('notices_off')
  return begin(deps, { ...audience, ...of, kind: 'message', effectiveAt: null })
}

/** Announces prices that change: every customer of the audience gets the event `price.announced`. */
export async function announcePrices(
  deps: NoticeDeps,
  audience: Audience,
  of: Pick<Mailing, 'textEn' | 'textRu'> & { readonly effectiveAt: number },
): Promise<Mailing> {
  if (of.effectiveAt <= deps.clock()) throw refuseField('effective_at', 'future')
  return begin(deps, { ...audience, ...of, kind: 'price', subjectEn: null, subjectRu: null })
}

async function begin(
  deps: NoticeDeps,
  of: Omit<Mailing, 'id' | 'state' | 'afterCustomer' | 'customers' | 'createdAt'>,
): Promise<Mailing> {
  const nowMs = deps.clock()
  const id = makeId('mailing', nowMs, deps.random)
  const mailing = { ...of, id, afterCustomer: firstCustomer, customers: 0, createdAt: nowMs } as const
  await deps.db.transact(async (tx) => store.insertMailing(tx, { ...mailing, state: 'walking' }))
  return { ...mailing, state: 'walking' }
}

/** Newest first, from just before an id. */
export const listMailings = ({ db }: NoticeDeps, before: string, limit: number): Promise<Mailing[]> =>
  store.listMailings(db, before, limit)

/** A mailing, and how many of its letters are in each state. */
export async function loadMailing({ db }: NoticeDeps, id: MailingId) {
  const mailing = await store.findMailing(db, id)
  if (!mailing) throw noSuchMailing()
  return { mailing, letters: await store.countLetters(db, id) }
}

/** Ends a mailing: customers who did not get it yet do not get it. A letter that a shop is sending is sent. */
export const stopMailing = ({ db, clock }: NoticeDeps, id: MailingId): Promise<Mailing> =>
  db.transact(async (tx) => {
    const mailing = await store.lockMailing(tx, id)
    if (!mailing) throw noSuchMailing()
    if (mailing.state === 'stopped' || (mailing.state === 'done' && mailing.kind === 'price')) return mailing
    store.setState(tx, id, 'stopped')
    await deleteWaiting(tx, id, clock())
    return { ...mailing, state: 'stopped' }
  })

/** Gives the oldest mailing to at most `limit` next customers. Returns `limit` if there may be more to do, else 0. */
export async function walk(deps: NoticeDeps, limit: number): Promise<number> {
  const found = await store.findWalking(deps.db)
  if (!found) return 0
  return deps.db.transact(async (tx) => {
    const mailing = await store.lockMailing(tx, found.id)
    if (mailing?.state !== 'walking') return limit
    const { id, afterCustomer: after } = mailing
    const nowMs = deps.clock()
    const customers = await listAudience(tx, mailing, { after, nowMs, limit })
    await give(deps, tx, mailing, customers, nowMs)
    store.writeWalk(tx, {
      id,
      state: customers.length < limit ? 'done' : 'walking',
      afterCustomer: customers.at(-1) ?? after,
      customers: mailing.customers + customers.length,
    })
    return limit
  })
}

async function give(
  deps: NoticeDeps,
  tx: Tx,
  mailing: Mailing,
  customers: readonly CustomerId[],
  nowMs: number,
): Promise<void> {
  if (mailing.kind === 'price') {
    const events = customers.map((each) => priceEvent(each, mailing))
    return deps.events.note(tx, events)
  }
  const letters = customers.map((customer) => newLetter(deps, { customer, kind: 'message' }, nowMs))
  insertLetters(
    tx,
    letters.map((each) => ({ ...each, mailing: mailing.id })),
  )
}
