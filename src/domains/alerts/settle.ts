import { operatorsOwner } from '../../core/ids.ts'
import { type Clock, toIso } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'
import type { AlertType, DomainEvent } from '../events/rules.ts'
import { type Alert, type Condition, compare, quietMs } from './rules.ts'
import * as store from './store.ts'

export type AlertDeps = { readonly db: Database; readonly clock: Clock; readonly events: Pick<Events, 'note'> }

export const list = ({ db }: AlertDeps): Promise<Alert[]> => store.listAlerts(db)

/** Raises and ends alerts of some types, by the conditions that a look has found. */
export async function settle(
  deps: AlertDeps,
  types: readonly AlertType[],
  found: readonly Condition[],
  absentMs = quietMs,
): Promise<void> {
  const nowMs = deps.clock()
  const known = (await store.listAlerts(deps.db)).filter((each) => types.includes(each.type))
  const { raised, lasting, ended } = compare(known, found, nowMs, absentMs)
  if (raised.length + lasting.length + ended.length === 0) return
  await deps.db.transact(async (tx) => {
    const events: DomainEvent[] = []
    for (const each of raised) {
      if (await store.insertAlert(tx, each, nowMs)) events.push(toEvent(each, 'raised', nowMs))
    }
    for (const each of lasting) store.touchAlert(tx, each, nowMs)
    for (const each of ended) {
      if (await store.deleteAlert(tx, each)) events.push(toEvent(each, 'ended', each.raisedAt))
    }
    await deps.events.note(tx, events)
  })
}

const toEvent = ({ type, subject, data }: Condition, state: 'raised' | 'ended', sinceAt: number): DomainEvent => ({
  customer: operatorsOwner,
  type,
  order: null,
  subject,
  data: { state, since: toIso(sinceAt), ...data },
})
