import type { Clock } from '../../../../core/time.ts'
import {
  ConnectionError,
  clientPreface,
  defaultWindow,
  type ErrorName,
  errorCodes,
  type Frame,
  FrameReader,
  firstWindow,
  flags,
  frameTypes,
  makeFrame,
  maxFrameBytes,
  maxWindow,
  readUint31,
  readUint32,
  settingIds,
  settingsAck,
  toDataFrames,
  toFrame,
  toGoaway,
  toHeaders,
  toReset,
  toSettings,
  toWindowUpdate,
  withoutPadding,
} from './frames.ts'
import { encodeFields, type Field, HpackDecoder, HpackError } from './hpack.ts'
import { Http2Stream, type StreamSession } from './stream.ts'

/** The connection under a session. */
type Wire = {
  /** Returns the bytes taken; the session offers the rest after onSocketDrain(). */
  write(bytes: Uint8Array): number
  pause(): void
  resume(): void
  /** Closes after written bytes. */
  end(): void
  terminate(): void
}

export type Http2SessionDeps = {
  readonly wire: Wire
  readonly role: 'server' | 'client'
  /** Server: a request arrived. Its stream needs an owner before this returns. */
  readonly onRequest?: (stream: Http2Stream, fields: readonly Field[], isEnd: boolean) => void
  /** The last stream has closed. */
  readonly onIdle?: () => void
  readonly onClosed: () => void
  /** Monotonic. */
  readonly clock: Clock
  readonly maxStreams?: number
}

const usualStreams = 100
/** Streams of another gateway, which has proved its key. */
const trustedStreams = 1000
/** The connection's window is returned at once, so that one stalled stream holds up no other. */
const connectionWindow = 16 * 1024 * 1024
const maxHeaderListBytes = 16_384
const maxBlockBytes = 16_384
const maxContinuations = 8
/** Data of one write: each write costs a system call. */
const maxDataBytes = 4 * maxFrameBytes
/**
 * From `most` waiting requests on, the first window of new streams is 0 until only `few` wait: a client then sends the
 * body of its next request when that is read. A client of XHTTP sends one every 30 ms, however slow the destination
 * is, and waits for nothing else.
 */
const holdBack = { most: 4, few: 1 }
/** Reading stops while this much waits to be written. */
const maxBacklogBytes = 262_144

/**
 * Frames that cost work and carry no data are paid from a budget, which time and data refill. An empty budget ends the
 * connection: floods of PING, SETTINGS, RST_STREAM, empty DATA and the like.
 */
const budget = { max: 1000, perSecond: 50, perKiB: 1 }
/** Go's client returns every 4 KiB with two frames, up to 4 MiB of each stream at once: data pays for them. */
const bytesForUpdate = 1024

const nothing = new Uint8Array(0)

type HeaderBlock = {
  readonly stream: number
  readonly isEnd: boolean
  readonly parts: Uint8Array[]
  bytes: number
}

/** An HTTP/2 connection (RFC 9113) as server or client, without push and priorities. */
export class Http2Session implements StreamSession {
  private readonly reader = new FrameReader()
  private readonly decoder = new HpackDecoder()
  private readonly streams = new Map<number, Http2Stream>()
  /** Streams whose last write did not fit, first come first served. */
  private readonly blocked = new Set<Http2Stream>()
  private backlog: Uint8Array[] = []
  private backlogBytes = 0
  /** Bytes of all frames so far, written or waiting: the position in the connection's plaintext. */
  queuedBytes = 0
  private isReadingPaused = false
  private preface: Uint8Array = nothing
  private hasPreface: boolean
  private hasSettings = false
  private block: HeaderBlock | undefined
  private sendWindow = defaultWindow
  private receivedUnreturned = 0
  private peerWindow = defaultWindow
  private lastPeerStream = 0
  private nextOwnStream = 1
  private isDraining = false
  private isClosed = false
  private budgetLeft: number = budget.max
  private budgetAt: number
  /** WINDOW_UPDATE frames that sent data has paid. */
  private paidUpdates = 0
  private maxStreams: number
  private waiting = 0
  /** New streams have no window until they are read. */
  private isHeldBack = false
  isTrusted = false
  /** When the peer last sent anything, by `clock`. */
  receivedAt: number
  /** The server allows extended CONNECT (RFC 8441). */
  allowsConnectProtocol = false
  /** Streams that the peer accepts at once. */
  peerMaxStreams = usualStreams

  constructor(private readonly deps: Http2SessionDeps) {
    this.hasPreface = deps.role === 'client'
    this.maxStreams = deps.maxStreams ?? usualStreams
    this.budgetAt = deps.clock()
    this.receivedAt = this.budgetAt
    const isServer = deps.role === 'server'
    const settings = toSettings({
      ...(isServer ? { maxConcurrentStreams: this.maxStreams } : { enablePush: 0 }),
      initialWindowSize: firstWindow,
      maxHeaderListSize: maxHeaderListBytes,
      ...(isServer && { enableConnectProtocol: 1 }),
    })
    const opening = [settings, toWindowUpdate(0, connectionWindow - defaultWindow)]
    this.send(Buffer.concat(isServer ? opening : [clientPreface, ...opening]))
  }

  get openStreams(): number {
    return this.streams.size
  }

  /** No stream can be opened: the session is closed or draining, or all ids are used. */
  get isExhausted(): boolean {
    return this.isClosed || this.isDraining || this.nextOwnStream > maxWindow - 2
  }

  onSocketData(bytes: Uint8Array): void {
    if (this.isClosed) return
    this.receivedAt = this.deps.clock()
    try {
      const rest = this.hasPreface ? bytes : this.readPreface(bytes)
      if (rest.length > 0) this.reader.feed(rest, (frame) => !this.isClosed && this.take(frame))
    } catch (error) {
      if (error instanceof ConnectionError) this.fail(error.code)
      else if (error instanceof HpackError) this.fail('compression')
      else throw error
    }
  }

  onSocketDrain(): void {
    const waiting = this.backlog
    this.backlog = []
    this.backlogBytes = 0
    for (const bytes of waiting) this.push(bytes)
    if (this.backlogBytes > 0) return
    if (this.isReadingPaused) {
      this.isReadingPaused = false
      this.deps.wire.resume()
    }
    this.wakeBlocked()
    this.endWhenDrained()
  }

  onSocketEnd(): void {
    this.deps.wire.end()
  }

  onSocketClose(): void {
    if (!this.isClosed) this.close()
  }

  /** Client: opens a stream. Check `isExhausted` and `peerMaxStreams` before. */
  request(fields: readonly Field[], isEnd: boolean): Http2Stream {
    const id = this.nextOwnStream
    this.nextOwnStream += 2
    const stream = new Http2Stream(id, this, this.peerWindow)
    this.streams.set(id, stream)
    this.send(toHeaders(id, encodeFields(fields), isEnd))
    if (isEnd) stream.noteLocalEnd()
    return stream
  }

  /** The peer is a gateway of the same shop: it may open more streams and needs no budget. */
  trust(): void {
    if (this.isTrusted || this.isClosed) return
    this.isTrusted = true
    this.maxStreams = trustedStreams
    if (this.deps.role === 'server') this.send(toSettings({ maxConcurrentStreams: trustedStreams }))
  }

  /** An admitted client's request pays for its frames, which may carry few bytes. */
  credit(frames: number): void {
    this.budgetLeft = Math.min(budget.max, this.budgetLeft + frames)
  }

  /** Makes a live peer send something. */
  ping(): void {
    this.send(makeFrame(frameTypes.ping, 0, 0, 8))
  }

  /** Accepts no new stream; the connection ends with its last stream. */
  drain(): void {
    if (this.isDraining || this.isClosed) return
    this.isDraining = true
    this.send(toGoaway(this.lastPeerStream, 'none'))
    this.endWhenDrained()
  }

  /** Ends every stream at once. */
  terminate(): void {
    if (!this.isClosed) this.close()
    this.deps.wire.terminate()
  }

  // --- for streams ---

  /** Sends up to the windows and the connection's room. Returns the bytes taken. */
  sendData(stream: Http2Stream, bytes: Uint8Array): number {
    if (this.isClosed) return 0
    let at = 0
    while (at < bytes.length && this.backlogBytes === 0) {
      const room = Math.min(bytes.length - at, this.sendWindow, stream.sendWindow, maxDataBytes)
      if (room <= 0) break
      const frames = toDataFrames(stream.id, bytes.subarray(at, at + room))
      this.sendWindow -= room
      stream.sendWindow -= room
      this.earn(room)
      this.paidUpdates += room / bytesForUpdate
      this.send(frames)
      at += room
    }
    if (at < bytes.length) this.blocked.add(stream)
    return at
  }

  sendBlock(stream: Http2Stream, block: Uint8Array, isEnd: boolean): void {
    this.send(toHeaders(stream.id, block, isEnd))
  }

  sendEnd(stream: Http2Stream): void {
    this.send(makeFrame(frameTypes.data, flags.endStream, stream.id, 0))
  }

  sendReset(stream: Http2Stream, code: ErrorName): void {
    this.send(toReset(stream.id, code))
  }

  sendWindowUpdate(stream: Http2Stream, bytes: number): void {
    this.send(toWindowUpdate(stream.id, bytes))
  }

  countWaiting(change: 1 | -1): void {
    this.waiting += change
    const isHeldBack = this.waiting > (this.isHeldBack ? holdBack.few : holdBack.most - 1)
    if (isHeldBack === this.isHeldBack || this.isClosed || this.isTrusted) return
    this.isHeldBack = isHeldBack
    this.send(toSettings({ initialWindowSize: isHeldBack ? 0 : firstWindow }))
    for (const stream of this.streams.values())
      if (isHeldBack) stream.takeFirstWindow()
      else stream.returnFirstWindow()
  }

  forget(stream: Http2Stream): void {
    this.streams.delete(stream.id)
    this.blocked.delete(stream)
    if (this.streams.size > 0 || this.isClosed) return
    this.deps.onIdle?.()
    this.endWhenDrained()
  }

  // --- receiving ---

  private readPreface(bytes: Uint8Array): Uint8Array {
    const have = this.preface.length === 0 ? bytes : Buffer.concat([this.preface, bytes])
    const length = Math.min(have.length, clientPreface.length)
    if (!clientPreface.subarray(0, length).equals(have.subarray(0, length)))
      throw new ConnectionError('protocol', 'no client preface')
    if (length < clientPreface.length) {
      this.preface = have.slice()
      return nothing
    }
    this.hasPreface = true
    this.preface = nothing
    return have.subarray(clientPreface.length)
  }

  private take(frame: Frame): void {
    const { type } = frame
    if (!this.hasSettings && type !== frameTypes.settings) throw new ConnectionError('protocol', 'no SETTINGS')
    if (this.block && (type !== frameTypes.continuation || frame.stream !== this.block.stream))
      throw new ConnectionError('protocol', 'a header block is not finished')
    if (type === frameTypes.data) this.takeData(frame)
    else if (type === frameTypes.headers) this.takeHeaders(frame)
    else if (type === frameTypes.continuation) this.takeContinuation(frame)
    else if (type === frameTypes.windowUpdate) this.takeWindowUpdate(frame)
    else if (type === frameTypes.settings) this.takeSettings(frame)
    else if (type === frameTypes.reset) this.takeReset(frame)
    else if (type === frameTypes.ping) this.takePing(frame)
    else if (type === frameTypes.goaway) this.takeGoaway(frame)
    else if (type === frameTypes.pushPromise) throw new ConnectionError('protocol', 'PUSH_PROMISE')
    else {
      if (type === frameTypes.priority && (frame.stream === 0 || frame.payload.length !== 5))
        throw new ConnectionError('protocol', 'bad PRIORITY')
      this.spend()
    }
  }

  private takeData(frame: Frame): void {
    const { stream: id, payload } = frame
    if (id === 0 || this.isIdle(id)) throw new ConnectionError('protocol', 'DATA on an idle stream')
    const data = withoutPadding(frame)
    const isEnd = (frame.flags & flags.endStream) !== 0
    const stream = this.streams.get(id)
    if (data.length === 0 || !stream) this.spend()
    this.earn(data.length)
    this.returnWindow(payload.length)
    // The stream was reset from this side; the peer may not know yet.
    if (!stream) return
    if (stream.hasRemoteEnded) return this.resetStream(stream, 'streamClosed')
    if (!stream.countReceived(payload.length)) throw new ConnectionError('flowControl', 'the stream window is exceeded')
    stream.receive(data, payload.length)
    if (isEnd) stream.noteRemoteEnd()
  }

  private returnWindow(bytes: number): void {
    this.receivedUnreturned += bytes
    if (this.receivedUnreturned > connectionWindow) throw new ConnectionError('flowControl', 'the window is exceeded')
    if (this.receivedUnreturned < connectionWindow / 2) return
    this.send(toWindowUpdate(0, this.receivedUnreturned))
    this.receivedUnreturned = 0
  }

  private takeHeaders(frame: Frame): void {
    const { stream: id } = frame
    if (id === 0) throw new ConnectionError('protocol', 'HEADERS on stream 0')
    let part = withoutPadding(frame)
    if (frame.flags & flags.priority) {
      if (part.length < 5) throw new ConnectionError('frameSize', 'HEADERS too short')
      part = part.subarray(5)
    }
    const isEnd = (frame.flags & flags.endStream) !== 0
    if (frame.flags & flags.endHeaders) this.takeBlock(id, part, isEnd)
    else this.block = { stream: id, isEnd, parts: [part.slice()], bytes: part.length }
  }

  private takeContinuation({ payload, flags: frameFlags }: Frame): void {
    const { block } = this
    if (!block) throw new ConnectionError('protocol', 'CONTINUATION without HEADERS')
    block.parts.push(payload.slice())
    block.bytes += payload.length
    if (block.parts.length > maxContinuations || block.bytes > maxBlockBytes)
      throw new ConnectionError('enhanceYourCalm', 'header block too large')
    if (!(frameFlags & flags.endHeaders)) return
    this.block = undefined
    this.takeBlock(block.stream, Buffer.concat(block.parts), block.isEnd)
  }

  private takeBlock(id: number, block: Uint8Array, isEnd: boolean): void {
    if (this.deps.role === 'server') this.spend()
    const fields = this.decoder.decode(block, maxHeaderListBytes)
    const known = this.streams.get(id)
    if (known) return this.takeMoreFields(known, fields, isEnd)
    if (this.deps.role === 'client' || id % 2 === 0) {
      if (this.isIdle(id)) throw new ConnectionError('protocol', 'HEADERS on an idle stream')
      return
    }
    // A stream that this side has reset.
    if (id <= this.lastPeerStream) return
    this.lastPeerStream = id
    if (this.isDraining || this.streams.size >= this.maxStreams) {
      this.send(toReset(id, 'refusedStream'))
      return
    }
    // A client may have opened it before it read the SETTINGS, and sent bytes: these are not beyond the window.
    const stream = new Http2Stream(id, this, this.peerWindow, this.isHeldBack ? firstWindow : 0)
    this.streams.set(id, stream)
    this.deps.onRequest?.(stream, fields, isEnd)
    if (isEnd) stream.noteRemoteEnd()
    stream.giveOwed()
  }

  /** Response fields, or trailers, which are dropped. */
  private takeMoreFields(stream: Http2Stream, fields: readonly Field[], isEnd: boolean): void {
    if (stream.hasRemoteEnded) return this.resetStream(stream, 'streamClosed')
    if (this.deps.role === 'client' && !stream.hasResponse) stream.takeResponse(fields)
    else if (!isEnd) return this.resetStream(stream, 'protocol')
    if (isEnd) stream.noteRemoteEnd()
  }

  private takeWindowUpdate({ stream: id, payload }: Frame): void {
    if (payload.length !== 4) throw new ConnectionError('frameSize', 'bad WINDOW_UPDATE')
    const bytes = readUint31(payload, 0)
    if (this.isIdle(id)) throw new ConnectionError('protocol', 'WINDOW_UPDATE on an idle stream')
    if (this.paidUpdates >= 1) this.paidUpdates -= 1
    else this.spend()
    if (id === 0) {
      if (bytes === 0 || this.sendWindow + bytes > maxWindow) throw new ConnectionError('flowControl', 'bad window')
      this.sendWindow += bytes
      this.wakeBlocked()
      return
    }
    const stream = this.streams.get(id)
    if (!stream) return
    if (bytes === 0 || stream.sendWindow + bytes > maxWindow) return this.resetStream(stream, 'flowControl')
    stream.sendWindow += bytes
    if (this.blocked.delete(stream)) stream.wake()
  }

  private takeSettings({ stream, flags: frameFlags, payload }: Frame): void {
    if (stream !== 0) throw new ConnectionError('protocol', 'SETTINGS on a stream')
    const isAck = (frameFlags & flags.ack) !== 0
    if (payload.length % 6 !== 0 || (isAck && payload.length > 0))
      throw new ConnectionError('frameSize', 'bad SETTINGS')
    if (!this.hasSettings && isAck) throw new ConnectionError('protocol', 'no SETTINGS')
    this.hasSettings = true
    this.spend()
    if (isAck) return
    for (let at = 0; at < payload.length; at += 6)
      this.takeSetting(((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0), readUint32(payload, at + 2))
    this.send(settingsAck)
    this.wakeBlocked()
  }

  private takeSetting(id: number, value: number): void {
    if (id === settingIds.initialWindowSize) {
      if (value > maxWindow) throw new ConnectionError('flowControl', 'bad initial window')
      for (const stream of this.streams.values()) {
        stream.sendWindow += value - this.peerWindow
        if (stream.sendWindow > maxWindow) throw new ConnectionError('flowControl', 'bad initial window')
      }
      this.peerWindow = value
    } else if (id === settingIds.maxFrameSize) {
      if (value < maxFrameBytes || value > 0xff_ffff) throw new ConnectionError('protocol', 'bad frame size')
    } else if (id === settingIds.enablePush || id === settingIds.enableConnectProtocol) {
      if (value > 1) throw new ConnectionError('protocol', 'bad flag')
      if (id === settingIds.enableConnectProtocol) this.allowsConnectProtocol = value === 1
    } else if (id === settingIds.maxConcurrentStreams) this.peerMaxStreams = value
  }

  private takeReset({ stream: id, payload }: Frame): void {
    if (payload.length !== 4) throw new ConnectionError('frameSize', 'bad RST_STREAM')
    if (id === 0 || this.isIdle(id)) throw new ConnectionError('protocol', 'RST_STREAM on an idle stream')
    // A stream that is opened and reset costs more than it carries.
    this.spend(5)
    this.streams.get(id)?.loseRemote(readUint32(payload, 0))
  }

  private takePing({ stream, flags: frameFlags, payload }: Frame): void {
    if (stream !== 0) throw new ConnectionError('protocol', 'PING on a stream')
    if (payload.length !== 8) throw new ConnectionError('frameSize', 'bad PING')
    this.spend()
    if (!(frameFlags & flags.ack)) this.send(toFrame(frameTypes.ping, flags.ack, 0, payload))
  }

  private takeGoaway({ stream, payload }: Frame): void {
    if (stream !== 0) throw new ConnectionError('protocol', 'GOAWAY on a stream')
    if (payload.length < 8) throw new ConnectionError('frameSize', 'bad GOAWAY')
    this.isDraining = true
    const last = readUint31(payload, 0)
    if (this.deps.role === 'client')
      for (const each of this.streams.values()) if (each.id > last) each.loseRemote(errorCodes.refusedStream)
    this.endWhenDrained()
  }

  /** No frame of this stream has been sent or received yet. */
  private isIdle(id: number): boolean {
    if (id === 0) return false
    const isOwn = (this.deps.role === 'client') === (id % 2 === 1)
    return isOwn ? id >= this.nextOwnStream || this.deps.role === 'server' : id > this.lastPeerStream
  }

  private resetStream(stream: Http2Stream, code: ErrorName): void {
    this.send(toReset(stream.id, code))
    stream.loseRemote(errorCodes[code])
  }

  // --- sending ---

  private send(bytes: Uint8Array): void {
    if (this.isClosed) return
    this.queuedBytes += bytes.length
    this.push(bytes)
  }

  private push(bytes: Uint8Array): void {
    const gone = this.backlogBytes > 0 ? 0 : Math.max(0, this.deps.wire.write(bytes))
    if (gone === bytes.length) return
    this.backlog.push(bytes.subarray(gone))
    this.backlogBytes += bytes.length - gone
    if (this.backlogBytes <= maxBacklogBytes || this.isReadingPaused) return
    this.isReadingPaused = true
    this.deps.wire.pause()
  }

  private wakeBlocked(): void {
    // A stream that is still blocked joins the set again, behind the others.
    const waiting = Array.from(this.blocked)
    for (const stream of waiting) {
      if (this.backlogBytes > 0 || this.sendWindow <= 0 || this.isClosed) return
      if (stream.sendWindow > 0 && this.blocked.delete(stream)) stream.wake()
    }
  }

  private endWhenDrained(): void {
    if (this.isDraining && this.streams.size === 0 && this.backlogBytes === 0 && !this.isClosed) this.deps.wire.end()
  }

  private spend(cost = 1): void {
    if (this.isTrusted) return
    const nowMs = this.deps.clock()
    this.budgetLeft = Math.min(budget.max, this.budgetLeft + ((nowMs - this.budgetAt) * budget.perSecond) / 1000) - cost
    this.budgetAt = nowMs
    if (this.budgetLeft < 0) throw new ConnectionError('enhanceYourCalm', 'too many frames without data')
  }

  private earn(bytes: number): void {
    this.budgetLeft = Math.min(budget.max, this.budgetLeft + (bytes * budget.perKiB) / 1024)
  }

  private fail(code: ErrorName): void {
    this.send(toGoaway(this.lastPeerStream, code))
    this.close()
    this.deps.wire.end()
  }

  private close(): void {
    this.isClosed = true
    this.blocked.clear()
    this.backlog = []
    const open = [...this.streams.values()]
    this.streams.clear()
    for (const stream of open) stream.lose()
    this.deps.onClosed()
  }
}
