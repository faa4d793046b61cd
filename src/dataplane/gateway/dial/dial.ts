import { type Address, formatAddress } from '../../../core/address.ts'
import { recallAddress } from '../../../core/known-addresses.ts'
import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import { classify } from '../../../core/reserved.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { Way } from '../access/exit-choice.ts'
import type { ExitHealth } from '../access/exit-health.ts'
import { type Denial, mayName, mayReach, type Policy } from '../access/policy.ts'
import type { RefusalCode } from '../access/refusals.ts'
import type { Target } from '../protocol/authority.ts'
import type { Resolve } from './resolve.ts'
import type { createUpstreams, UpstreamTalk } from './upstream.ts'

/**
 * What a way of carrying offers to be dialled with. Nothing is read from an origin before somebody says what is done
 * with it.
 */
export type Dialler<Origin> = {
  /** Absent where the system cannot be asked. */
  readonly isDeliveredHere?: IsDeliveredHere | undefined
  /** One connection to a literal address, from an address of this machine if one is named. */
  connect(there: Target, from: string | undefined, mostMs: number): Promise<Connected<Origin>>
  /** Holds a proxy's handshake. Tells what the destination has said already; an origin that failed is closed. */
  converse(origin: Origin, talk: UpstreamTalk, mostMs: number): Promise<Conversed>
}

/** Whether the system delivers a TCP connection to an address and port, from another, to this machine itself. */
export type IsDeliveredHere = (there: Address, port: number, from: Address | undefined) => boolean

export type Connected<Origin> = { readonly origin: Origin } | { readonly refusal: RefusalCode }
export type Conversed = { readonly early: Uint8Array } | ExitRefusal
/**
 * Why an exit did not carry: with `problem` it is the exit's own fault; doubtful, it may be the exit's or the
 * destination's.
 */
export type ExitRefusal = { readonly refusal: RefusalCode; readonly problem?: string; readonly isDoubtful?: true }

export type Dialled<Origin> =
  | {
      readonly origin: Origin
      /** What the origin or the upstream said already. */
      readonly early?: Uint8Array
      /** Set when it leaves from another address than it should, which only a sandbox allows. */
      readonly leftFrom?: string
    }
  | ExitRefusal

export type Dial<Origin> = (target: Target, way: Way, owner: string) => MaybePromise<Dialled<Origin>>

const mostTries = 3

/**
 * Connects to a destination. The bytes of every address are judged, and exactly the literal that was judged is dialled:
 * no spelling and no second look-up lies between.
 */
export function createDial<Origin>(deps: {
  policy: () => Policy
  resolve: Resolve
  connectMs: number
  dialler: Dialler<Origin>
  upstreams: Pick<ReturnType<typeof createUpstreams<Origin>>, 'isLocal' | 'goVia'>
  health: Pick<ExitHealth, 'worked' | 'failed' | 'doubted'>
}): Dial<Origin> {
  const findDestinations = createDestinations({ ...deps, isDeliveredHere: deps.dialler.isDeliveredHere })
  const { dialler, health, upstreams } = deps

  /** Leaves from an address of this machine. */
  function leave(there: Target, from: string, mostMs: number): Promise<Dialled<Origin>> {
    const connected = dialler.connect(there, from, mostMs)
    if (!from.includes(':') || !deps.policy().allowLoopback) return connected
    return connected.then((outcome) => {
      const isMissing = 'refusal' in outcome && outcome.refusal === 'address_unavailable'
      return isMissing ? leaveFromOwn(there, mostMs) : outcome
    })
  }

  /** A sandbox sells addresses of a prefix that no laptop has: it leaves from its own and says so. */
  async function leaveFromOwn(there: Target, mostMs: number): Promise<Dialled<Origin>> {
    const own = await dialler.connect(there, '::1', mostMs)
    return 'origin' in own ? { ...own, leftFrom: '::1' } : own
  }

  function goThrough(there: Target, exit: NodeExit, mostMs: number): Promise<Dialled<Origin>> {
    if (upstreams.isLocal(exit)) return dialler.connect(there, exit.host, mostMs).then((left) => noteLeft(exit, left))
    return upstreams.goVia(exit, there, mostMs).then((outcome) => note(exit, outcome))
  }

  /** How an exit has done. */
  function note(exit: NodeExit, outcome: Dialled<Origin>): Dialled<Origin> {
    if ('origin' in outcome) health.worked(exit.id)
    else if (outcome.problem !== undefined) health.failed(exit.id, outcome.problem)
    else if (outcome.isDoubtful) health.doubted(exit.id)
    return outcome
  }

  function noteLeft(exit: NodeExit, left: Connected<Origin>): Dialled<Origin> {
    const isGone = 'refusal' in left && left.refusal === 'address_unavailable'
    // The address may be gone, or only its ports used up.
    return note(exit, isGone ? { ...left, isDoubtful: true } : left)
  }

  function go(there: Target, way: Way, mostMs: number): Promise<Dialled<Origin>> {
    return way.kind === 'address' ? leave(there, way.address, mostMs) : goThrough(there, way.exit, mostMs)
  }

  async function tryEach(addresses: readonly Address[], port: number, way: Way): Promise<Dialled<Origin>> {
    const giveUpAt = performance.now() + deps.connectMs
    let failure: Dialled<Origin> = { refusal: 'unreachable' }
    for (const address of addresses.slice(0, mostTries)) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) break
      failure = await go({ host: formatAddress(address), port }, way, leftMs)
      if ('origin' in failure || failure.problem !== undefined) return failure
    }
    return failure
  }

  return (target, way, owner) =>
    whenReady(findDestinations(target, way, owner), (found) => {
      if ('refusal' in found) return found
      return found.isLiteral ? go(target, way, deps.connectMs) : tryEach(found.addresses, target.port, way)
    })
}

type Destinations =
  /** `isLiteral`: the target is itself the one address, in its only spelling. */
  { readonly addresses: readonly Address[]; readonly isLiteral?: true } | { readonly refusal: RefusalCode }

/**
 * Finds the addresses that a customer's target means and that he may reach: the bytes of each are judged. Never an
 * empty list. At once for whoever names an address.
 */
function createDestinations(deps: {
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
