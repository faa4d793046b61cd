import type { Socket, TCPSocketListener } from 'bun'
import type { DataPath } from '../../../agent/data-path.ts'
import type { DevicePlace } from '../../../agent/places.ts'
import type { Changed } from '../../../agent/snapshot.ts'
import { connectDescriptor, type WithDescriptor } from '../../../tls/tls-socket.ts'
import { Relay } from '../../relay/relay.ts'
import { ignoringOwner, Side } from '../../sides/side.ts'
import type { Sockets } from '../../sides/sockets.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import { createAccepter, type Listening } from '../shared/accepter.ts'
import { GatewayCore, tickMs } from '../shared/core.ts'
import { type Engine, type EngineDeps, noRoom } from '../shared/engine.ts'
import { takeTlsClient } from '../shared/take-tls-client.ts'
import { openDatagramsWithBun } from './datagrams.ts'
import { after, createDialler, handlers } from './dialler.ts'

const drainStepMs = 20

/** Bun's listeners have a descriptor but do not declare it. */
const listenWithBun = (listener: TCPSocketListener<Side> & WithDescriptor): Listening => ({
  port: listener.port,
  descriptor: listener.fd ?? -1,
  stop: () => listener.stop(false),
})

/** The engine on Bun's sockets, for any platform. */
export class PortableEngine implements Engine {
  private readonly openListeners = new Map<number, Listening>()
  private readonly inherited = new Map<number, number>()
  private maxHeld = 0
  private readonly around = { after, noteHeld: (bytes: number) => void (this.maxHeld = Math.max(this.maxHeld, bytes)) }
  private readonly accepter = createAccepter((descriptor, source) => this.adopt(descriptor, source))
  private readonly core: GatewayCore
  private readonly socketHandlers = {
    ...handlers,
    open: (socket: Socket<Side>): void => {
      const side = new Side(ignoringOwner, this.around)
      socket.data = side
      side.attach(socket)
      this.core.accepted(side, socket.remoteAddress)
    },
    close: (socket: Socket<Side>): void => {
      this.core.departed()
      socket.data.onSocketClose()
    },
  }
  private hostname = ''
  private ticker: ReturnType<typeof setInterval> | undefined

  constructor(private readonly deps: EngineDeps & { readonly sockets: Sockets }) {
    this.core = new GatewayCore({
      ...deps,
      dialler: createDialler(this.around, deps.sockets, deps.openHop),
      openDatagrams: openDatagramsWithBun(deps.onFault),
      after,
      around: this.around,
      startRelay: (client, tunnel, fromClient, fromOrigin) =>
        new Relay(client, tunnel, deps.clock).start(fromClient, fromOrigin),
    })
  }

  get dataPath(): DataPath {
    return this.core.metering
  }

  takeTls(client: TlsClient): void {
    takeTlsClient(client, this.core, this.around)
  }

  refuseMachines(places: readonly DevicePlace[]): void {
    this.core.refuseMachines(places)
  }

  setRefused(yes: boolean): void {
    this.core.setRefused(yes)
  }

  start(at: Parameters<Engine['start']>[0]): number {
    this.hostname = at.hostname
    for (const [port, descriptor] of at.inherited ?? []) this.inherited.set(port, descriptor)
    this.core.mainPort = this.listen(at.port)
    this.ticker = setInterval(() => this.core.tick(), tickMs)
    return this.core.mainPort
  }

  changed(change: Changed, onPortFailure: (port: number, error: unknown) => void): void {
    this.core.changed(change)
    if (change.ports && this.core.mainPort !== 0 && !this.core.isStopping && !this.core.isDraining)
      this.listenOnPorts(onPortFailure)
  }

  listeners(): ReturnType<Engine['listeners']> {
    return [...this.openListeners.values()].map(({ port, descriptor }) => ({ port, descriptor }))
  }

  async drain(): Promise<void> {
    this.core.isDraining = true
    this.stopListening()
    this.openListeners.clear()
  }

  async stop(drainMs: number): Promise<void> {
    this.core.beginStop()
    this.stopListening()
    const giveUpAt = performance.now() + drainMs
    while (this.core.status.tunnels > 0 && performance.now() < giveUpAt) await Bun.sleep(drainStepMs)
    this.core.endStop()
    clearInterval(this.ticker)
  }

  get status() {
    return { ...this.core.status, listeners: this.openListeners.size, maxHeld: this.maxHeld }
  }

  /** A connection accepted on an inherited port. */
  private adopt(descriptor: number, source: string): void {
    const side = new Side(ignoringOwner, this.around)
    const socket = {
      ...this.socketHandlers,
      open: (opened: Socket<Side>): void => {
        side.attach(opened)
        this.core.accepted(side, source)
      },
    }
    void connectDescriptor(descriptor, { data: side, socket })
  }

  private listen(port: number): number {
    const handed = this.inherited.get(port)
    this.inherited.delete(port)
    const { hostname, socketHandlers: socket } = this
    const listener =
      handed === undefined
        ? listenWithBun(Bun.listen<Side>({ hostname, port, allowHalfOpen: true, exclusive: true, socket }))
        : this.accepter.open(handed, port)
    this.openListeners.set(listener.port, listener)
    return listener.port
  }

  /** Opens and closes customer ports. */
  private listenOnPorts(note: (port: number, error: unknown) => void): void {
    const wanted = this.deps.snapshot.ports
    for (const [port, listener] of this.openListeners) {
      if (port === this.core.mainPort || wanted.has(port)) continue
      this.openListeners.delete(port)
      listener.stop()
    }
    const missing = [...wanted.keys()].filter((port) => !this.openListeners.has(port))
    const room = Math.max(0, this.deps.limits.ports - (this.openListeners.size - 1))
    for (const port of missing.slice(0, room)) {
      try {
        this.listen(port)
      } catch (error) {
        note(port, error)
      }
    }
    if (missing.length > room) note(missing[room] ?? 0, noRoom(missing.length - room, this.deps.limits.ports))
    // Ports without a customer.
    for (const [port, descriptor] of this.inherited) this.accepter.open(descriptor, port).stop()
    this.inherited.clear()
  }

  private stopListening(): void {
    for (const listener of this.openListeners.values()) listener.stop()
    this.accepter.end()
  }
}
