import type { Tx } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'
import type { Readiness, Stock } from '../stock/index.ts'
import type { Kind, Place } from '../stock/rules.ts'
import { type Proxy, type ReplacedBy, replacedEvent, restMs } from './rules.ts'
import * as store from './store.ts'

/** Who swaps an address, and the words for it that its customer is told. */
export type SwapCause = { readonly by: ReplacedBy; readonly reason: string | null }

export const kindOf = (proxy: Proxy): Kind => ({ country: proxy.country as Kind['country'], ipv: proxy.ipv })

/**
 * Swaps a proxy's address for a free one of its kind, or refuses; the old one rests. The proxy's row and its customer's
 * account are locked: two swaps at once could choose slots of one shared address.
 */
export async function swapAddress(
  deps: { readonly stock: Stock; readonly events: Pick<Events, 'note'> },
  tx: Tx,
  proxy: Proxy,
  { ready, cause, nowMs }: { ready: Readiness; cause: SwapCause; nowMs: number },
): Promise<{ swapped: Proxy; place: Place }> {
  const held = proxy.ipv === 3 ? await store.heldAddresses(tx, proxy.customer, proxy.country) : new Set<string>()
  const [place] = await deps.stock.take(tx, kindOf(proxy), 1, held, ready)
  if (!place) throw new Error('stock gave no place and did not refuse')
  await deps.stock.release(tx, [{ id: proxy.place, endedAt: nowMs, restUntil: nowMs + restMs }])
  deps.stock.lease(tx, [{ place, proxy: proxy.id }], nowMs)
  store.setAddress(tx, proxy.id, { place, by: cause.by, nowMs })
  const swapped: Proxy = {
    ...proxy,
    place: place.id,
    address: place.address,
    replacedAt: nowMs,
    replacedBy: cause.by,
    changedAt: nowMs,
  }
  await deps.events.note(tx, [replacedEvent(proxy, swapped, cause)])
  return { swapped, place }
}
