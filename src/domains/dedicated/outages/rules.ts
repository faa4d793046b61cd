import { type FindingProblem, momentText, problem } from '../../../core/finding.ts'
import { toIso } from '../../../core/time.ts'
import type { DomainEvent } from '../../events/rules.ts'
import { eventOf, type Proxy } from '../rules.ts'

/** Why a proxy is interrupted: no gateway serves it, or the operator quarantined its address. */
export type OutageCause = 'outage' | 'quarantine'

/** What a customer gets for an outage; `nothing` if the proxy was ended meanwhile. */
export type Compensation = 'time' | 'money' | 'nothing'

/** A time in which a proxy was interrupted. */
export type Outage = {
  readonly proxy: number
  readonly fromAt: number
  readonly untilAt: number | null
  readonly cause: OutageCause
  readonly given: Compensation | null
  readonly expiresBefore: number | null
  readonly expiresAfter: number | null
}

/** The end moves by the length of the outage. */
export const extended = (expiresAt: number, fromAt: number, untilAt: number): number =>
  expiresAt + Math.max(0, untilAt - fromAt)

/** When an outage began: when the proxy was last served, but not before it was sold, replaced or resumed. */
export const beginningOf = (proxy: Proxy, servedAt: number): number =>
  Math.max(servedAt, proxy.startedAt, proxy.replacedAt ?? 0, proxy.resumedAt ?? 0)

/** An interruption shorter than this is no outage: a restarted node takes a few seconds. */
export const outageAfterMs = 30_000
/** How often the shop looks for outages. */
export const lookEveryMs = 5_000
/** A shop that has not looked for this long was cut off from nodes or from the database. */
const blindAfterMs = 3 * lookEveryMs

/** Since when a shop has looked without a pause, and when it last did. */
export type WatchState = { readonly sinceAt: number; readonly lookedAt: number }

/** A shop that was cut off, or whose clock was set back, starts over. */
export const watchAt = (before: WatchState | undefined, nowMs: number): WatchState =>
  before && nowMs >= before.lookedAt && nowMs - before.lookedAt <= blindAfterMs
    ? { sinceAt: before.sinceAt, lookedAt: nowMs }
    : { sinceAt: nowMs, lookedAt: nowMs }

/** Outages open only after the shop has looked for as long as an outage takes to count. */
export const mayJudge = (watch: WatchState, nowMs: number): boolean => nowMs - watch.sinceAt >= outageAfterMs

export const movedEvent = (proxy: Proxy): DomainEvent => eventOf(proxy, 'proxy.moved', { ip: proxy.address })

export const interruptedEvent = (proxy: Proxy, cause: OutageCause, fromAt: number): DomainEvent =>
  eventOf(proxy, 'proxy.interrupted', { ip: proxy.address, since: toIso(fromAt), reason: cause })

export const restoredEvent = (proxy: Proxy, fromAt: number, untilAt: number): DomainEvent =>
  eventOf(proxy, 'proxy.restored', { ip: proxy.address, since: toIso(fromAt), until: toIso(untilAt) })

export const extendedEvent = (proxy: Proxy, addedMs: number, expiresAt: number): DomainEvent =>
  eventOf(proxy, 'proxy.extended', { added_seconds: Math.floor(addedMs / 1000), expires_at: toIso(expiresAt) })

/** Orders and outages must explain a proxy's end: each step names an end that is later than the one before. */
export function problemsOfTerm(proxy: Proxy, sold: readonly number[], outages: readonly Outage[]): FindingProblem[] {
  const problems: FindingProblem[] = []
  const given = outages.filter((each) => each.given === 'time' && each.expiresAfter !== each.expiresBefore)
  const ends = [...sold, ...given.flatMap((each) => each.expiresAfter ?? [])].toSorted((a, b) => a - b)
  for (const each of given) {
    const index = ends.indexOf(each.expiresAfter ?? 0)
    if (ends[index - 1] !== each.expiresBefore) {
      problems.push(problem('outage_base', { stored: orNull(each.expiresBefore) }))
    }
  }
  const last = ends.at(-1) ?? null
  if (proxy.expiresAt !== last) {
    problems.push(problem('proxy_end', { stored: momentText(proxy.expiresAt), expected: orNull(last) }))
  }
  const open = outages.filter((each) => each.untilAt === null)
  const isOpen = open.length === 1 && open[0]?.fromAt === proxy.interruptedAt && open[0]?.cause === proxy.interruptedBy
  if (proxy.interruptedAt === null ? open.length > 0 : !isOpen) {
    problems.push(problem('outage_open', { stored: orNull(proxy.interruptedAt), open: open.length }))
  }
  if (outages.some((each) => each.fromAt < proxy.startedAt)) {
    problems.push(problem('outage_early', { begun: momentText(proxy.startedAt) }))
  }
  return problems
}

const orNull = (at: number | null): string | null => (at === null ? null : momentText(at))
