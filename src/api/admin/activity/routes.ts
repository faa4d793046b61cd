import { operatorsOwner } from '../../../core/ids.ts'
import type { Bound } from '../../bind.ts'
import type { EventWatch } from '../../customer/events/watch.ts'
import type { z } from '../../operation.ts'
import { positionOf, soughtFor, toCursor } from '../../pages.ts'
import { type AdminCaller, type AdminDeps, type BindAdmin, namesOf } from '../bind.ts'
import { type ActivityFeed, createActivityFeed, positionText, readActivityPosition } from './feed.ts'
import { listActivity, toActivity } from './shapes.ts'
import { activityKinds } from './shapes-kinds.ts'

/** The feed, and the watch that ends waits for it; without a watch, as in a command, no request waits. */
export type Following = { readonly feed: ActivityFeed; readonly watch: EventWatch }

const kindsOf = ({ kind }: { readonly kind?: (typeof activityKinds)[number] | undefined }) =>
  kind === undefined ? activityKinds : [kind]

export function adminActivityOperations(
  bind: BindAdmin,
  deps: AdminDeps,
  following: Following | undefined,
): Bound<AdminCaller>[] {
  const feed = following?.feed ?? createActivityFeed(deps)
  const listing = bind(listActivity, async ({ query }) => {
    const after = positionOf(query.cursor, readActivityPosition)
    const found = await feed.list(kindsOf(query), after, soughtFor(query.limit))
    const shown = found.slice(0, query.limit)
    const last = found.length > query.limit ? shown.at(-1) : undefined
    const nameIn = await namesOf(
      deps,
      shown.flatMap(({ customer }) => customer ?? []),
    )
    return {
      items: shown.map((each) =>
        toActivity(each, positionText(each), each.customer === null ? null : nameIn(each.customer)),
      ),
      next_cursor: last === undefined ? null : toCursor(positionText(last)),
    }
  })
  if (!following) return [listing]
  const waitFirst: Bound<AdminCaller>['waitFirst'] = ({ query, signal }) =>
    waitForNews(following, query as z.output<typeof listActivity.query>, signal)
  return [{ ...listing, waitFirst }]
}

/** Waits until the first item is another one than the caller has seen, or for as long as the query says. */
async function waitForNews(
  { feed, watch }: Following,
  query: z.output<typeof listActivity.query>,
  signal: AbortSignal,
): Promise<void> {
  if (query.seen === undefined || query.cursor !== undefined) return
  const untilAt = performance.now() + (query.wait ?? 0) * 1000
  for (let leftMs = untilAt - performance.now(); leftMs > 0; leftMs = untilAt - performance.now()) {
    const seen = await watch.seen(operatorsOwner)
    const [head] = await feed.list(kindsOf(query), undefined, 1)
    if ((head ? positionText(head) : '') !== query.seen) return
    await watch.wait(operatorsOwner, seen, leftMs, signal)
    if (signal.aborted || watch.isStopped) return
    // Something of another kind leads to another wait; over the limit of waits, this one has ended.
    if ((await watch.seen(operatorsOwner)).last === seen.last) return
  }
}

/** Lets a watch of customers' events also watch the feed, under the name of the operators. */
export const watchingFeed = <Of extends { lastNumbers: WatchedEvents['lastNumbers'] }>(
  events: Of,
  feed: Pick<ActivityFeed, 'changes'>,
): Of => ({
  ...events,
  lastNumbers: async (customers) => {
    const rows = await events.lastNumbers(customers.filter((each) => each !== operatorsOwner))
    if (!customers.includes(operatorsOwner)) return rows
    return [...rows, { customer_id: operatorsOwner, last: BigInt(await feed.changes()), revocation_epoch: 0n }]
  },
})

type WatchedEvents = AdminDeps['events']
