import { SwapRemoveSet } from '../../../core/swap-remove-set.ts'
import type { After } from '../../../core/time.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { DataPath, NodeCounts, Reported } from '../../agent/data-path.ts'
import type { LeaseAgent } from '../../agent/meter.ts'
import { ByteAllowance, type Counted, type Subject } from './allowance.ts'
import { DatagramMeter } from './datagram-meter.ts'
import { createLosses, type Losses, maxLost } from './losses.ts'
import { type DrawTokens, graceBytesPerSecond, noLimit, SpeedLimit, type Speeds } from './speed-limit.ts'
import { CapsuleMeter, type CustomerEnd, Delivery, type DeliveryWatch, TunnelMeter } from './tunnel-meter.ts'

const noteEveryBytes = 1024 * 1024
const maxSources = 1000
/** An unused lease is returned after this long. */
const idleMs = 60_000

/** Accounts for all bytes. Without a `watch`, written bytes count as delivered. */
export class Metering<End extends CustomerEnd> implements Required<DataPath> {
  private readonly agent: LeaseAgent
  private readonly clock: () => number
  private readonly ofProxies = new Map<number, ByteAllowance>()
  private readonly ofSubusers = new Map<string, Map<string, ByteAllowance>>()
  private readonly ofDevices = new Map<string, Map<GatewayProtocol, ByteAllowance>>()
  private readonly inGrace = new Map<string, ByteAllowance>()
  private readonly ofGateways = new Map<string, ByteAllowance>()
  /** One per credential. */
  private readonly speedLimits = new Map<string, SpeedLimit>()
  private readonly changed = new Set<ByteAllowance>()
  /** Meters with undelivered bytes. */
  private readonly moving = new SwapRemoveSet<'movingIndex', TunnelMeter>('movingIndex')
  private readonly closing = new Set<Delivery>()
  private readonly sources = new Map<string, Reported<'sources'>>()
  private readonly exits = new Map<string, { readonly counted: Counted; reported: number }>()
  private readonly unusedAt = new Map<ByteAllowance, number>()
  private readonly losses
  private sinceNoted = 0
  totalBytes = 0
  hopBytes = 0

  constructor(
    private readonly deps: {
      agent: LeaseAgent
      watch: (end: End) => DeliveryWatch | undefined
      /** Open or dialling tunnels. */
      countTunnels: () => number
      clock: () => number
      after: After
      speeds?: (() => Speeds) | undefined
      /** Bytes per second of a VPN device in all processes, both directions together. */
      deviceSpeed?: ((id: string) => number) | undefined
      /** The shared bucket of a credential, if several threads meter its bytes. */
      drawOf?: ((credential: string) => DrawTokens) | undefined
      /** Shared by several threads. */
      losses?: Losses | undefined
      /** Threads that meter the same customers. */
      threads?: number | undefined
    },
  ) {
    this.agent = deps.agent
    this.clock = deps.clock
    this.losses = deps.losses ?? createLosses(deps.clock)
  }

  /** An arrow function, shared by all meters: a closure per meter would enlarge idle tunnels. */
  private readonly onTaken = (meter: TunnelMeter, bytes: number): void => {
    this.moving.add(meter)
    this.note(meter.allowance, bytes)
  }

  private readonly note = (allowance: ByteAllowance, bytes: number): void => {
    this.changed.add(allowance)
    this.totalBytes += bytes
    if (allowance.subject.kind === 'hop') this.hopBytes += bytes
    this.sinceNoted += bytes
    if (this.sinceNoted < noteEveryBytes) return
    this.sinceNoted = 0
    this.agent.noteNow()
  }

  /** An arrow function, because each Delivery receives it. */
  private readonly settle = (delivery: Delivery): void => {
    const isOver = delivery.settle(this.clock())
    for (const meter of delivery.meters) this.count(meter)
    if (!isOver) {
      this.closing.add(delivery)
      return
    }
    this.closing.delete(delivery)
    this.countLosses(delivery)
    for (const meter of delivery.meters) this.close(meter)
  }

  allowanceOf(subject: Subject): ByteAllowance {
    const known = this.findAllowance(subject)
    if (known) return known
    const ask = () => subject.kind === 'subuser' && this.agent.wantLease(subject.id, subject.pool)
    const allowance = new ByteAllowance(subject, ask, this.clock, this.speedLimitOf(subject))
    if (subject.kind === 'proxy') this.ofProxies.set(subject.id, allowance)
    else if (subject.kind === 'hop') this.ofGateways.set(subject.id, allowance)
    else if (subject.kind === 'device') {
      const protocols = this.ofDevices.get(subject.id) ?? new Map<GatewayProtocol, ByteAllowance>()
      this.ofDevices.set(subject.id, protocols.set(subject.protocol, allowance))
    } else if (subject.kind === 'grace') this.inGrace.set(subject.id, allowance)
    else {
      const pools = this.ofSubusers.get(subject.id) ?? new Map<string, ByteAllowance>()
      this.ofSubusers.set(subject.id, pools.set(subject.pool, allowance))
    }
    return allowance
  }

  expectMore(id: string, pool: string): void {
    this.findAllowance({ kind: 'subuser', id, pool })?.expectMore()
  }

  begin(allowance: ByteAllowance, end: End, owner: string, host: string | undefined, exit?: string): TunnelMeter {
    return this.beginWith(TunnelMeter, allowance, end, owner, host, exit)
  }

  /** For datagrams to the client that are sent in its connection. */
  beginCapsules(...of: Parameters<Metering<End>['begin']>): CapsuleMeter {
    return this.beginWith(CapsuleMeter, ...of)
  }

  private beginWith<Meter extends TunnelMeter>(
    Kind: new (...of: ConstructorParameters<typeof TunnelMeter>) => Meter,
    ...[allowance, end, owner, host, exit]: Parameters<Metering<End>['begin']>
  ): Meter {
    const delivery = this.deliveryTo(end, allowance)
    const through = exit === undefined ? undefined : this.ofExit(exit)
    const meter = new Kind(allowance, end, delivery, host, owner, this.onTaken, through)
    delivery.meters = [...delivery.meters, meter]
    this.use(allowance)
    return meter
  }

  beginDatagrams(allowance: ByteAllowance, exit?: string): DatagramMeter {
    this.use(allowance)
    return new DatagramMeter(allowance, this.note, exit === undefined ? undefined : this.ofExit(exit))
  }

  finishDatagrams(meter: DatagramMeter): void {
    if (meter.isOver) return
    meter.isOver = true
    this.stopUsing(meter.allowance)
  }

  /** The tunnel ended; unacknowledged bytes are still awaited. */
  finish(meter: TunnelMeter): void {
    if (meter.isOver) return
    meter.isOver = true
    this.moving.add(meter)
    this.stopUsing(meter.allowance)
  }

  noteSource(id: string, address: string): void {
    if (this.sources.size < maxSources) this.sources.set(`${id} ${address}`, { id, address })
  }

  /** Closed connections that wait for acknowledgements. */
  get settling(): number {
    return this.closing.size
  }

  /** Settles the oldest closed connection at once. False if there is none. */
  letGo(): boolean {
    for (const delivery of this.closing) {
      delivery.cut()
      this.settle(delivery)
      return true
    }
    return false
  }

  /** Settles closed connections and returns unused leases. */
  sweep(): void {
    for (const delivery of this.closing) this.settle(delivery)
    for (const [allowance, at] of this.unusedAt) {
      if (this.clock() - at < idleMs) continue
      this.unusedAt.delete(allowance)
      const { subject } = allowance
      // With several threads, the lease is returned once all have given back their part, if only an empty one.
      const isHeld = allowance.hasSome || (this.deps.threads ?? 1) > 1
      if (subject.kind !== 'subuser' || !isHeld) continue
      allowance.surrender(0)
      this.agent.giveBack(subject.id, subject.pool)
    }
  }

  /** Gives up unused bytes of the lease, for other threads: half of them while it has tunnels. */
  spare(id: string, pool: string): void {
    const allowance = this.allowanceOf({ kind: 'subuser', id, pool })
    allowance.surrender(allowance.users > 0 ? 0.5 : 0)
  }

  /** Where the lease ends, and its unused bytes. */
  leaseOf(id: string, pool: string): ByteAllowance['lease'] {
    return this.allowanceOf({ kind: 'subuser', id, pool }).lease
  }

  takeChanged(): NodeCounts {
    this.moving.forEach((meter) => {
      this.count(meter)
      if (meter.undelivered > 0) return
      this.moving.delete(meter)
      if (meter.isOver) this.close(meter)
    })
    this.sinceNoted = 0
    const proxies: Reported<'proxies'>[] = []
    const subusers: Reported<'subusers'>[] = []
    const hosts: Reported<'hosts'>[] = []
    const peers: Reported<'peers'>[] = []
    for (const allowance of this.changed) {
      const { subject, counted } = allowance
      if (subject.kind === 'proxy') proxies.push({ id: subject.id, ...counted })
      else if (subject.kind === 'device')
        peers.push({
          id: subject.id,
          protocol: subject.protocol,
          ...counted,
          handshake_at: Math.round(this.clock()),
        })
      else if (subject.kind === 'subuser') {
        const of = { id: subject.id, pool: subject.pool }
        subusers.push({ ...of, ...counted })
        for (const each of allowance.takeChangedHosts()) hosts.push({ ...of, ...each })
      }
    }
    this.changed.clear()
    return { proxies, subusers, hosts, peers, exits: this.takeChangedExits() }
  }

  takeSources(): Reported<'sources'>[] {
    const taken = [...this.sources.values()]
    this.sources.clear()
    return taken
  }

  noteRequest(id: string, pool: string): number {
    return this.findAllowance({ kind: 'subuser', id, pool })?.noteRequest() ?? 0
  }

  paceOf(id: string, pool: string): number {
    return this.findAllowance({ kind: 'subuser', id, pool })?.pace ?? 0
  }

  allow(id: string, pool: string, upto: number): void {
    this.allowanceOf({ kind: 'subuser', id, pool }).allow(upto)
  }

  get health() {
    return { tunnels: this.deps.countTunnels(), totalBytes: this.totalBytes, hopBytes: this.hopBytes }
  }

  private use(allowance: ByteAllowance): void {
    this.unusedAt.delete(allowance)
    allowance.users += 1
  }

  private stopUsing(allowance: ByteAllowance): void {
    allowance.users -= 1
    if (allowance.users === 0) this.unusedAt.set(allowance, this.clock())
  }

  private takeChangedExits(): Reported<'exits'>[] {
    const exits: Reported<'exits'>[] = []
    for (const [id, each] of this.exits) {
      const sum = each.counted.received + each.counted.sent
      if (sum === each.reported) continue
      each.reported = sum
      exits.push({ id, ...each.counted })
    }
    return exits
  }

  private ofExit(id: string): Counted {
    const known = this.exits.get(id)
    if (known) return known.counted
    const counted = { received: 0, sent: 0 }
    this.exits.set(id, { counted, reported: 0 })
    return counted
  }

  private findAllowance(subject: Subject): ByteAllowance | undefined {
    if (subject.kind === 'proxy') return this.ofProxies.get(subject.id)
    if (subject.kind === 'device') return this.ofDevices.get(subject.id)?.get(subject.protocol)
    if (subject.kind === 'grace') return this.inGrace.get(subject.id)
    return subject.kind === 'hop' ? this.ofGateways.get(subject.id) : this.ofSubusers.get(subject.id)?.get(subject.pool)
  }

  private speedLimitOf(subject: Subject): SpeedLimit {
    const credential = credentialOf(subject)
    const known = this.speedLimits.get(credential)
    if (known) return known
    const rate = (): number => {
      if (subject.kind === 'hop') return Number.POSITIVE_INFINITY
      const speeds = this.deps.speeds?.() ?? noLimit
      if (subject.kind === 'grace') return graceBytesPerSecond * speeds.share
      if (subject.kind !== 'device') return speeds[subject.kind]
      return (this.deps.deviceSpeed?.(subject.id) ?? Number.POSITIVE_INFINITY) * speeds.share
    }
    const limit = new SpeedLimit(rate, this.clock, this.deps.after, this.deps.drawOf?.(credential))
    this.speedLimits.set(credential, limit)
    return limit
  }

  /** Only bytes with a limit, leased ones and those of VPN devices, are tracked to the client's machine. */
  private deliveryTo(end: End, allowance: ByteAllowance): Delivery {
    const delivery = end.delivery ?? new Delivery(end, this.settle)
    end.delivery = delivery
    const { kind } = allowance.subject
    if (kind === 'subuser' || kind === 'device') delivery.follow(() => this.deps.watch(end))
    return delivery
  }

  /** Losses beyond the bounds are counted as delivered. */
  private countLosses(delivery: Delivery): void {
    let bearable: number = maxLost.ofConnection
    for (const meter of delivery.meters) {
      const { lost, owner, allowance } = meter
      if (lost === 0) continue
      const borne = this.losses.bear(owner, Math.min(lost, bearable))
      bearable -= borne
      if (lost > borne && meter.countLost(lost - borne) > 0) this.changed.add(allowance)
    }
  }

  private count(meter: TunnelMeter): void {
    if (meter.confirm() > 0) this.changed.add(meter.allowance)
  }

  private close(meter: TunnelMeter): void {
    this.moving.delete(meter)
    if (meter.isClosed) return
    meter.isClosed = true
    meter.delivery.meters = meter.delivery.meters.filter((each) => each !== meter)
    meter.allowance.putBack(meter.undelivered)
  }
}

/** All pools of a credential share one speed limit, and so do all protocols of a device. */
const credentialOf = ({ kind, id }: Subject): string => `${kind} ${id}`
