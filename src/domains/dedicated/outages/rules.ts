import { toIso } from '../../../core/time.ts'
import type { DomainEvent } from '../../events/rules.ts'
import { eventOf, type Proxy } from '../rules.ts'

/** Why a proxy cannot be used: what carries it is away, or the operator has put its address into quarantine. */
export type Cause = 'outage' | 'quarantine'

/** What a customer gets for time that he could not use; nothing for what has ended meanwhile. */
export type Given = 'time' | 'money' | 'nothing'

/** A time in which a proxy could not be used. */
export type Outage = {
  readonly proxy: number
  readonly fromAt: number
  readonly untilAt: number | null
  readonly cause: Cause
  readonly given: Given | null
  readonly expiresBefore: number | null
  readonly expiresAfter: number | null
}

/** Its term stands still while it cannot be used: what was left when it stopped is left when it goes on. */
export const extended = (expiresAt: number, fromAt: number, untilAt: number): number =>
  expiresAt + Math.max(0, untilAt - fromAt)

/**
 * When an interruption began of what was last served then: no sooner than it was sold, got its address, or was
 * prolonged after its end.
 */
export const beginningOf = (proxy: Proxy, servedAt: number): number =>
  Math.max(servedAt, proxy.startedAt, proxy.replacedAt ?? 0, proxy.resumedAt ?? 0)

/** What is not served for less than this is nobody's loss: a node that is started anew takes a few seconds. */
export const outageAfterMs = 30_000
/** How often the shop looks at what is sold. */
export const lookEveryMs = 5_000
/** Whoever has not looked for this long was blind meanwhile: nodes could not reach him, or he not the database. */
const blindAfterMs = 3 * lookEveryMs

/** Since when a shop has looked without a pause, and when it last did. */
export type Watch = { readonly sinceAt: number; readonly lookedAt: number }

/** A shop that was away itself, or whose clock was set back, begins to watch now. */
export const watchAt = (before: Watch | undefined, nowMs: number): Watch =>
  before && nowMs >= before.lookedAt && nowMs - before.lookedAt <= blindAfterMs
    ? { sinceAt: before.sinceAt, lookedAt: nowMs }
    : { sinceAt: nowMs, lookedAt: nowMs }

/** Nodes get as long to be heard of by a shop that is back as they get when they are back themselves. */
export const mayJudge = (watch: Watch, nowMs: number): boolean => nowMs - watch.sinceAt >= outageAfterMs

export const movedEvent = (proxy: Proxy): DomainEvent => eventOf(proxy, 'proxy.moved', { ip: proxy.address })

export const interruptedEvent = (proxy: Proxy, cause: Cause, fromAt: number): DomainEvent =>
  eventOf(proxy, 'proxy.interrupted', { ip: proxy.address, since: toIso(fromAt), reason: cause })

export const restoredEvent = (proxy: Proxy, fromAt: number, untilAt: number): DomainEvent =>
  eventOf(proxy, 'proxy.restored', { ip: proxy.address, since: toIso(fromAt), until: toIso(untilAt) })

export const extendedEvent = (proxy: Proxy, addedMs: number, expiresAt: number): DomainEvent =>
  eventOf(proxy, 'proxy.extended', { added_seconds: Math.floor(addedMs / 1000), expires_at: toIso(expiresAt) })

/**
 * What is wrong with the outages of a proxy, and with its end: each order that sold or prolonged it says when it ended
 * then, each outage by how much that was put off, and every one of these steps is later than the one before.
 */
export function problemsOfTerm(proxy: Proxy, sold: readonly number[], outages: readonly Outage[]): string[] {
  const problems: string[] = []
  const given = outages.filter((each) => each.given === 'time' && each.expiresAfter !== each.expiresBefore)
  const ends = [...sold, ...given.flatMap((each) => each.expiresAfter ?? [])].toSorted((a, b) => a - b)
  for (const each of given) {
    const at = ends.indexOf(each.expiresAfter ?? 0)
    if (ends[at - 1] !== each.expiresBefore) problems.push('time was added to another term than it had')
  }
  if (proxy.expiresAt !== ends.at(-1)) problems.push('it does not run for as long as was paid')
  const open = outages.filter((each) => each.untilAt === null)
  const isOpen = open.length === 1 && open[0]?.fromAt === proxy.interruptedAt && open[0]?.cause === proxy.interruptedBy
  if (proxy.interruptedAt === null ? open.length > 0 : !isOpen) {
    problems.push('it is not interrupted as its outages say')
  }
  if (outages.some((each) => each.fromAt < proxy.startedAt)) problems.push('it was interrupted before it was bought')
  return problems
}
