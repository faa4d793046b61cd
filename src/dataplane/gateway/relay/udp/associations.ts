import { addressFromNumber } from '../../../../core/address.ts'
import type { NodeExit } from '../../../../node-protocol/state.ts'
import type { Snapshot } from '../../../agent/snapshot.ts'
import { type Access, accessRefusal, type Moment } from '../../access/admission.ts'
import type { ChosenWay, createWayChooser, EgressPath } from '../../access/exit-choice.ts'
import type { ExitHealth } from '../../access/exit-health.ts'
import { isGraceQuestion } from '../../access/grace.ts'
import type { NameCounts, TunnelLimits, UdpLimits } from '../../access/limits.ts'
import type { Policy } from '../../access/policy.ts'
import type { OpenTunnels } from '../../access/recheck.ts'
import { type DestinationFinder, ownAddressOf } from '../../dial/destinations.ts'
import type { Metering } from '../../metering/metering.ts'
import type { Side } from '../../sides/side.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import { UdpAssociation } from './association.ts'
import type { DatagramSocket, OpenDatagrams } from './datagram-socket.ts'

/** A client whose datagrams are in its connection, and their destination if there is only one. */
type InConnection = { readonly target: ConnectTarget | undefined; readonly side: Side }

type Refused = { readonly refusal: RefusalCode }

/** A hop is no customer. */
const unlimitedOf = (udp: UdpLimits): UdpLimits => ({
  ...udp,
  destinations: { ...udp.destinations, customer: Number.POSITIVE_INFINITY },
})

const unsupported: Refused = { refusal: 'udp_unsupported' }
const maxExits = 3
const ownSix = addressFromNumber(6, 1n)

/** Opens associations for admitted clients. Each counts as a tunnel. */
export class UdpAssociations {
  constructor(
    private readonly deps: {
      snapshot: Snapshot
      moment: () => Moment
      clock: () => number
      limits: TunnelLimits
      /** Destinations of each customer. */
      counts: NameCounts
      /** A token for each datagram of a customer. */
      packets: { take(owner: string): boolean }
      udp: UdpLimits
      policy: () => Policy
      chooseWay: ReturnType<typeof createWayChooser>
      finder: DestinationFinder
      /** An address of this machine; other exits relay no UDP but that of VPN devices. */
      isLocal: (exit: NodeExit) => boolean
      /** A socket at the gateway of an exit. */
      openAtExit: (exit: NodeExit) => Promise<DatagramSocket | Refused>
      health: Pick<ExitHealth, 'doubted'>
      metering: Metering<Side>
      openDatagrams: OpenDatagrams
      open: OpenTunnels
      closedFor: () => RefusalCode | undefined
      onFault: (fault: unknown) => void
    },
  ) {}

  /** `isGone`: whether the client has disconnected meanwhile. `within`: a single destination is judged at once. */
  async open(access: Access, isGone: () => boolean, within?: InConnection): Promise<UdpAssociation | Refused> {
    const { deps } = this
    if (!deps.udp.isOn) return unsupported
    const denied = deps.closedFor() ?? this.enter(access)
    if (denied) return { refusal: denied }
    let opened: UdpAssociation | Refused = unsupported
    try {
      opened = await this.openCounted(access, isGone, within)
      return opened
    } finally {
      if ('refusal' in opened) this.leave(access)
    }
  }

  /** Hops have no limits here: the other gateway keeps its customers' limits. */
  private enter(access: Access): RefusalCode | undefined {
    if (access.kind === 'hop') return undefined
    return this.deps.limits.enter(access.owner, access.key, access.kind === 'premium' ? access.subuser.tunnels : null)
  }

  private leave(access: Access): void {
    if (access.kind !== 'hop') this.deps.limits.leave(access.owner, access.key)
  }

  private async openCounted(
    access: Access,
    isGone: () => boolean,
    within: InConnection | undefined,
  ): Promise<UdpAssociation | Refused> {
    const { chooseWay, isLocal, health, snapshot, moment, finder } = this.deps
    const failed: NodeExit[] = []
    for (;;) {
      const chosen = await chooseWay(access, failed, isLocal)
      if ('refusal' in chosen) return failed.length > 0 ? { refusal: 'address_unavailable' } : chosen
      const { way } = chosen
      if (access.kind === 'hop' && way.kind === 'exit') return unsupported
      const found = within?.target && (await finder.find(within.target, way, access.owner))
      if (found && 'refusal' in found) return found
      const socket = await this.bind(way)
      if (!('refusal' in socket)) {
        const refusal = isGone() ? 'gateway_stopping' : accessRefusal(access, snapshot, moment())
        if (!refusal) return this.begin(access, chosen, socket, within)
        socket.close()
        return { refusal }
      }
      if (socket.refusal !== 'address_unavailable' || way.kind !== 'exit') return socket
      health.doubted(way.exit.id)
      failed.push(way.exit)
      const isPinned = access.kind !== 'premium' || access.login.session !== null
      if (isPinned || failed.length === maxExits) return socket
    }
  }

  private async bind(way: EgressPath): Promise<DatagramSocket | Refused> {
    if (way.kind === 'exit' && !this.deps.isLocal(way.exit)) return this.deps.openAtExit(way.exit)
    const own = ownAddressOf(way)
    if (!own) return { refusal: 'address_unavailable' }
    const bound = await this.deps.openDatagrams(own, 0)
    const isMissing = 'refusal' in bound && bound.refusal === 'address_unavailable'
    // A sandbox sells addresses that the machine lacks: it uses its own.
    return isMissing && own.version === 6 && this.deps.policy().allowLoopback
      ? this.deps.openDatagrams(ownSix, 0)
      : bound
  }

  private begin(
    access: Access,
    { way, allowance }: ChosenWay,
    socket: DatagramSocket,
    within: InConnection | undefined,
  ): UdpAssociation {
    const { clock, udp, limits, packets, counts, finder, metering, open, onFault } = this.deps
    const exit = access.kind === 'premium' && way.kind === 'exit' ? way.exit.id : undefined
    const keepsHosts = access.kind === 'premium' && access.subuser.keep_hosts
    const host = keepsHosts ? within?.target?.host : undefined
    const capsules = within && metering.beginCapsules(allowance, within.side, access.owner, host, exit)
    const isHop = access.kind === 'hop'
    const associationDeps = {
      clock,
      limits: isHop ? unlimitedOf(udp) : udp,
      mayPass: () => isHop || packets.take(access.owner),
      maySend:
        access.kind === 'device' && access.isInGrace
          ? (payload: Uint8Array) => isGraceQuestion(payload, this.deps.policy().grace)
          : undefined,
      keepsHosts,
      find: (target: ConnectTarget) => finder.find(target, way, access.owner),
      // The only destination was counted with the association.
      mayReachAnother: () => isHop || within?.target !== undefined || limits.reachAnother(access.owner),
      counts,
      onEnd: (ended: UdpAssociation) => this.end(ended),
      onFault,
    }
    const meter = metering.beginDatagrams(allowance, exit)
    const association = new UdpAssociation(access, meter, socket, associationDeps, capsules)
    open.add(association)
    return association
  }

  /** The client continues on another connection. */
  rebind(association: UdpAssociation, side: Side): void {
    const { metering } = this.deps
    const { capsules, meter, access } = association
    if (capsules) metering.finish(capsules)
    association.capsules = metering.beginCapsules(meter.allowance, side, access.owner, undefined)
  }

  private end(association: UdpAssociation): void {
    const { open, metering } = this.deps
    if (!open.remove(association)) return
    metering.finishDatagrams(association.meter)
    if (association.capsules) metering.finish(association.capsules)
    this.leave(association.access)
  }
}
