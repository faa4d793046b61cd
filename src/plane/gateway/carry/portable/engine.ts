import type { Socket, TCPSocketListener } from 'bun'
import type { Found } from '../../../../wire/node/state.ts'
import { createMetering } from '../../count/metering.ts'
import { createAdmission } from '../../decide/admission.ts'
import type { Moment } from '../../decide/admit.ts'
import { createArrivals } from '../../decide/arrivals.ts'
import { createTunnelLimits } from '../../decide/limits.ts'
import { createRecheck } from '../../decide/recheck.ts'
import type { RefusalCode } from '../../decide/refusals.ts'
import { createExitChooser } from '../../decide/sessions.ts'
import { createWayChooser } from '../../decide/way.ts'
import { createDial } from '../../reach/dial.ts'
import { createResolve } from '../../reach/resolve.ts'
import { Connection } from '../connection.ts'
import type { Engine, EngineDeps } from '../engine.ts'
import { createPassages, type Passage } from '../passage.ts'
import { Side } from '../side.ts'
import type { Sockets } from '../sockets.ts'
import { dialler } from './dialler.ts'

const tickMs = 250
const drainStepMs = 20

/** The engine on Bun's sockets, for any system that Bun runs on. */
export function createEngine(deps: EngineDeps & { readonly sockets: Sockets }): Engine {
  const { snapshot, limits, clock, sockets } = deps
  const connections = new Set<Connection>()
  const listeners = new Map<number, TCPSocketListener<Side>>()
  let mainPort = 0
  let isStopping = false
  let isShutOut = false
  let nowMs = clock()

  const moment = (): Moment => ({ nowMs: clock(), lastContactAt: deps.lastContactAt() })
  const arrivals = createArrivals({ policy: deps.policy, connections: limits.connections })
  const open = createRecheck<Passage>({ snapshot, moment, idleMs: limits.idleMs })
  const metering = createMetering<Side>({ agent: deps.agent, watch: (side) => sockets.watch(side.descriptor), clock })
  const resolve = createResolve({
    clock,
    namesPerSecond: limits.customer.namesPerSecond,
    ...(deps.lookup && { lookup: deps.lookup }),
  })
  const admission = createAdmission({
    ...deps,
    learn,
    moment,
    mainPort: () => mainPort,
    noteSource: metering.noteSource,
  })
  const passages = createPassages({
    snapshot,
    moment,
    limits: createTunnelLimits(limits.customer, clock),
    chooseWay: createWayChooser({
      ask: deps.ask,
      learn,
      moment,
      chooser: createExitChooser(deps),
      allowanceOf: metering.allowanceOf,
    }),
    dial: createDial({ policy: deps.policy, resolve, connectMs: limits.connectMs, dialler }),
    metering,
    sockets,
    open,
    closedFor,
  })

  function closedFor(): RefusalCode | undefined {
    if (isStopping || isShutOut) return 'gateway_stopping'
    return arrivals.isFull ? 'gateway_full' : undefined
  }

  function learn(found: Found): void {
    snapshot.learn(found)
    if (found.subuser) expectMore([found.subuser.id])
    open.afterAnswer(found)
  }

  /** Somebody who had used up all traffic may have bought more. */
  function expectMore(ids: readonly string[]): void {
    for (const id of ids) {
      for (const { pool, left } of snapshot.findSubuser(id)?.pools ?? []) if (left > 0) metering.expectMore(id, pool)
    }
  }

  function tick(): void {
    nowMs = clock()
    for (const connection of connections) if (nowMs >= connection.deadlineAt) connection.expire()
    open.afterTime(nowMs)
    metering.sweep()
  }

  function forget(connection: Connection): void {
    if (connections.delete(connection)) arrivals.leave(connection.source)
  }

  const listening = {
    ...Side.handlers,
    open(socket: Socket<Side>) {
      arrivals.opened()
      const connection = new Connection({
        admission,
        passages,
        clock: () => nowMs,
        patience: limits,
        source: socket.remoteAddress,
        onClosed: forget,
        onFault: deps.onFault,
      })
      socket.data = connection.side
      connection.side.attach(socket)
      if (arrivals.enter(connection.source)) connections.add(connection)
      else connection.side.abort()
    },
    close(socket: Socket<Side>) {
      arrivals.closed()
      void Side.handlers.close?.(socket)
    },
  }

  function listen(hostname: string, port: number): TCPSocketListener<Side> {
    const listener = Bun.listen<Side>({ hostname, port, allowHalfOpen: true, exclusive: true, socket: listening })
    listeners.set(listener.port, listener)
    return listener
  }

  let hostname = ''
  let ticker: ReturnType<typeof setInterval> | undefined

  /** Opens the ports that stand for somebody, and closes those that no longer do. */
  function listenOnPorts(note: (port: number, error: unknown) => void): void {
    const wanted = new Set(snapshot.ports())
    for (const port of wanted) {
      if (listeners.has(port)) continue
      try {
        listen(hostname, port)
      } catch (error) {
        note(port, error)
      }
    }
    for (const [port, listener] of listeners) {
      if (port === mainPort || wanted.has(port)) continue
      listeners.delete(port)
      listener.stop(false)
    }
  }

  return {
    carrier: {
      takeChanged: () => metering.takeChanged(),
      takeSources: () => metering.takeSources(),
      noteAsked: (id, pool) => metering.noteAsked(id, pool),
      allow: (id, pool, upto) => metering.allow(id, pool, upto),
      get health() {
        return { tunnels: open.size, carried: metering.carried }
      },
    },
    learn,

    start(at) {
      hostname = at.hostname
      mainPort = listen(at.hostname, at.port).port
      ticker = setInterval(tick, tickMs)
      return mainPort
    },

    changed(change, onPortFailure) {
      expectMore(change.subusers)
      open.afterChange(change)
      if (change.ports && mainPort !== 0 && !isStopping) listenOnPorts(onPortFailure)
    },

    shutOut(yes) {
      isShutOut = yes
      if (yes) open.cutAll()
    },

    async stop(drainMs) {
      isStopping = true
      for (const listener of listeners.values()) listener.stop(false)
      for (const connection of connections) if (connection.isResting) connection.side.release()
      const giveUpAt = performance.now() + drainMs
      while (open.size > 0 && performance.now() < giveUpAt) await Bun.sleep(drainStepMs)
      open.cutAll()
      for (const connection of connections) connection.side.abort()
      clearInterval(ticker)
      metering.sweep()
    },

    get standing() {
      return {
        open: arrivals.open,
        connections: connections.size,
        passages: open.size,
        listeners: listeners.size,
      }
    },
  }
}
