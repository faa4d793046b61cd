import { type Address, readAddressCached } from '../../../core/address.ts'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { classify } from '../../../core/reserved.ts'
import type { EgressPath } from '../access/exit-choice.ts'
import { isInGrace as isAllowedInGrace, isReachedInGrace } from '../access/grace.ts'
import { type Denial, mayName, mayReach, type Policy } from '../access/policy.ts'
import type { ConnectTarget } from '../ways-in/authority.ts'
import type { RefusalCode } from '../ways-in/refusals.ts'
import type { Resolve } from './resolve.ts'
import type { IsDeliveredHere, Transport } from './upstream.ts'

export type Destinations =
  /** `isLiteral`: the target is itself an address. */
  { readonly addresses: readonly Address[]; readonly isLiteral?: true } | { readonly refusal: RefusalCode }

/** Resolves and judges destinations. */
export class DestinationFinder {
  constructor(
    private readonly deps: {
      policy: () => Policy
      resolve: Resolve
      isDeliveredHere: IsDeliveredHere | undefined
      transport: Transport
    },
  ) {}

  /** Finds the addresses of a target that the customer may reach; never an empty list. Synchronous for a literal. */
  find(target: ConnectTarget, way: EgressPath, owner: string): MaybePromise<Destinations> {
    const literal = readAddressCached(target.host)
    const isInGrace = way.kind === 'address' && way.isInGrace === true
    if (isInGrace && !isAllowedInGrace(target, literal, this.deps.transport, this.deps.policy().grace))
      return { refusal: 'destination_denied' }
    if (literal) {
      if (!versionsOf(way).includes(literal.version)) return { refusal: 'no_such_family' }
      const denial = this.judge(literal, target.port, way)
      return denial ? { refusal: denial } : { addresses: [literal], isLiteral: true }
    }
    const denial = mayName(target.host, this.deps.policy())
    return denial ? { refusal: denial } : this.resolveName(target, way, owner)
  }

  private async resolveName(target: ConnectTarget, way: EgressPath, owner: string): Promise<Destinations> {
    const { resolve } = this.deps
    const versions = versionsOf(way)
    let refusal: RefusalCode = 'name_not_found'
    for (const version of versions) {
      const resolved = await resolve(target.host, version, owner)
      if ('addresses' in resolved) return this.judgeAll(resolved.addresses, target.port, way)
      refusal = resolved.refusal
    }
    if (refusal !== 'name_not_found' || versions.length > 1) return { refusal }
    // The name may have addresses of the other family only.
    const others = await resolve(target.host, versions[0] === 4 ? 6 : 4, owner)
    return { refusal: 'addresses' in others ? 'no_such_family' : refusal }
  }

  private judgeAll(found: readonly Address[], port: number, way: EgressPath): Destinations {
    const denials = found.map((address) => this.judge(address, port, way))
    const addresses = found.filter((_, index) => denials[index] === undefined)
    return addresses.length > 0 ? { addresses } : { refusal: denials[0] ?? 'name_not_found' }
  }

  /** Checks the operator's policy, then the kernel's routes. */
  private judge(address: Address, port: number, way: EgressPath): Denial | undefined {
    const policy = this.deps.policy()
    // The shop may be one of our own machines.
    if (way.kind === 'address' && way.isInGrace)
      return isReachedInGrace(address, policy) ? undefined : 'destination_not_public'
    const denial = mayReach(address, port, policy)
    if (denial || policy.allowLocalDelivery || (policy.allowLoopback && classify(address) === 'loopback')) return denial
    const { isDeliveredHere, transport } = this.deps
    return isDeliveredHere?.(address, port, ownAddressOf(way), transport) ? 'destination_is_ours' : undefined
  }
}

const onlyFour: readonly (4 | 6)[] = [4]
const onlySix: readonly (4 | 6)[] = [6]
const both: readonly (4 | 6)[] = [4, 6]

/** The local address that a tunnel leaves from, if any. */
export function ownAddressOf(way: EgressPath): Address | undefined {
  const own = way.kind === 'address' ? way.address : way.exit.kind === 'local' ? way.exit.host : undefined
  return own === undefined ? undefined : readAddressCached(own)
}

/** An address reaches its own family; an upstream may reach both, IPv4 first. */
function versionsOf(way: EgressPath): readonly (4 | 6)[] {
  const address = ownAddressOf(way)
  return address ? (address.version === 4 ? onlyFour : onlySix) : both
}
