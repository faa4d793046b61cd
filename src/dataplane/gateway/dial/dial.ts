import { type Address, formatAddress, readAddressCached } from '../../../core/address.ts'
import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import { classify } from '../../../core/reserved.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { EgressPath } from '../access/exit-choice.ts'
import type { ExitHealth } from '../access/exit-health.ts'
import { type Denial, mayName, mayReach, type Policy } from '../access/policy.ts'
import type { RefusalCode } from '../access/refusals.ts'
import type { ConnectTarget } from '../protocol/authority.ts'
import type { Resolve } from './resolve.ts'
import type { Dialler, ExitRefusal, Upstreams } from './upstream.ts'

export type Dialled<Origin> =
  | {
      readonly origin: Origin
      /** Bytes that the origin or upstream sent already. */
      readonly early?: Uint8Array
      /** The actual local address, if it differs (sandbox only). */
      readonly leftFrom?: string
    }
  | ExitRefusal

const maxTries = 3

/** Connects to a destination. Each address is judged by its bytes, and exactly the judged literal is dialled. */
export class DestinationDialler<Origin> {
  constructor(
    private readonly deps: {
      policy: () => Policy
      resolve: Resolve
      connectMs: number
      dialler: Dialler<Origin>
      upstreams: Pick<Upstreams<Origin>, 'isLocal' | 'goVia'>
      health: Pick<ExitHealth, 'worked' | 'failed' | 'doubted'>
    },
  ) {}

  dial(target: ConnectTarget, way: EgressPath, owner: string): MaybePromise<Dialled<Origin>> {
    return whenReady(this.findDestinations(target, way, owner), (found) => {
      if ('refusal' in found) return found
      return found.isLiteral
        ? this.go(target, way, this.deps.connectMs)
        : this.tryEach(found.addresses, target.port, way)
    })
  }

  private leave(there: ConnectTarget, from: string, maxMs: number): Promise<Dialled<Origin>> {
    const connected = this.deps.dialler.connect(there, from, maxMs)
    if (!from.includes(':') || !this.deps.policy().allowLoopback) return connected
    return connected.then((outcome) => {
      const isMissing = 'refusal' in outcome && outcome.refusal === 'address_unavailable'
      return isMissing ? this.leaveFromOwn(there, maxMs) : outcome
    })
  }

  /** A sandbox sells addresses that the machine lacks: it uses its own and reports that. */
  private async leaveFromOwn(there: ConnectTarget, maxMs: number): Promise<Dialled<Origin>> {
    const own = await this.deps.dialler.connect(there, '::1', maxMs)
    return 'origin' in own ? { ...own, leftFrom: '::1' } : own
  }

  private goThrough(there: ConnectTarget, exit: NodeExit, maxMs: number): Promise<Dialled<Origin>> {
    const { upstreams, dialler } = this.deps
    if (!upstreams.isLocal(exit)) return upstreams.goVia(exit, there, maxMs).then((outcome) => this.note(exit, outcome))
    return dialler.connect(there, exit.host, maxMs).then((left) => {
      // The address may be gone, or its ports used up.
      const isGone = 'refusal' in left && left.refusal === 'address_unavailable'
      return this.note(exit, isGone ? { ...left, isDoubtful: true } : left)
    })
  }

  private note(exit: NodeExit, outcome: Dialled<Origin>): Dialled<Origin> {
    if ('origin' in outcome) this.deps.health.worked(exit.id)
    else if (outcome.problem !== undefined) this.deps.health.failed(exit.id, outcome.problem)
    else if (outcome.isDoubtful) this.deps.health.doubted(exit.id)
    return outcome
  }

  private go(there: ConnectTarget, way: EgressPath, maxMs: number): Promise<Dialled<Origin>> {
    return way.kind === 'address' ? this.leave(there, way.address, maxMs) : this.goThrough(there, way.exit, maxMs)
  }

  private async tryEach(addresses: readonly Address[], port: number, way: EgressPath): Promise<Dialled<Origin>> {
    const giveUpAt = performance.now() + this.deps.connectMs
    let failure: Dialled<Origin> = { refusal: 'unreachable' }
    for (const address of addresses.slice(0, maxTries)) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) break
      failure = await this.go({ host: formatAddress(address), port }, way, leftMs)
      if ('origin' in failure || failure.problem !== undefined) return failure
    }
    return failure
  }

  /** Finds the addresses of a target that the customer may reach; never an empty list. Synchronous for a literal. */
  private findDestinations(target: ConnectTarget, way: EgressPath, owner: string): MaybePromise<Destinations> {
    const literal = readAddressCached(target.host)
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
    const denial = mayReach(address, port, policy)
    if (denial || policy.allowLocalDelivery || (policy.allowLoopback && classify(address) === 'loopback')) return denial
    return this.deps.dialler.isDeliveredHere?.(address, port, ownAddressOf(way)) ? 'destination_is_ours' : undefined
  }
}

type Destinations =
  /** `isLiteral`: the target is itself an address. */
  { readonly addresses: readonly Address[]; readonly isLiteral?: true } | { readonly refusal: RefusalCode }

const onlyFour: readonly (4 | 6)[] = [4]
const onlySix: readonly (4 | 6)[] = [6]
const both: readonly (4 | 6)[] = [4, 6]

/** The local address that a tunnel leaves from, if any. */
function ownAddressOf(way: EgressPath): Address | undefined {
  const own = way.kind === 'address' ? way.address : way.exit.kind === 'local' ? way.exit.host : undefined
  return own === undefined ? undefined : readAddressCached(own)
}

/** An address reaches its own family; an upstream may reach both, IPv4 first. */
function versionsOf(way: EgressPath): readonly (4 | 6)[] {
  const address = ownAddressOf(way)
  return address ? (address.version === 4 ? onlyFour : onlySix) : both
}
