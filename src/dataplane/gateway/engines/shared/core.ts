import { type MaybePromise, whenReady } from '../../../../core/maybe-promise.ts'
import { SwapRemoveSet } from '../../../../core/swap-remove-set.ts'
import type { After } from '../../../../core/time.ts'
import type { NodeDevice, NodeExit } from '../../../../node-protocol/state.ts'
import { createSign, createVerify } from '../../../agent/hop-key.ts'
import type { DevicePlace } from '../../../agent/places.ts'
import type { Changed } from '../../../agent/snapshot.ts'
import { Admission, type AdmissionVerdict, type Ask, type Moment } from '../../access/admission.ts'
import { Arrivals, type Eviction } from '../../access/arrivals.ts'
import { type CommonState, createOwnState } from '../../access/common-state.ts'
import { createWayChooser, ExitChooser } from '../../access/exit-choice.ts'
import { ExitHealth, type ExitReport } from '../../access/exit-health.ts'
import { createHopAdmission, createTicketWriter } from '../../access/hop.ts'
import { packetRateOf, rateOf } from '../../access/limits.ts'
import { Machines } from '../../access/machines.ts'
import { toUdpPolicy } from '../../access/policy.ts'
import { createRecheck, type OpenTunnels } from '../../access/recheck.ts'
import { DestinationFinder } from '../../dial/destinations.ts'
import { DestinationDialler } from '../../dial/dial.ts'
import { createResolve, type Resolve } from '../../dial/resolve.ts'
import { type Dialler, type Hops, Upstreams } from '../../dial/upstream.ts'
import { Metering } from '../../metering/metering.ts'
import { createOpenMux } from '../../relay/mux/session.ts'
import { ProxyTunnels, type StartRelay } from '../../relay/tunnel.ts'
import { UdpAssociations } from '../../relay/udp/associations.ts'
import { createOpenCapsules } from '../../relay/udp/capsule-client.ts'
import type { OpenDatagrams } from '../../relay/udp/datagram-socket.ts'
import { createOpenHopSocket } from '../../relay/udp/hop-socket.ts'
import { createOpenSocket } from '../../relay/udp/socket-client.ts'
import type { Side, SideAround } from '../../sides/side.ts'
import type { Sockets } from '../../sides/sockets.ts'
import { hopTargetOf } from '../../ways-in/hop-datagrams.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { Asker, ClientParser } from '../../ways-in/request.ts'
import { Connection, type ConnectionDeps } from './connection.ts'
import type { EngineDeps } from './engine.ts'

export const tickMs = 250

/** What an engine provides: sockets, dialling, relaying and timers. */
export type EngineSockets = {
  readonly sockets: Sockets
  readonly dialler: Dialler<Side>
  readonly startRelay: StartRelay
  readonly openDatagrams: OpenDatagrams
  readonly after: After
  readonly around: SideAround
  /** Shared with other reactors of the gateway; its own without them. */
  readonly common?: CommonState | undefined
  /** The number of open and lingering connections changed. */
  readonly onInUse?: (count: number) => void
}

const admittedMs = 60_000
const maxAdmitted = 10_000

const bytesPerMegabit = 125_000

const speedOfDevice = (device: NodeDevice | undefined): number =>
  device?.speed_mbit ? device.speed_mbit * bytesPerMegabit : Number.POSITIVE_INFINITY

/** A gateway without its sockets: admission, dialling, metering and cutting off, the same for both engines. */
export class GatewayCore {
  isStopping = false
  private readonly connections = new SwapRemoveSet<'connectionIndex', Connection>('connectionIndex')
  private readonly arrivals: Arrivals<Connection>
  private readonly machines: Machines
  private readonly open: OpenTunnels
  readonly metering: Metering<Side>
  private readonly exits: ExitHealth
  private readonly upstreams: Upstreams<Side>
  private readonly tunnels: ProxyTunnels
  private readonly associations: UdpAssociations
  private readonly shared: ReturnType<GatewayCore['createShared']>
  private readonly connectionDeps: ConnectionDeps
  private readonly common: CommonState
  /** The port without a customer; every other port belongs to one. */
  mainPort = 0
  private isRefused = false
  /** Connections close after their current response. */
  isDraining = false
  /** Time of the last tick: connections need no exact clock. */
  private tickAt: number
  /** When an address was last told to `onAdmitted`. */
  private readonly admittedAt = new Map<string, number>()

  constructor(private readonly deps: EngineDeps & EngineSockets) {
    const { snapshot, limits, clock, after, policy, sockets } = deps
    this.tickAt = clock()
    const common = deps.common ?? createOwnState(clock)
    this.common = common
    const { threads, drawOf, losses } = common
    this.arrivals = new Arrivals({
      policy,
      clock,
      connections: limits.connections,
      lingering: () => this.metering.settling + this.tunnels.abandoned,
      sizes: common.openCounts('network'),
      others: common.others,
    })
    this.machines = new Machines({ ...deps, node: deps.hop.node })
    this.open = createRecheck({
      snapshot,
      moment: this.moment,
      idleMs: limits.idleMs,
      noteMachine: (access, activeAt, nowMs) => this.machines.note(access, activeAt, nowMs),
    })
    this.metering = new Metering({
      agent: deps.agent,
      watch: (side) => side.watch(sockets),
      countTunnels: () => this.open.size + this.tunnels.dialling,
      clock,
      after,
      speeds: deps.speeds,
      deviceSpeed: (id) => speedOfDevice(snapshot.devices.get(id)),
      drawOf,
      losses,
      threads,
    })
    this.exits = new ExitHealth({ clock, onChange: deps.onExit, retryMs: limits.exitRetryMs, isLead: threads === 1 })
    const { node: self, privateKey } = deps.hop
    const nonce = () => crypto.getRandomValues(new Uint8Array(16)).toHex()
    const hops = {
      self,
      findGateway: (id: string) => snapshot.gateways.get(id),
      writeTicket: createTicketWriter({ self, clock, nonce, sign: createSign(privateKey) }),
    }
    const questions = common.openBuckets('names', rateOf(limits.customer.namesPerSecond))
    const resolve = createResolve({ clock, after, questions, ...(deps.lookup && { lookup: deps.lookup }) })
    this.upstreams = new Upstreams({ resolve, dialler: deps.dialler, hops, policy })
    const shared = this.createShared()
    this.shared = shared
    this.tunnels = this.createTunnels(resolve, shared)
    this.associations = this.createAssociations(resolve, shared)
    this.connectionDeps = this.createConnectionDeps(hops)
  }

  /** A client connected; it is closed at once if there is no room. */
  accepted(side: Side, source: string, parser?: ClientParser): void {
    this.arrivals.open += 1
    this.noteInUse()
    const connection = new Connection(side, source, this.connectionDeps, parser)
    if (!this.arrivals.enter(connection)) return side.abort()
    this.connections.add(connection)
    if (parser) connection.begin()
  }

  departed(): void {
    this.arrivals.open -= 1
    this.noteInUse()
  }

  private noteInUse(): void {
    this.deps.onInUse?.(this.arrivals.open + this.metering.settling + this.tunnels.abandoned)
  }

  tick(): void {
    const nowMs = this.deps.clock()
    this.tickAt = nowMs
    this.connections.forEach((connection) => {
      if (nowMs >= connection.deadlineAt) connection.expire()
    })
    this.open.afterTime(nowMs)
    this.machines.tick(nowMs)
    this.metering.sweep()
    this.tunnels.look()
    this.noteInUse()
    this.tryExits()
  }

  changed(change: Changed): void {
    this.expectMore(change.subusers)
    if (change.exits) this.exits.keep(this.deps.snapshot.exits)
    this.open.afterChange(change)
  }

  /** These machines may not use their VPN devices any more: their tunnels are cut at the next tick. */
  refuseMachines(places: readonly DevicePlace[]): void {
    this.machines.refuse(places)
  }

  /** This reactor checks the exits for all of the gateway. */
  lead(): void {
    this.exits.lead()
  }

  adoptExit(report: ExitReport): void {
    this.exits.adopt(report)
  }

  /** Evicts a waiting connection, or settles a closed one, for a connection at another reactor. */
  makeRoom(which: Eviction): void {
    if (!this.arrivals.makeOwnRoom(which) && which === 'any') this.metering.letGo()
  }

  /** When the oldest waiting connection came, about. */
  get oldestAt(): number {
    return this.arrivals.oldestAt
  }

  setRefused(yes: boolean): void {
    this.isRefused = yes
    if (yes) this.open.cutAll()
  }

  beginStop(): void {
    this.isStopping = true
    this.connections.forEach((connection) => {
      if (connection.isResting) connection.side.release()
    })
  }

  endStop(): void {
    this.open.cutAll()
    this.connections.forEach((connection) => connection.side.abort())
    this.metering.sweep()
  }

  get status() {
    const { spared, turnedAway } = this.arrivals.pressure
    return {
      open: this.arrivals.open,
      connections: this.connections.size,
      tunnels: this.open.size,
      dialling: this.tunnels.dialling,
      settling: this.metering.settling,
      spared,
      turnedAway,
      starved: this.tunnels.starved,
    }
  }

  /** What tunnels and associations have in common: limits, exits, allowances and cutting off. */
  private createShared() {
    const { deps, metering, exits: health, moment, open } = this
    return {
      snapshot: deps.snapshot,
      moment,
      limits: this.common.openTunnelLimits(deps.limits.customer),
      chooseWay: createWayChooser({
        ask: (question, source) => this.ask(question, source),
        moment,
        chooser: new ExitChooser({ ...deps, health, sessions: this.common.sessions, self: deps.hop.node }),
        findOwnExit: (id) => this.findOwnExit(id),
        snapshot: deps.snapshot,
        self: deps.hop.node,
        isForVpn: deps.hop.isForVpn === true,
        sha256: deps.sha256,
        random: deps.random,
        allowanceOf: (subject) => metering.allowanceOf(subject),
        after: deps.after,
      }),
      metering,
      open,
      closedFor: () => this.closedFor(),
    }
  }

  private createTunnels(resolve: Resolve, shared: ReturnType<GatewayCore['createShared']>): ProxyTunnels {
    const { policy, sockets, dialler, limits } = this.deps
    const { exits: health, upstreams } = this
    const { connectMs } = limits
    const dialling = new DestinationDialler({ policy, resolve, connectMs, dialler, upstreams, health })
    return new ProxyTunnels({
      ...shared,
      sockets,
      dial: (target, way, owner) => dialling.dial(target, way, owner),
    })
  }

  private createAssociations(resolve: Resolve, shared: ReturnType<GatewayCore['createShared']>): UdpAssociations {
    const { policy, dialler, limits, clock, openDatagrams, onFault } = this.deps
    return new UdpAssociations({
      ...shared,
      clock,
      policy,
      udp: limits.udp,
      counts: this.common.openCounts('destinations'),
      packets: this.common.openBuckets('packets', packetRateOf(limits.udp.packetsPerSecond)),
      finder: new DestinationFinder({
        policy: () => toUdpPolicy(policy()),
        resolve,
        isDeliveredHere: dialler.isDeliveredHere,
        transport: 'udp',
      }),
      isLocal: (exit) => this.upstreams.isLocal(exit),
      openAtExit: createOpenHopSocket(this.upstreams, limits.connectMs),
      health: this.exits,
      openDatagrams,
      onFault,
    })
  }

  private readonly noteAdmitted = (source: string): void => {
    if (!this.deps.onAdmitted || this.tickAt - (this.admittedAt.get(source) ?? Number.NEGATIVE_INFINITY) < admittedMs)
      return
    if (this.admittedAt.size >= maxAdmitted) this.admittedAt.clear()
    this.admittedAt.set(source, this.tickAt)
    this.deps.onAdmitted(source)
  }

  private createConnectionDeps(hops: Hops): ConnectionDeps {
    const { deps, metering } = this
    const admission = new Admission({
      ...deps,
      ask: (question, source) => this.ask(question, source),
      moment: this.moment,
      noteSource: (id, address) => metering.noteSource(id, address),
      now: () => performance.now(),
      refusalDelayMs: deps.limits.refusalDelayMs,
      wrongLogins: this.common.wrongLogins,
    })
    const admitHop = createHopAdmission({
      ...hops,
      clock: deps.clock,
      verify: createVerify(),
      claimNonce: this.common.claimNonce,
    })
    return {
      admit: (asker, request) => {
        const target = asker.claim.kind === 'ticket' && request ? hopTargetOf(request) : undefined
        return asker.claim.kind === 'ticket' && target
          ? admitHop(asker.claim.ticket, target)
          : whenReady(admission.admit(asker), (verdict) => this.enterMachine(verdict, asker))
      },
      mainPort: () => this.mainPort,
      tunnels: this.tunnels,
      startRelay: deps.startRelay,
      openSocket: createOpenSocket({
        associations: this.associations,
        openDatagrams: deps.openDatagrams,
        ports: deps.limits.udp.ports,
        random: deps.random,
        taken: this.common.openCounts('udp ports'),
      }),
      openCapsules: createOpenCapsules(this.associations),
      openMux: createOpenMux({
        ...this.shared,
        ...deps,
        tunnels: this.tunnels,
        associations: this.associations,
        limits: this.shared.limits,
      }),
      clock: () => this.tickAt,
      timeouts: deps.limits,
      isDraining: () => this.isDraining,
      onAdmitted: this.noteAdmitted,
      onClosed: (connection) => {
        if (this.connections.delete(connection)) this.arrivals.leave(connection)
      },
      onFault: deps.onFault,
    }
  }

  /** The device limit holds at connect: a machine of a VPN device needs a slot. */
  private enterMachine(verdict: AdmissionVerdict, { source, claim }: Asker): MaybePromise<AdmissionVerdict> {
    if (!('access' in verdict) || verdict.access.kind !== 'device') return verdict
    return whenReady(this.machines.enter(verdict.access, source, claim), (access) =>
      access ? { access } : { refusal: 'vpn_devices' },
    )
  }

  private readonly moment = (): Moment => ({ nowMs: this.deps.clock(), lastContactAt: this.deps.lastContactAt() })

  private findOwnExit(id: string): NodeExit | undefined {
    const exit = this.deps.snapshot.exits.get(id)
    return exit?.node === this.deps.hop.node && this.exits.isUp(id) ? exit : undefined
  }

  private closedFor(): RefusalCode | undefined {
    if (this.isStopping) return 'gateway_stopping'
    if (this.isRefused) return 'gateway_closed'
    const { arrivals } = this
    const hasRoom = !arrivals.isFull || arrivals.makeRoom() || this.metering.letGo()
    return hasRoom ? undefined : 'gateway_full'
  }

  /** Asks the shop, and cuts tunnels that may no longer pass after its answer. */
  private async ask(...[question, source]: Parameters<Ask>): ReturnType<Ask> {
    const outcome = await this.deps.ask(question, source)
    if (outcome === 'unanswered') return outcome
    const known = this.deps.snapshot.knownOf(question)
    if (known.subuser) this.expectMore([known.subuser.id])
    this.open.afterAnswer(known)
    return outcome
  }

  /** The customer may have bought traffic. */
  private expectMore(ids: readonly string[]): void {
    for (const id of ids) {
      for (const { pool, left } of this.deps.snapshot.subusers.get(id)?.pools ?? []) {
        if (left > 0) this.metering.expectMore(id, pool)
      }
    }
  }

  private tryExits(): void {
    if (this.isStopping || this.isRefused) return
    for (const exit of this.exits.takeDue()) {
      this.upstreams
        .tryExit(exit, (side) => side.abort())
        .then(
          (problem) => this.exits.tried(exit, problem),
          (fault: unknown) => {
            this.exits.tried(exit, undefined)
            this.deps.onFault(fault)
          },
        )
    }
  }
}
