import type { MaybePromise } from '../../../../core/maybe-promise.ts'
import { notInSet, type SetIndex } from '../../../../core/swap-remove-set.ts'
import type { Clock } from '../../../../core/time.ts'
import type { Access } from '../../access/admission.ts'
import type { TunnelLimits } from '../../access/limits.ts'
import type { OpenTunnel, OpenTunnels } from '../../access/recheck.ts'
import type { Side, SideAround, SideOwner } from '../../sides/side.ts'
import type { Sockets } from '../../sides/sockets.ts'
import { ConnectionDelivery } from '../../sides/stream-delivery.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import { type MuxFrame, MuxReader, toEndFrame, toStreamFrames } from '../../ways-in/vless/mux.ts'
import type { ProxyTunnel, ProxyTunnels, StartRelay } from '../tunnel.ts'
import type { UdpAssociation } from '../udp/association.ts'
import type { UdpAssociations } from '../udp/associations.ts'
import { MuxDatagrams } from './datagrams.ts'
import { MuxStream } from './stream.ts'

type Refused = { readonly refusal: RefusalCode }

export type MuxDeps = {
  readonly tunnels: Pick<ProxyTunnels, 'open'>
  readonly associations: UdpAssociations
  readonly startRelay: StartRelay
  readonly open: OpenTunnels
  readonly limits: TunnelLimits
  readonly closedFor: () => RefusalCode | undefined
  readonly sockets: Sockets
  readonly around: SideAround
  readonly clock: Clock
  readonly onFault: (fault: unknown) => void
}

/** Sub-streams of one connection. A client opens another connection for more. */
const maxStreams = 128
/** Bytes of a connection for sub-streams whose destinations do not take them; then its client must wait. */
const maxHeldBytes = 512 * 1024
/** Ends of sub-streams that wait for a client that does not read; with more, nothing of it is read. */
const maxEnds = 256
/** A connection without a sub-stream is closed after this long. */
const unusedMs = 60_000
const usedMs = Number.POSITIVE_INFINITY
const nothing = new Uint8Array(0)

/** UDP sub-streams by the global id of the client's socket: on a new connection it keeps its association. */
type Named = Map<string, MuxDatagrams>

/** The sub-streams of a device's connection (Mux.Cool, XUDP): each is a tunnel or an association of its own. */
class MuxSession implements SideOwner, OpenTunnel {
  readonly isHalfOpen = false
  openIndex: SetIndex = notInSet
  activeAt: number
  isFull = false
  readonly delivery: ConnectionDelivery
  private readonly reader = new MuxReader()
  private readonly streams = new Map<number, MuxStream | MuxDatagrams>()
  /** Streams whose last write did not fit, first come first served. */
  private readonly blocked = new Set<MuxStream>()
  /** Ends to send once the client's socket has room, and whether each has failed. */
  private readonly ends = new Map<number, boolean>()
  private heldBytes = 0
  private isReadingPaused = false
  private isOver = false
  private readonly isTracked: boolean

  constructor(
    readonly access: Access,
    readonly side: Side,
    private readonly named: Named,
    private readonly deps: MuxDeps,
  ) {
    this.activeAt = deps.clock()
    this.delivery = new ConnectionDelivery(() => side.watch(deps.sockets))
    // Some carriers track only what is written from here on, and the answer comes before the first sub-stream.
    this.isTracked = this.delivery.share() !== undefined
  }

  /** `early`: frames that came before the answer. */
  start(early: Uint8Array): void {
    this.side.own(this)
    this.onData(early)
    if (this.side.isClosed) this.end()
    else if (!this.isReadingPaused) this.side.resume()
  }

  /** The client has gone before the answer. */
  drop(): void {
    this.end()
  }

  get maxIdleMs(): number {
    return this.streams.size === 0 ? unusedMs : usedMs
  }

  get localPort(): number {
    return this.side.arrivedAt
  }

  get fd(): number {
    return this.side.descriptor
  }

  cut(): void {
    this.end()
    this.side.abort()
  }

  // --- from the client ---

  onData(bytes: Uint8Array): void {
    if (this.isOver) return
    this.activeAt = this.deps.clock()
    const isValid = this.reader.feed(bytes, (frame) => this.isOver || this.takeFrame(frame))
    if (!isValid) this.cut()
  }

  onEnd(): void {
    this.end()
    this.side.release()
  }

  onDrain(): void {
    this.isFull = false
    for (const [id, hasFailed] of this.ends) {
      if (this.isFull || this.isOver) return
      this.ends.delete(id)
      this.send(toEndFrame(id, hasFailed))
    }
    this.readOrPause()
    for (const each of this.streams.values()) if (each instanceof MuxDatagrams && !this.isFull) each.wake()
    // A stream that is still blocked joins the set again, behind the others.
    for (const stream of Array.from(this.blocked)) {
      if (this.isFull || this.isOver) return
      if (this.blocked.delete(stream)) stream.wake()
    }
  }

  onClose(): void {
    this.end()
  }

  private takeFrame(frame: MuxFrame): void {
    const { id, status, payload, hasFailed } = frame
    if (status === 'keep-alive') return
    const stream = this.streams.get(id)
    if (status === 'new') {
      // The client has forgotten the stream before.
      stream?.receiveEnd(true)
      return this.open(frame)
    }
    if (!stream) {
      if (status === 'keep') this.sendEnd(id, false)
      return
    }
    if (payload && stream instanceof MuxStream) stream.receive(payload)
    else if (payload && stream instanceof MuxDatagrams) stream.receive(frame.target, payload)
    if (status === 'end') stream.receiveEnd(hasFailed)
  }

  private open(frame: MuxFrame): void {
    const { id, network, target, payload } = frame
    if (!target || this.streams.size >= maxStreams) return this.sendEnd(id, true)
    if (network === 'udp') return this.openDatagrams(frame)
    const stream = new MuxStream(id, this, this.deps.around)
    this.streams.set(id, stream)
    if (payload) stream.receive(payload)
    const act = (opened: ProxyTunnel | Refused): void => {
      if ('refusal' in opened) stream.terminate()
      else if (stream.isClosed) opened.drop()
      else this.deps.startRelay(stream.side, opened, nothing, opened.early)
    }
    this.use(stream, () => this.deps.tunnels.open(this.access, target, stream.side), act)
  }

  private openDatagrams({ id, target, globalId, payload }: MuxFrame): void {
    const name = globalId === undefined ? undefined : `${this.access.key} ${globalId}`
    const known = name === undefined ? undefined : this.named.get(name)
    const datagrams: MuxDatagrams = new MuxDatagrams(id, this, target, name, () => {
      if (name !== undefined && this.named.get(name) === datagrams) this.named.delete(name)
    })
    this.streams.set(id, datagrams)
    if (payload) datagrams.receive(target, payload)
    if (name !== undefined) this.named.set(name, datagrams)
    if (known?.association) return this.takeOver(known, known.association, datagrams)
    const isGone = (): boolean => datagrams.isClosed
    const act = (opened: UdpAssociation | Refused): void => {
      if ('refusal' in opened) datagrams.onEnded()
      else if (datagrams.isClosed) opened.end()
      else datagrams.begin(opened)
    }
    const { associations } = this.deps
    this.use(datagrams, () => associations.open(this.access, isGone, { target: undefined, side: this.side }), act)
  }

  /** Bytes from now on are billed as this connection delivers them. */
  private takeOver(before: MuxDatagrams, association: UdpAssociation, datagrams: MuxDatagrams): void {
    association.detach()
    before.leave()
    this.deps.associations.rebind(association, this.side)
    datagrams.begin(association)
  }

  /** An error closes this sub-stream only. */
  private use<Opened>(
    stream: MuxStream | MuxDatagrams,
    open: () => MaybePromise<Opened>,
    act: (opened: Opened) => void,
  ): void {
    const fail = (fault: unknown): void => {
      this.deps.onFault(fault)
      if (stream instanceof MuxStream) stream.terminate()
      else stream.onEnded()
    }
    try {
      const opened = open()
      if (opened instanceof Promise) opened.then(act).catch(fail)
      else act(opened)
    } catch (fault) {
      fail(fault)
    }
  }

  // --- from sub-streams ---

  sendStream(stream: MuxStream, bytes: Uint8Array): { taken: number; end: number } {
    const { side } = this
    if (this.isFull || this.isOver) {
      if (!this.isOver) this.blocked.add(stream)
      return { taken: 0, end: 0 }
    }
    this.send(toStreamFrames(stream.id, bytes))
    return { taken: bytes.length, end: side.written + side.heldBytes }
  }

  sendDatagram(frame: Uint8Array): void {
    this.send(frame)
  }

  sendEnd(id: number, hasFailed: boolean): void {
    if (!this.isFull) return this.send(toEndFrame(id, hasFailed))
    this.ends.set(id, hasFailed)
    this.readOrPause()
  }

  noteHeld(change: number): void {
    this.heldBytes += change
    this.readOrPause()
  }

  /** Reads on when half of a limit is free again. */
  private readOrPause(): void {
    const share = this.isReadingPaused ? 0.5 : 1
    const isOverfull = this.heldBytes > maxHeldBytes * share || this.ends.size > maxEnds * share
    if (isOverfull === this.isReadingPaused || this.isOver) return
    this.isReadingPaused = isOverfull
    if (isOverfull) this.side.pause()
    else this.side.resume()
  }

  forget(id: number): void {
    const stream = this.streams.get(id)
    if (stream?.isClosed) this.streams.delete(id)
    if (stream instanceof MuxStream) this.blocked.delete(stream)
  }

  private send(bytes: Uint8Array): void {
    if (this.isOver) return
    this.activeAt = this.deps.clock()
    if (!this.side.write(bytes)) this.isFull = true
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    const { open, limits } = this.deps
    open.remove(this)
    for (const stream of this.streams.values()) stream.lose()
    this.delivery.close()
    if (this.isTracked) this.delivery.release()
    limits.leave(this.access.owner, this.access.key)
  }
}

export type OpenMux = (access: Access, side: Side) => MuxSession | Refused

/** Opens the sub-streams of an admitted device. The connection counts as a tunnel, and so does each sub-stream. */
export function createOpenMux(deps: MuxDeps): OpenMux {
  const named: Named = new Map()
  return (access, side) => {
    const refusal = deps.closedFor() ?? deps.limits.enter(access.owner, access.key, null)
    if (refusal) return { refusal }
    const session = new MuxSession(access, side, named, deps)
    deps.open.add(session)
    return session
  }
}
