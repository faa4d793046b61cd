import { type Address, formatAddress, readAddress, unmap } from '../../../core/address.ts'
import { classify } from '../../../core/reserved.ts'
import type { NodeExit, NodeGateway } from '../../../node-protocol/state.ts'
import type { Policy } from '../access/policy.ts'
import type { RefusalCode } from '../access/refusals.ts'
import { triedLogin } from '../access/supplier-login.ts'
import type { Target } from '../protocol/authority.ts'
import type { Dialler, ExitRefusal } from './dial.ts'
import type { Resolve } from './resolve.ts'
import { hopTo, talkTo, triedTarget, tryHop, tryOut, type UpstreamTalk } from './upstream.ts'

/** A proxy that has not even taken a connection by then is as good as gone. */
const connectMs = 3000
const tryMs = 5000
/** Whose questions they are, where names are counted. */
const asker = 'exits'
/** RFC 6335: tcpmux, where nobody answers; who does is not spoken to. */
const unusedPort = 1

/** The other gateways of the fleet, and what is shown to them. */
export type Hops = {
  readonly self: string
  readonly findGateway: (id: string) => NodeGateway | undefined
  readonly writeTicket: (to: string, exit: string, target: Target) => string
}

/**
 * Reaches proxies elsewhere, and other gateways for exits of theirs; both may be named. Tries whether exits can be left
 * through.
 */
export function createUpstreams<Origin>(deps: {
  resolve: Resolve
  dialler: Dialler<Origin>
  hops: Hops
  policy: () => Policy
}) {
  const { dialler, hops } = deps

  /**
   * The owner of a supplier's name says where it leads, and not the operator: it may not lead to this machine or into
   * its network. An operator who means such a place gives its address.
   */
  function mayBeSupplier(address: Address, port: number): boolean {
    const { allowLoopback, allowLocalDelivery } = deps.policy()
    const place = classify(unmap(address))
    if (place === 'loopback' && allowLoopback) return true
    return place === 'public' && (allowLocalDelivery || !dialler.isDeliveredHere?.(address, port, undefined))
  }

  async function findAddress({ host, port, isSupplier }: Spot): Promise<Address | string> {
    const literal = readAddress(host)
    if (literal) return literal
    let problem = 'its name is not known'
    for (const version of [4, 6] as const) {
      const resolved = await deps.resolve(host, version, asker)
      if (!('addresses' in resolved)) continue
      const address = resolved.addresses.find((each) => !isSupplier || mayBeSupplier(each, port))
      if (address) return address
      problem = 'its name leads to no public address'
    }
    return problem
  }

  async function connect(at: Spot, mostMs: number): Promise<{ readonly origin: Origin } | ExitRefusal> {
    const address = await findAddress(at)
    if (typeof address === 'string') return { refusal: 'exit_failed', problem: address }
    const there = { host: formatAddress(address), port: at.port }
    const connected = await dialler.connect(there, undefined, Math.min(mostMs, connectMs))
    if ('origin' in connected) return connected
    // Without descriptors it is we who cannot.
    if (connected.refusal === 'gateway_full') return connected
    return { refusal: 'exit_failed', problem: connectProblem(connected.refusal) }
  }

  async function converse(
    at: Spot,
    talk: UpstreamTalk,
    mostMs: number,
  ): Promise<{ readonly origin: Origin; readonly early: Uint8Array } | ExitRefusal> {
    const startedAt = performance.now()
    const connected = await connect(at, mostMs)
    if ('refusal' in connected) return connected
    const leftMs = mostMs - (performance.now() - startedAt)
    const conversed = await dialler.converse(connected.origin, talk, leftMs)
    return 'refusal' in conversed ? conversed : { origin: connected.origin, early: conversed.early }
  }

  const isOurs = (exit: NodeExit): boolean => exit.node === null || exit.node === hops.self

  /** An address is there if one can leave from it, be it only to itself. */
  async function tryAddress(host: string, drop: (origin: Origin) => void): Promise<string | undefined> {
    const connected = await dialler.connect({ host, port: unusedPort }, host, tryMs)
    if ('origin' in connected) drop(connected.origin)
    return 'refusal' in connected && connected.refusal === 'address_unavailable'
      ? 'this machine does not have the address'
      : undefined
  }

  /** Who is asked for an exit that is not an address of this machine, and how; without a target, to try it. */
  function wayTo(exit: NodeExit, target: Target | undefined): { at: Spot; talk: UpstreamTalk } | undefined {
    if (isOurs(exit)) {
      const talk = target ? talkTo(exit, target) : tryOut(triedLogin(exit))
      return { at: { host: exit.host, port: exit.port ?? 0, isSupplier: true }, talk }
    }
    const gateway = hops.findGateway(exit.node ?? '')
    if (!gateway) return undefined
    const ticket = hops.writeTicket(gateway.id, exit.id, target ?? triedTarget)
    return { at: gateway, talk: target ? hopTo(ticket, target) : tryHop(ticket) }
  }

  return {
    isLocal: (exit: NodeExit): boolean => exit.kind === 'local' && isOurs(exit),

    /** Goes to a destination through a proxy or over a hop. */
    async goVia(exit: NodeExit, there: Target, mostMs: number) {
      const way = wayTo(exit, there)
      return way ? converse(way.at, way.talk, mostMs) : noGateway
    },

    /** Why an exit cannot be left through, if so. No byte goes to anybody's destination. */
    async tryExit(exit: NodeExit, drop: (origin: Origin) => void): Promise<string | undefined> {
      if (exit.kind === 'local' && isOurs(exit)) return tryAddress(exit.host, drop)
      const way = wayTo(exit, undefined)
      const outcome = way ? await converse(way.at, way.talk, tryMs) : noGateway
      if ('origin' in outcome) drop(outcome.origin)
      else if (outcome.refusal !== 'gateway_full') return outcome.problem ?? 'it does not answer'
      return undefined
    },
  }
}

type Spot = { readonly host: string; readonly port: number; readonly isSupplier?: true }

const noGateway: ExitRefusal = { refusal: 'exit_failed', problem: 'its gateway is not there' }

const connectProblem = (refusal: RefusalCode): string =>
  refusal === 'connect_refused'
    ? 'it refuses connections'
    : refusal === 'connect_timeout'
      ? 'it does not answer'
      : 'it cannot be reached'
