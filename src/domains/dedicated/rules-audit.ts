import { readAddress } from '../../kernel/address.ts'
import { graceEnd, type Proxy, readUsername } from './rules.ts'

/** A lease as `verify` walks it, with what its place is. */
export type WalkedLease = {
  readonly place: number
  readonly proxy: number
  readonly startedAt: number
  readonly endedAt: number | null
  readonly address: string
  readonly country: string
  readonly ipv: number
}

/** Oldest first. A place that was replaced in the moment it was leased comes before the one that replaced it. */
export const inTime = (a: WalkedLease, b: WalkedLease): number =>
  a.startedAt - b.startedAt || (a.endedAt ?? Number.MAX_SAFE_INTEGER) - (b.endedAt ?? Number.MAX_SAFE_INTEGER)

/**
 * What is wrong with the leases that a proxy has had, oldest first: they follow one another from its first moment to
 * its last.
 */
export function problemsOfLeases(proxy: Proxy, leases: readonly WalkedLease[]): string[] {
  const [first, last] = [leases[0], leases.at(-1)]
  if (!first || !last) return [proxy.state === 'held' ? 'it is held and has no lease' : 'it never had a lease']
  const problems: string[] = []
  if (first.startedAt !== proxy.startedAt) problems.push('its first lease does not begin when it was bought')
  for (const [index, lease] of leases.entries()) {
    const next = leases[index + 1]
    if (next && lease.endedAt !== next.startedAt) problems.push('its leases do not follow one another')
    if (lease.country !== proxy.country || lease.ipv !== proxy.ipv)
      problems.push('it was leased a place of another kind')
  }
  if ((proxy.state === 'held') !== (last.endedAt === null)) {
    problems.push(proxy.state === 'held' ? 'it is held and has no lease' : 'it is gone and still holds a place')
  }
  if (last.endedAt !== null && last.endedAt !== graceEnd(proxy))
    problems.push('its lease did not end when its time was over')
  if (last.place !== proxy.place || last.address !== proxy.address)
    problems.push('it shows another address than it was leased')
  const replacedAt = leases.length > 1 ? last.startedAt : null
  if (proxy.replacedAt !== replacedAt) problems.push('it was not replaced when it says')
  return problems
}

/** What is wrong with a proxy by itself. */
export function problemsOfProxy(proxy: Proxy): string[] {
  const address = readAddress(proxy.address)
  return [
    ...(readUsername(proxy.username) === proxy.id ? [] : ['its name is not one of its number']),
    ...(address?.version === (proxy.ipv === 6 ? 6 : 4) ? [] : ['its address is not of its kind']),
  ]
}
