import type { Clock } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { Identity } from './rules.ts'
import * as store from './store.ts'

/**
 * Notes that the owner of an e-mail address has opened a link of a letter. If no link was opened before, another person
 * may have registered the address: the password, the second factor, the sessions and the tokens of that person end.
 * Returns whether they did. The identity is locked.
 */
export async function confirmAddress(
  deps: {
    readonly clock: Clock
    readonly customers: Pick<Customers, 'revokeTokensIn'>
    readonly events: Pick<Events, 'note'>
  },
  tx: Tx,
  locked: Identity,
): Promise<boolean> {
  const { owner, confirmedAt, password, totpSince } = locked
  if (owner.kind !== 'customer' || confirmedAt !== null) return false
  const nowMs = deps.clock()
  await store.confirmIdentity(tx, owner.id, nowMs)
  const ended = await store.endSessions(tx, owner.id, null, nowMs)
  const revoked = await deps.customers.revokeTokensIn(tx, owner.id)
  const event = { customer: owner.id, order: null, subject: null, data: { by: 'link' } } as const
  if (password !== null) await deps.events.note(tx, [{ ...event, type: 'password.changed' }])
  if (totpSince !== null) await deps.events.note(tx, [{ ...event, type: 'second_factor.removed' }])
  return password !== null || ended > 0 || revoked > 0
}
