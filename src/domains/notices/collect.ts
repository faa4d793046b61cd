import { type CustomerId, makeId } from '../../core/ids.ts'
import type { Tx } from '../../db/transaction.ts'
import type { CustomerEvent } from '../events/rules.ts'
import type { NoticeDeps } from './deps.ts'
import { gatherMs, joinEvents, kindOfEvent, type NoticeKind, type NoticeLetter, staleAfterMs } from './rules.ts'
import * as store from './store-letters.ts'

const eventsAtOnce = 500

/** Makes letters of the events of customers who want some. Returns how many customers had events. */
export async function collect(deps: NoticeDeps, limit: number): Promise<number> {
  const customers = await store.findUncollected(deps.db, limit)
  for (const each of customers) await collectOne(deps, each)
  return customers.length
}

/** The letters and the position are written together, so each event is in one letter. */
async function collectOne(deps: NoticeDeps, customer: CustomerId): Promise<void> {
  const known = await store.findChoices(deps.db, customer)
  if (!known) return
  const events = await deps.events.between(customer, known.doneSeq, eventsAtOnce)
  await deps.db.transact(async (tx) => {
    const choices = await store.lockChoices(tx, customer)
    if (!choices || choices.doneSeq !== known.doneSeq) return
    const nowMs = deps.clock()
    const kindOf = ({ type, at }: CustomerEvent): NoticeKind | undefined => {
      const kind = nowMs - at > staleAfterMs ? undefined : kindOfEvent(type)
      return kind && choices.kinds.includes(kind) ? kind : undefined
    }
    for (const [kind, of] of Map.groupBy(events, kindOf)) {
      if (kind) await addToLetter(deps, tx, { customer, kind }, of, nowMs)
    }
    // Events that were deleted by age leave a gap; without any event the position is at the end.
    store.setDone(tx, customer, events.at(-1)?.seq ?? (await deps.events.lastOf(tx, customer)))
  })
}

async function addToLetter(
  deps: NoticeDeps,
  tx: Tx,
  to: Pick<NoticeLetter, 'customer' | 'kind'>,
  events: readonly CustomerEvent[],
  nowMs: number,
): Promise<void> {
  const numbers = events.map(({ seq }) => seq)
  const waiting = await store.lockUntried(tx, to.customer, to.kind, nowMs)
  if (waiting) return store.setEvents(tx, { ...waiting, ...joinEvents(waiting, numbers) })
  const firstAt = Math.min(...events.map(({ at }) => at))
  store.insertLetters(tx, [
    {
      ...newLetter(deps, to, nowMs),
      ...joinEvents({ events: [], more: 0 }, numbers),
      nextAt: firstAt + gatherMs,
    },
  ])
}

export const newLetter = (
  deps: NoticeDeps,
  { customer, kind }: Pick<NoticeLetter, 'customer' | 'kind'>,
  nowMs: number,
): NoticeLetter => ({
  id: makeId('letter', nowMs, deps.random),
  customer,
  kind,
  mailing: null,
  events: [],
  more: 0,
  state: 'waiting',
  tries: 0,
  nextAt: nowMs,
  lease: '',
  leaseUntil: 0,
  createdAt: nowMs,
  endedAt: null,
})
