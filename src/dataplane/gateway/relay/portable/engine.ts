import type { Socket, TCPSocketListener } from 'bun'
import type { TlsSocket } from '../../../tls/tls-socket.ts'
import { createCore, tickMs } from '../core.ts'
import { createHeldGauge, type Engine, type EngineDeps, noRoom } from '../engine.ts'
import { Relay } from '../relay.ts'
import { noteHandshake, toSideSocket } from '../secured-socket.ts'
import { patient, Side } from '../side.ts'
import type { Sockets } from '../sockets.ts'
import { createAccepter, type Listening } from './accepter.ts'
import { after, createDialler, handlers } from './dialler.ts'

const drainStepMs = 20

/** Bun's listeners have a descriptor but do not declare it. */
const listenWithBun = (listener: TCPSocketListener<Side>): Listening => ({
  port: listener.port,
  descriptor: (listener as { readonly fd?: number }).fd ?? -1,
  stop: () => listener.stop(false),
})

/** The engine on Bun's sockets, for any platform. */
export function createEngine(deps: EngineDeps & { readonly sockets: Sockets }): Engine {
  const { snapshot, clock } = deps
  const listeners = new Map<number, Listening>()
  const inherited = new Map<number, number>()
  let isDraining = false
  let mainPort = 0
  let hostname = ''
  let ticker: ReturnType<typeof setInterval> | undefined

  const held = createHeldGauge()
  const around = { after, noteHeld: held.note }
  const core = createCore({
    ...deps,
    dialler: createDialler(around, deps.sockets),
    after,
    startRelay: (client, tunnel, fromClient, fromOrigin) =>
      new Relay(client, tunnel, clock).start(fromClient, fromOrigin),
  })

  const listening = {
    ...handlers,
    open(socket: Socket<Side>) {
      const side = new Side(patient, around)
      socket.data = side
      side.attach(socket)
      core.accepted(side, socket.remoteAddress)
    },
    close(socket: Socket<Side>) {
      core.departed()
      socket.data.onSocketClose()
    },
  }

  /** A connection accepted on an inherited port. */
  function take(descriptor: number, source: string): void {
    const side = new Side(patient, around)
    const socket = {
      ...listening,
      open(opened: Socket<Side>) {
        side.attach(opened)
        core.accepted(side, source)
      },
    }
    void Bun.connect<Side>({ fd: descriptor, allowHalfOpen: true, data: side, socket } as never)
  }

  const accepter = createAccepter(take)

  function listen(port: number): number {
    const handed = inherited.get(port)
    inherited.delete(port)
    const listener =
      handed === undefined
        ? listenWithBun(Bun.listen<Side>({ hostname, port, allowHalfOpen: true, exclusive: true, socket: listening }))
        : accepter.open(handed, port)
    listeners.set(listener.port, listener)
    return listener.port
  }

  /** Opens and closes customer ports. */
  function listenOnPorts(note: (port: number, error: unknown) => void): void {
    const wanted = new Set(snapshot.ports())
    for (const [port, listener] of listeners) {
      if (port === mainPort || wanted.has(port)) continue
      listeners.delete(port)
      listener.stop()
    }
    const missing = [...wanted].filter((port) => !listeners.has(port))
    const room = Math.max(0, deps.limits.ports - (listeners.size - 1))
    for (const port of missing.slice(0, room)) {
      try {
        listen(port)
      } catch (error) {
        note(port, error)
      }
    }
    if (missing.length > room) note(missing[room] ?? 0, noRoom(missing.length - room, deps.limits.ports))
    // Ports without a customer.
    for (const [port, descriptor] of inherited) accepter.open(descriptor, port).stop()
    inherited.clear()
  }

  function stopListening(): void {
    for (const listener of listeners.values()) listener.stop()
    accepter.end()
  }

  function takeTls(tls: TlsSocket): void {
    const side = new Side(patient, around)
    noteHandshake(tls, deps.sockets)
    tls.owner = {
      onSocketData: (bytes) => side.onSocketData(bytes),
      onSocketDrain: () => side.onSocketDrain(),
      onSocketEnd: () => side.onSocketEnd(),
      onSocketClose() {
        core.departed()
        side.onSocketClose()
      },
    }
    side.attach(toSideSocket(tls, mainPort, deps.sockets))
    core.accepted(side, tls.source)
  }

  return {
    takeTls,
    carrier: core.carrier,
    shutOut: (yes) => core.shutOut(yes),

    start(at) {
      hostname = at.hostname
      for (const [port, descriptor] of at.inherited ?? []) inherited.set(port, descriptor)
      mainPort = listen(at.port)
      core.setMainPort(mainPort)
      ticker = setInterval(() => core.tick(), tickMs)
      return mainPort
    },

    changed(change, onPortFailure) {
      core.changed(change)
      if (change.ports && mainPort !== 0 && !core.isStopping && !isDraining) listenOnPorts(onPortFailure)
    },

    listeners: () => [...listeners.values()].map(({ port, descriptor }) => ({ port, descriptor })),

    async drain() {
      isDraining = true
      core.drain()
      stopListening()
      listeners.clear()
    },

    async stop(drainMs) {
      core.beginStop()
      stopListening()
      const giveUpAt = performance.now() + drainMs
      while (core.status.tunnels > 0 && performance.now() < giveUpAt) await Bun.sleep(drainStepMs)
      core.endStop()
      clearInterval(ticker)
    },

    get status() {
      return { ...core.status, listeners: listeners.size, maxHeld: held.maxHeld }
    },
  }
}
