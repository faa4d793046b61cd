import { SwapRemoveSet } from '../../../core/swap-remove-set.ts'
import type { After } from '../../../core/time.ts'
import type { Carrier } from '../../agent/carrier.ts'
import { createSign, createVerify } from '../../agent/hop-key.ts'
import type { Changed } from '../../agent/snapshot.ts'
import { type Ask, createAdmission, type Moment } from '../access/admission.ts'
import { createArrivals } from '../access/arrivals.ts'
import { createExitChooser, createWayChooser } from '../access/exit-choice.ts'
import { createExitHealth } from '../access/exit-health.ts'
import { createHopAdmission, createTicketWriter } from '../access/hop.ts'
import { createTunnelLimits } from '../access/limits.ts'
import { createRecheck } from '../access/recheck.ts'
import type { RefusalCode } from '../access/refusals.ts'
import { createDial } from '../dial/dial.ts'
import { createResolve } from '../dial/resolve.ts'
import { createUpstreams, type Dialler } from '../dial/upstream.ts'
import { createMetering } from '../metering/metering.ts'
import { Connection } from './connection.ts'
import type { EngineDeps } from './engine.ts'
import type { Side } from './side.ts'
import type { Sockets } from './sockets.ts'
import { createTunnels, type ProxyTunnel, type StartRelay } from './tunnel.ts'

export const tickMs = 250

/** What an engine provides: sockets, dialling, relaying and timers. */
export type EngineSockets = {
  readonly sockets: Sockets
  readonly dialler: Dialler<Side>
  readonly startRelay: StartRelay
  readonly after: After
}

/** A gateway without its sockets: admission, dialling, metering and cutting off, the same for both engines. */
export function createCore(deps: EngineDeps & EngineSockets) {
  const { snapshot, limits, clock, sockets, after } = deps
  const connections = new SwapRemoveSet<'connectionIndex', Connection>('connectionIndex')
  let mainPort = 0
  let isStopping = false
  let isShutOut = false
  let isDraining = false
  let nowMs = clock()

  const moment = (): Moment => ({ nowMs: clock(), lastContactAt: deps.lastContactAt() })
  const arrivals = createArrivals<Connection>({
    policy: deps.policy,
    clock,
    connections: limits.connections,
    lingering: () => metering.settling + tunnels.abandoned,
  })
  const open = createRecheck<ProxyTunnel>({ snapshot, moment, idleMs: limits.idleMs })
  const metering = createMetering<Side>({
    agent: deps.agent,
    watch: (side) => side.watch(sockets),
    clock,
    after,
    ...(deps.speeds && { speeds: deps.speeds }),
  })
  const resolve = createResolve({
    clock,
    after,
    namesPerSecond: limits.customer.namesPerSecond,
    ...(deps.lookup && { lookup: deps.lookup }),
  })
  const health = createExitHealth({ clock, onChange: deps.onExit, retryMs: limits.exitRetryMs })
  const self = deps.hop.node
  const hops = {
    self,
    findGateway: (id: string) => snapshot.findGateway(id),
    writeTicket: createTicketWriter({ self, clock, nonce: makeNonce, sign: createSign(deps.hop.privateKey) }),
  }
  const upstreams = createUpstreams({ resolve, dialler: deps.dialler, hops, policy: deps.policy })
  const admission = createAdmission({
    ...deps,
    ask,
    moment,
    mainPort: () => mainPort,
    noteSource: metering.noteSource,
    now: () => performance.now(),
    refusalDelayMs: limits.refusalDelayMs,
  })
  const tunnels = createTunnels({
    snapshot,
    moment,
    limits: createTunnelLimits(limits.customer, clock),
    chooseWay: createWayChooser({
      ask,
      moment,
      chooser: createExitChooser({ ...deps, health, self }),
      findOwnExit,
      sha256: deps.sha256,
      random: deps.random,
      allowanceOf: metering.allowanceOf,
      after,
    }),
    dial: createDial({
      policy: deps.policy,
      resolve,
      connectMs: limits.connectMs,
      dialler: deps.dialler,
      upstreams,
      health,
    }),
    metering,
    sockets,
    open,
    closedFor,
  })
  const connectionDeps = {
    admission,
    admitHop: createHopAdmission({ ...hops, clock, verify: createVerify() }),
    tunnels,
    startRelay: deps.startRelay,
    clock: () => nowMs,
    timeouts: limits,
    isDraining: () => isDraining,
    onClosed: forget,
    onFault: deps.onFault,
  }

  function findOwnExit(id: string) {
    const exit = snapshot.findExit(id)
    return exit?.node === self && health.isUp(id) ? exit : undefined
  }

  function closedFor(): RefusalCode | undefined {
    if (isStopping) return 'gateway_stopping'
    if (isShutOut) return 'gateway_closed'
    return arrivals.isFull && !arrivals.makeRoom() && !metering.letGo() ? 'gateway_full' : undefined
  }

  /** Cuts tunnels that may no longer pass after an answer of the shop. */
  async function ask(...[question, source]: Parameters<Ask>): ReturnType<Ask> {
    const asked = await deps.ask(question, source)
    if (asked === 'unasked') return asked
    const known = snapshot.knownOf(question)
    if (known.subuser) expectMore([known.subuser.id])
    open.afterAnswer(known)
    return asked
  }

  /** The customer may have bought traffic. */
  function expectMore(ids: readonly string[]): void {
    for (const id of ids) {
      for (const { pool, left } of snapshot.findSubuser(id)?.pools ?? []) if (left > 0) metering.expectMore(id, pool)
    }
  }

  function tryExits(): void {
    if (isStopping || isShutOut) return
    for (const exit of health.takeDue()) {
      upstreams.tryExit(exit, drop).then(
        (problem) => health.tried(exit, problem),
        (fault: unknown) => {
          health.tried(exit, undefined)
          deps.onFault(fault)
        },
      )
    }
  }

  function forget(connection: Connection): void {
    if (connections.delete(connection)) arrivals.leave(connection)
  }

  const carrier: Required<Carrier> = {
    takeChanged: () => metering.takeChanged(),
    takeSources: () => metering.takeSources(),
    noteAsked: metering.noteAsked,
    paceOf: metering.paceOf,
    allow: (...given) => metering.allow(...given),
    get health() {
      return { tunnels: open.size + tunnels.dialling, carried: metering.carried, relayed: metering.relayed }
    },
  }

  return {
    carrier,

    /** The port without a customer; every other port belongs to one. */
    setMainPort: (port: number): void => void (mainPort = port),

    /** A client connected; it is closed at once if there is no room. */
    accepted(side: Side, source: string): void {
      arrivals.opened()
      const connection = new Connection(side, source, connectionDeps)
      if (arrivals.enter(connection)) connections.add(connection)
      else side.abort()
    },

    departed: (): void => arrivals.closed(),

    tick(): void {
      nowMs = clock()
      connections.forEach((connection) => {
        if (nowMs >= connection.deadlineAt) connection.expire()
      })
      open.afterTime(nowMs)
      metering.sweep()
      tunnels.look()
      tryExits()
    },

    changed(change: Changed): void {
      expectMore(change.subusers)
      if (change.exits) health.keep(snapshot.exits())
      open.afterChange(change)
    },

    shutOut(yes: boolean): void {
      isShutOut = yes
      if (yes) open.cutAll()
    },

    /** Connections close after their current response. */
    drain: (): void => void (isDraining = true),

    beginStop(): void {
      isStopping = true
      connections.forEach((connection) => {
        if (connection.isResting) connection.side.release()
      })
    },

    endStop(): void {
      open.cutAll()
      connections.forEach((connection) => connection.side.abort())
      metering.sweep()
    },

    get isStopping(): boolean {
      return isStopping
    },

    get status() {
      const { spared, turnedAway } = arrivals.pressure
      return {
        open: arrivals.open,
        connections: connections.size,
        tunnels: open.size,
        dialling: tunnels.dialling,
        settling: metering.settling,
        spared,
        turnedAway,
        starved: tunnels.starved,
      }
    },
  }
}

const makeNonce = (): string => crypto.getRandomValues(new Uint8Array(16)).toHex()
const drop = (side: Side): void => side.abort()
