import type { Address } from '../../../core/address.ts'
import { recallAddress } from '../../../core/known-addresses.ts'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { classify } from '../../../core/reserved.ts'
import { type Denial, mayName, mayReach, type Policy } from '../access/policy.ts'
import type { RefusalCode } from '../access/refusals.ts'
import type { Way } from '../access/way.ts'
import type { Target } from '../protocol/authority.ts'
import type { IsDeliveredHere } from './dial.ts'
import type { Resolve } from './resolve.ts'

export type Destinations =
  /** `isLiteral`: the target is itself the one address, in its only spelling. */
  { readonly addresses: readonly Address[]; readonly isLiteral?: true } | { readonly refusal: RefusalCode }

/**
 * Finds the addresses that a customer's target means and that he may reach: the bytes of each are judged. Never an
 * empty list. At once for whoever names an address.
 */
export function createDestinations(deps: {
  policy: () => Policy
  resolve: Resolve
  isDeliveredHere: IsDeliveredHere | undefined
}) {
  async function resolveName(target: Target, way: Way, owner: string): Promise<Destinations> {
    const versions = versionsOf(way)
    let refusal: RefusalCode = 'name_not_found'
    for (const version of versions) {
      const resolved = await deps.resolve(target.host, version, owner)
      if ('addresses' in resolved) return judgeAll(resolved.addresses, target.port, way)
      refusal = resolved.refusal
    }
    if (refusal !== 'name_not_found' || versions.length > 1) return { refusal }
    // It may have addresses, and none that this proxy can leave for.
    const others = await deps.resolve(target.host, versions[0] === 4 ? 6 : 4, owner)
    return { refusal: 'addresses' in others ? 'no_such_family' : refusal }
  }

  /** What the operator has said, and then the system: an address that leads to this machine is no destination. */
  function judge(address: Address, port: number, way: Way): Denial | undefined {
    const policy = deps.policy()
    const denial = mayReach(address, port, policy)
    if (denial || policy.allowLocalDelivery || (policy.allowLoopback && classify(address) === 'loopback')) return denial
    const from = ownAddressOf(way)
    return deps.isDeliveredHere?.(address, port, from) ? 'destination_is_ours' : undefined
  }

  function judgeAll(found: readonly Address[], port: number, way: Way): Destinations {
    const denials = found.map((address) => judge(address, port, way))
    const addresses = found.filter((_, index) => denials[index] === undefined)
    return addresses.length > 0 ? { addresses } : { refusal: denials[0] ?? 'name_not_found' }
  }

  return (target: Target, way: Way, owner: string): MaybePromise<Destinations> => {
    const literal = recallAddress(target.host)
    if (literal) {
      if (!versionsOf(way).includes(literal.version)) return { refusal: 'no_such_family' }
      const denial = judge(literal, target.port, way)
      return denial ? { refusal: denial } : { addresses: [literal], isLiteral: true }
    }
    const denial = mayName(target.host, deps.policy())
    return denial ? { refusal: denial } : resolveName(target, way, owner)
  }
}

const onlyFour: readonly (4 | 6)[] = [4]
const onlySix: readonly (4 | 6)[] = [6]
const both: readonly (4 | 6)[] = [4, 6]

/** The address of this machine that it leaves from; none where a proxy or another gateway leaves for it. */
function ownAddressOf(way: Way): Address | undefined {
  const own = way.kind === 'address' ? way.address : way.exit.kind === 'local' ? way.exit.host : undefined
  return own === undefined ? undefined : recallAddress(own)
}

/** An address leaves for its own kind; a local exit too; a proxy elsewhere may have both, IPv4 being the surer one. */
function versionsOf(way: Way): readonly (4 | 6)[] {
  const address = ownAddressOf(way)
  return address ? (address.version === 4 ? onlyFour : onlySix) : both
}
