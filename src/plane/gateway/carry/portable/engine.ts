import type { Socket, TCPSocketListener } from 'bun'
import { readAddress } from '../../../../kernel/address.ts'
import type { Found } from '../../../../wire/node/state.ts'
import type { Agent, Carrier } from '../../../agent/carrier.ts'
import type { Changed, Snapshot } from '../../../agent/snapshot.ts'
import { createMetering } from '../../count/metering.ts'
import { type Moment, proxyKey, standing, subuserKey } from '../../decide/admit.ts'
import { type CustomerLimits, createTunnelLimits } from '../../decide/limits.ts'
import { classify, type Policy } from '../../decide/policy.ts'
import type { RefusalCode } from '../../decide/refusals.ts'
import { createExitChooser } from '../../decide/sessions.ts'
import { createDial } from '../../reach/dial.ts'
import { createResolve, type Lookup } from '../../reach/resolve.ts'
import type { Sockets } from '../sockets.ts'
import { Connection, type Patience } from './connection.ts'
import { type Ask, createDoor, type Passage } from './door.ts'
import { Side } from './side.ts'

export type EngineLimits = Patience & {
  readonly connectMs: number
  readonly idleMs: number
  readonly connections: number
  readonly customer: CustomerLimits
}

/** More than are carried are let in, to be told that the gateway is full; beyond that they are only closed. */
const mostToBeTold = 500
/** How many connections from one address may be at their handshake, or rest between requests, at once. */
const mostFromOneSource = 2000
const tickMs = 250
/** A connection on which one side has finished waits no longer than this for the other. */
const halfOpenMs = 60_000
const drainStepMs = 20

export type Engine = ReturnType<typeof createEngine>

/**
 * Carries customers' bytes with Bun's sockets, on any system that Bun runs on. It is a loop of its own: it is fed changes of the snapshot and
 * allowances, is asked for its counters, and asks for what it lacks.
 */
export function createEngine(deps: {
  snapshot: Snapshot
  agent: Agent
  ask: Ask
  policy: () => Policy
  limits: EngineLimits
  clock: () => number
  contactMs: () => number
  sha256: (text: string) => Uint8Array
  random: () => number
  sockets: Sockets
  onFault: (fault: unknown) => void
  lookup?: Lookup
}) {
  const { snapshot, limits, clock } = deps
  const connections = new Set<Connection>()
  const passages = new Set<Passage>()
  const strangers = new Map<string, number>()
  const listeners = new Map<number, TCPSocketListener<Side>>()
  let mainPort = 0
  let open = 0
  let isStopping = false
  let isShutOut = false
  let nowMs = clock()

  const moment = (): Moment => ({ nowMs: clock(), contactMs: deps.contactMs() })
  const metering = createMetering({ agent: deps.agent, sockets: deps.sockets, clock })
  const resolve = createResolve({
    clock,
    namesPerSecond: limits.customer.namesPerSecond,
    ...(deps.lookup && { lookup: deps.lookup }),
  })
  const door = createDoor({
    snapshot,
    ask: deps.ask,
    learn,
    moment,
    sha256: deps.sha256,
    limits: createTunnelLimits(limits.customer, clock),
    chooser: createExitChooser({ snapshot, random: deps.random }),
    dial: createDial({ policy: deps.policy, resolve, connectMs: limits.connectMs }),
    metering,
    sockets: deps.sockets,
    mainPort: () => mainPort,
    closedFor,
    passages,
  })

  function closedFor(): RefusalCode | undefined {
    if (isStopping || isShutOut) return 'gateway_stopping'
    return open > limits.connections ? 'gateway_full' : undefined
  }

  /** Looks again at whoever a change is about; whoever may no longer pass is cut off, and nobody else. */
  function recheck(keys: ReadonlySet<string>): void {
    const at = moment()
    for (const passage of passages) {
      if (keys.has(passage.access.key) && standing(passage.access, snapshot, at)) passage.cut()
    }
  }

  function learn(found: Found): void {
    snapshot.learn(found)
    const keys = new Set<string>()
    if (found.proxy) keys.add(proxyKey(found.proxy.username))
    if (found.subuser) keys.add(subuserKey(found.subuser.id))
    if (found.subuser) raiseHopes([found.subuser.id])
    if (keys.size > 0) recheck(keys)
  }

  /** Somebody who had used up all traffic may have bought more. */
  function raiseHopes(ids: readonly string[]): void {
    for (const id of ids) {
      for (const { pool, left } of snapshot.findSubuser(id)?.pools ?? []) if (left > 0) metering.hope(id, pool)
    }
  }

  function tick(): void {
    nowMs = clock()
    for (const connection of connections) if (nowMs >= connection.deadline) connection.expire()
    const at = moment()
    for (const passage of passages) {
      const patienceMs = passage.isHalfOpen ? Math.min(halfOpenMs, limits.idleMs) : limits.idleMs
      const isIdle = nowMs - passage.activeAt >= patienceMs
      if (isIdle || (passage.access.kind === 'dedicated' && standing(passage.access, snapshot, at))) passage.cut()
    }
    metering.sweep()
  }

  /** Takes a place for a stranger, or has none left for where it comes from. */
  function admitStranger(source: string): boolean {
    const already = strangers.get(source) ?? 0
    if (!mayCome(source, deps.policy()) || already >= mostFromOneSource || open > limits.connections + mostToBeTold) {
      return false
    }
    strangers.set(source, already + 1)
    return true
  }

  function dropStranger(connection: Connection): void {
    if (!connections.delete(connection)) return
    const left = (strangers.get(connection.source) ?? 1) - 1
    if (left === 0) strangers.delete(connection.source)
    else strangers.set(connection.source, left)
  }

  const listening = {
    ...Side.handlers,
    open(socket: Socket<Side>) {
      open += 1
      const source = socket.remoteAddress
      const connection = new Connection({
        door,
        clock: () => nowMs,
        patience: limits,
        source,
        onClosed: dropStranger,
        onFault: deps.onFault,
      })
      socket.data = connection.side
      connection.side.attach(socket)
      if (admitStranger(source)) connections.add(connection)
      else connection.side.abort()
    },
    close(socket: Socket<Side>) {
      open -= 1
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

  const carrier: Carrier = {
    takeChanged: () => metering.takeChanged(),
    takeSources: () => metering.takeSources(),
    noteAsked: (id, pool) => metering.noteAsked(id, pool),
    allow: (id, pool, upto) => metering.allow(id, pool, upto),
    get health() {
      return { tunnels: passages.size, carried: metering.carried }
    },
  }

  return {
    carrier,
    learn,

    /** Begins to serve. Returns the port, for whoever asked for any. */
    start(at: { hostname: string; port: number }): number {
      hostname = at.hostname
      mainPort = listen(at.hostname, at.port).port
      ticker = setInterval(tick, tickMs)
      return mainPort
    },

    /** Something changed in the snapshot: open connections are looked at again, ports opened and closed. */
    changed(change: Changed, onPortFailure: (port: number, error: unknown) => void): void {
      raiseHopes(change.subusers)
      recheck(new Set([...change.proxies.map(proxyKey), ...change.subusers.map(subuserKey)]))
      if (change.ports && mainPort !== 0 && !isStopping) listenOnPorts(onPortFailure)
    },

    /** The shop does not know this node any more: everybody is cut off and nobody let in, until it does again. */
    shutOut(yes: boolean): void {
      isShutOut = yes
      if (yes) for (const passage of passages) passage.cut()
    },

    /** Takes nobody new, lets what is open end by itself for a while, then ends it. */
    async stop(drainMs: number): Promise<void> {
      isStopping = true
      for (const listener of listeners.values()) listener.stop(false)
      for (const connection of connections) if (connection.isResting) connection.side.release()
      const giveUpAt = performance.now() + drainMs
      while (passages.size > 0 && performance.now() < giveUpAt) await Bun.sleep(drainStepMs)
      for (const passage of passages) passage.cut()
      for (const connection of connections) connection.side.abort()
      clearInterval(ticker)
      metering.sweep()
    },

    get standing() {
      return { open, connections: connections.size, passages: passages.size, listeners: listeners.size }
    },
  }
}

/** A sandbox reaches loopback addresses, and so serves nobody but this machine. */
function mayCome(source: string, policy: Policy): boolean {
  if (!policy.allowLoopback) return true
  const address = readAddress(source)
  return address !== undefined && classify(address) === 'loopback'
}
