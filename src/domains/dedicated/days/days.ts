import { at, type Finding, found } from '../../../core/finding.ts'
import type { CustomerId } from '../../../core/ids.ts'
import { keysetPages } from '../../../core/keyset-pages.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { type DedicatedDeps, loadAll, type ProxyTraffic } from '../proxies.ts'
import { maxDays, subjectOf } from '../rules.ts'
import { knownAmong } from '../store.ts'
import * as store from './store.ts'

const dayMs = 86_400_000
const pageSize = 500

const dayOf = (atMs: number): number => Math.floor(atMs / dayMs) * dayMs

/** Adds what a report has brought to the day on which the shop took it. */
export function note({ clock }: Pick<DedicatedDeps, 'clock'>, tx: Tx, added: readonly store.ProxyBytes[]): void {
  if (added.length > 0) store.addToDay(tx, dayOf(clock()), added)
}

/** The traffic of a customer's proxies on each of the last days in UTC, oldest first; zeros where there was none. */
export async function trafficByDay(deps: DedicatedDeps, customer: CustomerId, ids: readonly number[], count: number) {
  await loadAll(deps, customer, ids)
  const firstDay = dayOf(deps.clock()) - (count - 1) * dayMs
  const rows = Map.groupBy(await store.daysOf(deps.db, ids, firstDay), (each) => each.proxy)
  const none: ProxyTraffic = { received: 0n, sent: 0n }
  const proxies = ids.map((id) => {
    const byDay = new Map((rows.get(id) ?? []).map((each) => [each.day, each]))
    const days = Array.from({ length: count }, (_, index): ProxyTraffic => byDay.get(firstDay + index * dayMs) ?? none)
    return { id, days }
  })
  return { firstDay, proxies }
}

/** Deletes days that are no longer shown; returns how many rows. */
export const forgetDays = ({ db, clock }: DedicatedDeps, limit: number): Promise<number> =>
  db.transact((tx) => store.forgetDays(tx, dayOf(clock()) - (maxDays - 1) * dayMs, limit))

/** Days belong to proxies that were sold, and show no more than nodes have counted. */
export async function checkDays({ traffic }: DedicatedDeps, reader: Reader, findings: Finding[]): Promise<void> {
  const read = (after: number, limit: number) => store.sumsAfter(reader, after, limit)
  for await (const page of keysetPages(read, { start: -1, size: pageSize, keyOf: (each) => each.proxy })) {
    const ids = page.map((each) => each.proxy)
    const known = await knownAmong(reader, ids)
    const totals = await traffic.counts.totals(reader, ids.map(subjectOf))
    for (const { proxy, bytes, isSound } of page) {
      const where = at('proxy', { id: proxy })
      const total = totals.get(subjectOf(proxy))
      const counted = (total?.received ?? 0n) + (total?.sent ?? 0n)
      if (!known.has(proxy)) findings.push(found('delivery', where, 'counted_unknown'))
      if (!isSound) findings.push(found('days', where, 'checksum'))
      if (bytes > counted) {
        findings.push(found('days', where, 'days_over', { stored: String(bytes), counted: String(counted) }))
      }
    }
  }
}
