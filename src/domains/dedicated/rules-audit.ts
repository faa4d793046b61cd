import { readAddress } from '../../core/address.ts'
import type { WalkedLease } from '../stock/rules.ts'
import { graceEnd, type Proxy, readUsername } from './rules.ts'

const hasBegun = (lease: WalkedLease, at: number): boolean => lease.startedAt === Math.max(at, lease.freeFromAt)

/** A lease ends after it began, even if the clock was set back in between. */
const hasEnded = (lease: WalkedLease, at: number): boolean => lease.endedAt === Math.max(at, lease.startedAt + 1)

/** Whether there is a moment in which the one lease was replaced by the other. */
const follows = (lease: WalkedLease, next: WalkedLease): boolean =>
  [next.startedAt, lease.endedAt].some((at) => at !== null && hasBegun(next, at) && hasEnded(lease, at))

/** Oldest first. A place that was replaced in the moment it was leased comes before the one that replaced it. */
const inTime = (a: WalkedLease, b: WalkedLease): number =>
  a.startedAt - b.startedAt || (a.endedAt ?? Number.MAX_SAFE_INTEGER) - (b.endedAt ?? Number.MAX_SAFE_INTEGER)

/** One after the other as they were had, which is not the order of their times where a clock was set back. */
function inTurn(proxy: Proxy, leases: readonly WalkedLease[]): WalkedLease[] {
  const rest = leases.toSorted(inTime)
  const turn: WalkedLease[] = []
  while (rest.length > 0) {
    const before = turn.at(-1)
    const isNext = (lease: WalkedLease): boolean =>
      (lease.endedAt !== null || rest.length === 1) &&
      (before ? follows(before, lease) : hasBegun(lease, proxy.startedAt))
    turn.push(...rest.splice(Math.max(rest.findIndex(isNext), 0), 1))
  }
  return turn
}

/** What is wrong with the leases that a proxy has had: they follow one another from its first moment to its last. */
export function problemsOfLeases(proxy: Proxy, had: readonly WalkedLease[]): string[] {
  const leases = inTurn(proxy, had)
  const [first, last] = [leases[0], leases.at(-1)]
  if (!first || !last) return [proxy.state === 'held' ? 'it is held and has no lease' : 'it never had a lease']
  const problems: string[] = []
  if (!hasBegun(first, proxy.startedAt)) problems.push('its first lease does not begin when it was bought')
  for (const [index, lease] of leases.entries()) {
    const next = leases[index + 1]
    if (next && !follows(lease, next)) problems.push('its leases do not follow one another')
    if (lease.country !== proxy.country || lease.ipv !== proxy.ipv)
      problems.push('it was leased a place of another kind')
  }
  if ((proxy.state === 'held') !== (last.endedAt === null)) {
    problems.push(proxy.state === 'held' ? 'it is held and has no lease' : 'it is gone and still holds a place')
  }
  if (last.endedAt !== null && !hasEnded(last, proxy.endedAt ?? graceEnd(proxy)))
    problems.push('its lease did not end when its time was over')
  if (proxy.endedAt !== null && proxy.state === 'held') problems.push('it was ended and is held')
  if (last.place !== proxy.place || last.address !== proxy.address)
    problems.push('it shows another address than it was leased')
  if (!isReplacedAt(proxy.replacedAt, leases.at(-2), last)) problems.push('it was not replaced when it says')
  return problems
}

function isReplacedAt(at: number | null, before: WalkedLease | undefined, last: WalkedLease): boolean {
  if (!before || at === null) return !before && at === null
  return hasEnded(before, at) && hasBegun(last, at)
}

/** What is wrong with a proxy by itself. */
export function problemsOfProxy(proxy: Proxy): string[] {
  const address = readAddress(proxy.address)
  return [
    ...(readUsername(proxy.username) === proxy.id ? [] : ['its name is not one of its number']),
    ...(address?.version === (proxy.ipv === 6 ? 6 : 4) ? [] : ['its address is not of its kind']),
  ]
}
