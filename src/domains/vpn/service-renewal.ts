import { Refusal } from '../../core/refusal.ts'
import type { Sale } from '../orders/index.ts'
import { noLongerDue } from './errors.ts'
import { keptAfterEndMs, renewAgainMs, renewAheadMs, type Subscription } from './rules.ts'
import type { Bought, Offering, Subscriptions, VpnDeps } from './service-subscriptions.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

type Extend = (sale: Sale, kept: store.Kept, months: number, at: Offering) => Promise<Bought>

/** How many subscriptions are looked at in one go. */
const atOnce = 100

/** What happens to subscriptions by themselves: renewal before the end, and oblivion long after it. */
export function createRenewal(
  deps: Pick<VpnDeps, 'db' | 'clock' | 'orders' | 'customers'>,
  subscriptions: Subscriptions,
  extend: Extend,
) {
  const { db, clock } = deps

  const isDue = (of: Subscription, nowMs: number): boolean =>
    of.autoRenewMonths !== null && of.expiresAt - renewAheadMs <= nowMs && of.renewAfter <= nowMs

  /**
   * Renews one subscription, if it is due still: the order's transaction looks again with the row locked, so of several
   * processes one renews and the others find that nothing is left to do.
   */
  async function renewOne(due: Subscription): Promise<'renewed' | 'refused' | 'done'> {
    const by = await deps.customers.payerOf(due.customer, due.renewToken)
    const request = { by, key: undefined, toBody: () => '', automatic: true } as const
    const wish = { uuid: due.uuid, period: due.autoRenewMonths, automatic: true }
    const late = noLongerDue()
    try {
      const offering = await subscriptions.offering()
      await deps.orders.sell(request, { product: 'vpn', action: 'renew', wish }, async (sale) => {
        const kept = await store.lockSubscription(sale.tx, due.uuid)
        const months = kept?.subscription.autoRenewMonths ?? null
        if (!kept || months === null || !isDue(kept.subscription, clock())) throw late
        if (kept.subscription.renewToken !== (by.token?.id ?? null)) throw late
        subscriptions.assertOffered(offering, undefined)
        return extend(sale, kept, months, offering)
      })
      return 'renewed'
    } catch (error) {
      if (error === late) return 'done'
      if (!(error instanceof Refusal)) throw error
      return refuse(due, error.code)
    }
  }

  /** A refusal is noted for the customer to see, and tried again later. */
  async function refuse(due: Subscription, problem: string): Promise<'refused'> {
    await db.transact(async (tx) => store.writeRenewProblem(tx, due.uuid, problem, clock() + renewAgainMs))
    return 'refused'
  }

  return {
    /**
     * Renews what is due, a bounded number. It looks at what the database holds and not at when it last ran: after a
     * long stop whatever ended meanwhile is renewed once, from now. Call again while it did as much as it could.
     */
    async renewDue(): Promise<{ renewed: number; refused: number; more: boolean }> {
      const nowMs = clock()
      const due = await store.listDue(db, nowMs + renewAheadMs, nowMs, atOnce)
      const outcomes = { renewed: 0, refused: 0, done: 0 }
      for (const each of due) outcomes[await renewOne(each)] += 1
      return { renewed: outcomes.renewed, refused: outcomes.refused, more: due.length === atOnce }
    },

    /**
     * Takes devices, keys and addresses from what ended long ago. Returns how many; call again while it is not none.
     */
    async sweep(): Promise<number> {
      const endedBeforeAt = clock() - keptAfterEndMs
      const lapsed = await store.listLapsed(db, endedBeforeAt, atOnce)
      for (const uuid of lapsed) {
        await db.transact(async (tx) => {
          const kept = await store.lockSubscription(tx, uuid)
          if (!kept || kept.subscription.expiresAt > endedBeforeAt) return
          const held = await peers.listHeld(tx, [uuid])
          await subscriptions.removeDevices(
            tx,
            held.map((each) => each.peer.id),
          )
          store.markSwept(tx, uuid, clock())
        })
      }
      return lapsed.length
    },
  }
}
