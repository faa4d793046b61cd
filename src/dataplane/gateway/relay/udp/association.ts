import type { Address } from '../../../../core/address.ts'
import { notInSet, type SetIndex } from '../../../../core/swap-remove-set.ts'
import type { Clock } from '../../../../core/time.ts'
import type { Access } from '../../access/admission.ts'
import type { UdpLimits } from '../../access/limits.ts'
import type { OpenTunnel } from '../../access/recheck.ts'
import type { DatagramMeter, DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { CapsuleMeter } from '../../metering/tunnel-meter.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import type { DatagramOwner, DatagramSocket } from './datagram-socket.ts'
import { type UdpDestination, UdpDestinations } from './destinations.ts'

/** The client of an association: by datagrams, or by capsules in its connection. */
export type UdpClient = {
  /** Passes a datagram to the client; the receipt learns whether the kernel has taken it. */
  deliver(source: Address, port: number, payload: Uint8Array, receipt: DatagramReceipt): void
  /** The association has ended. */
  onEnded(): void
}

type AssociationDeps = Pick<
  ConstructorParameters<typeof UdpDestinations>[0],
  'find' | 'mayReachAnother' | 'counts' | 'onFault'
> & {
  readonly clock: Clock
  readonly limits: UdpLimits
  /** Takes one datagram from the customer's packet limit. */
  readonly mayPass: () => boolean
  /** Whether a datagram of the client may be sent; without it, any may. */
  readonly maySend?: ((payload: Uint8Array) => boolean) | undefined
  /** Hosts are recorded for this customer. */
  readonly keepsHosts: boolean
  readonly onEnd: (association: UdpAssociation) => void
}

const noHeader = new Uint8Array(0)

/**
 * UDP for one client, from one address of this machine: takes (destination, payload) from a client and gives (source,
 * payload) back, but only of sources that the client has sent to.
 */
export class UdpAssociation implements OpenTunnel, DatagramOwner {
  readonly isHalfOpen = false
  readonly maxIdleMs: number
  openIndex: SetIndex = notInSet
  activeAt: number
  private client: UdpClient | undefined
  private readonly destinations: UdpDestinations
  private isOver = false
  private isDetached = false

  constructor(
    readonly access: Access,
    readonly meter: DatagramMeter,
    /** Datagrams leave from it. */
    private readonly socket: DatagramSocket,
    private readonly deps: AssociationDeps,
    /** Set if the datagrams to the client are in its connection. */
    public capsules?: CapsuleMeter,
  ) {
    this.maxIdleMs = deps.limits.idleMs
    this.activeAt = deps.clock()
    this.destinations = new UdpDestinations({
      ...deps,
      owner: access.owner,
      receiptsOf: (host) => {
        const recorded = deps.keepsHosts ? host : undefined
        return { sent: meter.sentTo(recorded), received: meter.receivedFrom(recorded) }
      },
      pass: (destination, payload) => this.pass(destination, payload),
    })
    socket.own(this)
  }

  start(client: UdpClient): void {
    this.client = client
    this.isDetached = false
    if (this.isOver) client.onEnded()
  }

  /** Until start() with another client, datagrams for it are dropped. This one still learns of the end. */
  detach(): void {
    this.isDetached = true
  }

  /** A datagram of the client. */
  send(target: ConnectTarget, payload: Uint8Array): void {
    const nowMs = this.deps.clock()
    if (this.deps.maySend?.(payload) === false) return
    if (!this.isOver && this.deps.mayPass()) this.destinations.send(target, payload, nowMs)
  }

  /** A datagram of a destination, or of anyone else. */
  onDatagram(payload: Uint8Array, from: Address, port: number): void {
    const nowMs = this.deps.clock()
    const destination = this.destinations.findPeer(from, port, nowMs)
    if (!destination || !this.client || this.isDetached || this.isOver || !this.deps.mayPass() || !this.pay(payload))
      return
    destination.usedAt = nowMs
    this.activeAt = nowMs
    this.client.deliver(from, port, payload, destination.received)
  }

  onFault(): void {
    this.end()
  }

  cut(): void {
    this.end()
  }

  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.destinations.close()
    this.socket.close()
    this.deps.onEnd(this)
    this.client?.onEnded()
  }

  private pass(destination: UdpDestination, payload: Uint8Array): void {
    if (!destination.address || !this.pay(payload)) return
    this.activeAt = this.deps.clock()
    this.socket.send(noHeader, payload, destination.address, destination.target.port, destination.sent)
  }

  /** False if the datagram must be dropped. The association ends when the allowance is used up. */
  private pay(payload: Uint8Array): boolean {
    const isPaid = this.meter.reserve(payload.length)
    if (!isPaid && this.meter.allowance.isUsedUp) this.end()
    return isPaid
  }
}
