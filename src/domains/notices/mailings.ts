import { type CustomerId, type MailingId, makeId } from '../../core/ids.ts'
import { refuseField } from '../../core/refusal.ts'
import type { NoticeDeps } from './deps.ts'
import { noSuchMailing } from './errors.ts'
import { type Audience, type Mailing, priceEvent } from './rules.ts'
import * as store from './store.ts'
import { listAudience } from './store-audience.ts'

const firstCustomer = '' as CustomerId
/** Customers that are counted at a time. */
const countedAtOnce = 5000

/** How many customers an audience has now, and the first of them. */
export async function countAudience({ db, clock }: NoticeDeps, audience: Audience, samples: number) {
  const nowMs = clock()
  const sample: CustomerId[] = []
  let customers = 0
  for (let after: CustomerId | undefined = firstCustomer; after !== undefined; ) {
    const found: CustomerId[] = await listAudience(db, audience, { after, nowMs, limit: countedAtOnce })
    sample.push(...found.slice(0, samples - sample.length))
    customers += found.length
    after = found.length < countedAtOnce ? undefined : found.at(-1)
  }
  return { customers, sample }
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

/** Ends a mailing: customers who did not get it yet do not get it. */
export const stopMailing = ({ db }: NoticeDeps, id: MailingId): Promise<Mailing> =>
  db.transact(async (tx) => {
    const mailing = await store.lockMailing(tx, id)
    if (!mailing) throw noSuchMailing()
    if (mailing.state !== 'walking') return mailing
    store.setState(tx, id, 'stopped')
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
    await deps.events.note(
      tx,
      customers.map((each) => priceEvent(each, mailing)),
    )
    store.writeWalk(tx, {
      id,
      state: customers.length < limit ? 'done' : 'walking',
      afterCustomer: customers.at(-1) ?? after,
      customers: mailing.customers + customers.length,
    })
    return limit
  })
}
