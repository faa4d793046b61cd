import type { Address } from '../../../kernel/address.ts'
import { recallAddress } from '../../../kernel/known-addresses.ts'
import type { Soon } from '../../../kernel/soon.ts'
import { mayName, mayReach, type Policy } from '../decide/policy.ts'
import type { RefusalCode } from '../decide/refusals.ts'
import type { Way } from '../decide/way.ts'
import type { Target } from '../protocol/authority.ts'
import type { Resolve } from './resolve.ts'

export type Destinations =
  /** `isLiteral`: the target is itself the one address, in its only spelling. */
  { readonly addresses: readonly Address[]; readonly isLiteral?: true } | { readonly refusal: RefusalCode }

/**
 * Finds the addresses that a customer's target means and that he may reach: the bytes of each are judged. Never an
 * empty list. At once for whoever names an address.
 */
export function createDestinations(deps: { policy: () => Policy; resolve: Resolve }) {
  async function resolveName(target: Target, versions: readonly (4 | 6)[], owner: string): Promise<Destinations> {
    let refusal: RefusalCode = 'name_not_found'
    for (const version of versions) {
      const resolved = await deps.resolve(target.host, version, owner)
      if ('addresses' in resolved) return judge(resolved.addresses, target.port)
      refusal = resolved.refusal
    }
    if (refusal !== 'name_not_found' || versions.length > 1) return { refusal }
    // It may have addresses, and none that this proxy can leave for.
    const others = await deps.resolve(target.host, versions[0] === 4 ? 6 : 4, owner)
    return { refusal: 'addresses' in others ? 'no_such_family' : refusal }
  }

  function judge(found: readonly Address[], port: number): Destinations {
    const policy = deps.policy()
    const denials = found.map((address) => mayReach(address, port, policy))
    const addresses = found.filter((_, index) => denials[index] === undefined)
    return addresses.length > 0 ? { addresses } : { refusal: denials[0] ?? 'name_not_found' }
  }

  return (target: Target, way: Way, owner: string): Soon<Destinations> => {
    const versions = versionsOf(way)
    const literal = recallAddress(target.host)
    if (literal) {
      if (!versions.includes(literal.version)) return { refusal: 'no_such_family' }
      const denial = mayReach(literal, target.port, deps.policy())
      return denial ? { refusal: denial } : { addresses: [literal], isLiteral: true }
    }
    const denial = mayName(target.host, deps.policy())
    return denial ? { refusal: denial } : resolveName(target, versions, owner)
  }
}

const onlyFour: readonly (4 | 6)[] = [4]
const onlySix: readonly (4 | 6)[] = [6]
const both: readonly (4 | 6)[] = [4, 6]

/** An address leaves for its own kind; a local exit too; a proxy elsewhere may have both, IPv4 being the surer one. */
function versionsOf(way: Way): readonly (4 | 6)[] {
  const own = way.kind === 'address' ? way.address : way.exit.kind === 'local' ? way.exit.host : undefined
  const address = own === undefined ? undefined : recallAddress(own)
  return address ? (address.version === 4 ? onlyFour : onlySix) : both
}
