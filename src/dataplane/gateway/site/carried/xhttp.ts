import type { After } from '../../../../core/time.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import {
  maxEarlyUploads,
  maxPacketBytes,
  maxPacketsAhead,
  toXhttpFields,
  type XhttpRequest,
} from '../../ways-in/xhttp/request.ts'
import type { BudgetShare } from '../fair-budget.ts'
import { CarriedClient, type CarriedDeps, type Carrier } from './client.ts'
import type { Exchange, ExchangeOwner, UploadExchange } from './exchange.ts'

/** Requests of a session that its download, which opens it, may follow within this time. */
const waitMs = 30_000
/** Sessions that are remembered after their end. */
const maxEnded = 4096
/** Requests that come after the end of a session. They are not billed. */
const maxLateRequests = 8
/** Bytes of a session's packets that are read after its end. */
const maxLateBytes = 8 * maxPacketBytes
const nothingToDo = (): void => {}

type Upload = {
  readonly exchange: UploadExchange
  readonly seq: number | undefined
  bytes: number
  /** While it is not read: a stream's window of 128 KiB. */
  readonly share?: BudgetShare
}

/** What may still be read for a session that has ended. */
type Remainder = { requests: number; bytes: number }

/** What a device sends and receives in requests of its own. It ends with the request of the download. */
class XhttpSession implements Carrier {
  readonly protocol = 'xhttp'
  private readonly client: CarriedClient
  private readonly packets = new Map<number, Upload>()
  private nextSeq = 0
  private current: Upload | undefined
  private isPaused = false
  private isOver = false
  private isAdmitted = false

  constructor(
    private readonly download: Exchange,
    private readonly device: string,
    private readonly deps: CarriedDeps & { readonly random: () => number },
    private readonly onOver: (wasAdmitted: boolean) => Remainder | undefined,
  ) {
    this.client = new CarriedClient(this, device, deps)
    // Bytes that are written before it are not tracked.
    download.follow()
    download.respond(200, toXhttpFields(deps.random, true), false)
  }

  /** `isBoth`: the request of the download also uploads. */
  start(isBoth: boolean): void {
    const { download } = this
    const upload = { exchange: download, seq: undefined, bytes: 0 }
    download.owner = {
      onBody: (bytes) => isBoth && this.receive(upload, bytes),
      onBodyEnd: () => isBoth && this.client.receiveEnd(),
      onDrain: () => this.client.drained(),
      onClose: () => this.close(),
    }
    if (isBoth) this.current = upload
    download.resume()
  }

  /** Takes an upload, in any order of its packets. */
  add(exchange: UploadExchange, seq: number | undefined): void {
    const share = this.deps.waiting.open(this.device, () => this.terminate())
    const upload = { exchange, seq, bytes: 0, share }
    exchange.owner = this.toOwner(upload)
    if (this.isAdmitted) exchange.admit()
    if (seq === undefined) {
      if (this.current || this.packets.size > 0 || this.nextSeq > 0) return exchange.terminate()
      exchange.respond(200, toXhttpFields(this.deps.random, true), false)
      this.current = upload
      if (!this.isPaused) exchange.resume()
      return
    }
    const isKnown = seq < this.nextSeq || this.packets.has(seq) || this.current?.seq === seq
    // Their number counts and not how far ahead they are: an earlier connection may hold many unread ones.
    if (isKnown || this.packets.size >= maxPacketsAhead || !share.resize(1)) {
      exchange.terminate()
      return this.terminate()
    }
    this.packets.set(seq, upload)
    this.takeNext()
  }

  private takeNext(): void {
    if (this.current || this.isOver) return
    const next = this.packets.get(this.nextSeq)
    if (!next) return
    this.packets.delete(this.nextSeq)
    next.share?.resize(0)
    this.current = next
    if (!this.isPaused) next.exchange.resume()
  }

  private toOwner(upload: Upload): ExchangeOwner {
    return {
      onBody: (bytes) => this.receive(upload, bytes),
      onBodyEnd: () => this.finish(upload),
      onDrain: nothingToDo,
      onClose: () => this.loseUpload(upload),
    }
  }

  private receive(upload: Upload, bytes: Uint8Array): void {
    if (this.isOver) return
    upload.bytes += bytes.length
    if (upload.seq !== undefined && upload.bytes > maxPacketBytes) return this.terminate()
    this.client.receive(bytes)
  }

  private finish(upload: Upload): void {
    if (this.isOver) return
    this.current = undefined
    if (upload.seq === undefined) {
      upload.exchange.end()
      this.client.receiveEnd()
      return
    }
    this.nextSeq += 1
    upload.exchange.respond(200, toXhttpFields(this.deps.random, false), true)
    this.takeNext()
  }

  /** A part of what the client sends would be missing. */
  private loseUpload(upload: Upload): void {
    if (this.isOver || (upload !== this.current && !this.packets.has(upload.seq ?? -1))) return
    this.terminate()
  }

  // --- for the engine ---

  admit(): void {
    this.isAdmitted = true
    this.download.admit()
    this.current?.exchange.admit()
    for (const { exchange } of this.packets.values()) exchange.admit()
  }

  get source(): string {
    return this.download.source
  }

  get fd(): number {
    return this.download.fd
  }

  get isShared(): boolean {
    return this.download.isShared
  }

  write(bytes: Uint8Array): number {
    return this.download.write(bytes)
  }

  shutdown(): void {
    this.download.end()
  }

  end(): void {
    this.download.end()
    this.close()
  }

  terminate(): void {
    this.download.terminate()
    this.close()
  }

  pause(): void {
    this.isPaused = true
    this.current?.exchange.pause()
  }

  resume(): void {
    this.isPaused = false
    this.current?.exchange.resume()
  }

  follow(): DeliveryWatch | undefined {
    return this.download.follow()
  }

  untrack(): void {
    this.download.follow()?.close(false)
  }

  private close(): void {
    if (this.isOver) return
    this.isOver = true
    const remainder = this.onOver(this.isAdmitted)
    const uploads = [...this.packets.values(), ...(this.current ? [this.current] : [])]
    this.packets.clear()
    this.current = undefined
    for (const upload of uploads) {
      upload.share?.resize(0)
      if (upload.exchange !== this.download) this.leave(upload, remainder)
    }
    this.client.lose()
  }

  private leave({ exchange, seq, bytes }: Upload, remainder: Remainder | undefined): void {
    if (seq === undefined || !remainder) exchange.terminate()
    else readAway(exchange, this.deps, remainder, bytes)
  }
}

/**
 * Reads the rest of a packet whose session has ended, and answers it. Over HTTP/1.1 only the end of the connection
 * would end it sooner, and Xray's client sends packets of its next session on that connection, whether it is open or
 * not.
 */
function readAway(
  exchange: UploadExchange,
  { after, random }: { readonly after: After; readonly random: () => number },
  remainder: Remainder,
  bytes = 0,
): void {
  const cancel = after(waitMs, () => exchange.terminate())
  let left = maxPacketBytes - bytes
  exchange.owner = {
    onBody: (more) => {
      left -= more.length
      remainder.bytes -= more.length
      if (left < 0 || remainder.bytes < 0) exchange.terminate()
    },
    onBodyEnd: () => exchange.respond(200, toXhttpFields(random, false), true),
    onDrain: nothingToDo,
    onClose: cancel,
  }
  exchange.resume()
}

/** The sessions that ended last. Their last packets may come after the end. */
export class EndedSessions {
  private readonly byName = new Map<string, Remainder>()

  add(name: string): Remainder {
    const remainder = this.byName.get(name) ?? { requests: maxLateRequests, bytes: maxLateBytes }
    this.byName.delete(name)
    this.byName.set(name, remainder)
    const excess = Math.max(0, this.byName.size - maxEnded)
    for (const oldest of this.byName.keys().take(excess)) this.byName.delete(oldest)
    return remainder
  }

  find(name: string): Remainder | undefined {
    return this.byName.get(name)
  }

  delete(name: string): void {
    this.byName.delete(name)
  }
}

type WaitingUpload = Upload & { readonly exchange: Exchange }
type Waiting = { readonly uploads: WaitingUpload[]; readonly cancel: () => void }

/** The other reactors of the gateway. A client's connections reach any of them, and a session is in one. */
export type SessionNeighbours = {
  /** The session's download is here. */
  open(name: string): void
  /** Uploads wait here for the session. */
  seek(name: string): void
  /** Takes back what was said of the session. `hasEnded`: it was here, and its last packets may come later. */
  leave(name: string, hasEnded?: boolean): void
  /** Passes an upload on to the reactor that has the session. */
  pass(name: string, seq: number | undefined, exchange: Exchange): void
}

const noNeighbours: SessionNeighbours = {
  open() {},
  seek() {},
  leave() {},
  pass: (_, __, exchange) => exchange.terminate(),
}

/** Sessions of XHTTP by the device and the id that its client chose. */
export class XhttpSessions {
  private readonly open = new Map<string, XhttpSession>()
  /** Uploads whose session's download has not come yet. They are not read. */
  private readonly waiting = new Map<string, Waiting>()
  /** Sessions of devices that had shown their key. */
  private readonly ended = new EndedSessions()

  constructor(
    private readonly deps: CarriedDeps & { readonly random: () => number; readonly after: After },
    private readonly neighbours: SessionNeighbours = noNeighbours,
  ) {}

  take(device: string, request: XhttpRequest, exchange: Exchange): void {
    if (request.kind === 'both') return this.begin(device, exchange, () => undefined).start(true)
    const name = `${device} ${request.session}`
    if (request.kind === 'download') return this.beginNamed(device, name, exchange)
    const seq = request.kind === 'packet' ? request.seq : undefined
    const session = this.open.get(name)
    if (session) session.add(exchange, seq)
    else if (seq === undefined || !this.takeLate(name, exchange)) this.wait(device, name, exchange, seq)
  }

  /** Another reactor has the session: uploads that wait here go there. */
  passOn(name: string): void {
    for (const { exchange, seq } of this.takeWaiting(name)) this.neighbours.pass(name, seq, exchange)
  }

  /** The session has ended in another reactor. */
  noteEnded(name: string): void {
    const remainder = this.ended.add(name)
    const uploads = this.takeWaiting(name)
    if (uploads.length > 0) this.neighbours.leave(name)
    for (const { exchange, seq } of uploads) {
      if (seq === undefined) exchange.terminate()
      else readAway(exchange, this.deps, remainder)
    }
  }

  /** Takes an upload whose connection is in another reactor. */
  takePassed(name: string, seq: number | undefined, exchange: UploadExchange): void {
    const session = this.open.get(name)
    if (session) session.add(exchange, seq)
    else if (seq === undefined || !this.takeLate(name, exchange)) exchange.terminate()
  }

  /** Takes a packet of a session that has ended. False if it has not. */
  private takeLate(name: string, exchange: UploadExchange): boolean {
    const remainder = this.ended.find(name)
    if (!remainder) return false
    remainder.requests -= 1
    if (remainder.requests < 0) exchange.terminate()
    else readAway(exchange, this.deps, remainder)
    return true
  }

  private begin(
    device: string,
    exchange: Exchange,
    onOver: (wasAdmitted: boolean) => Remainder | undefined,
  ): XhttpSession {
    return new XhttpSession(exchange, device, this.deps, onOver)
  }

  private beginNamed(device: string, name: string, exchange: Exchange): void {
    if (this.open.has(name)) return exchange.terminate()
    this.ended.delete(name)
    const session = this.begin(device, exchange, (wasAdmitted) => {
      this.open.delete(name)
      const remainder = wasAdmitted ? this.ended.add(name) : undefined
      this.neighbours.leave(name, wasAdmitted)
      return remainder
    })
    this.open.set(name, session)
    this.neighbours.open(name)
    session.start(false)
    const uploads = this.takeWaiting(name)
    for (const { exchange: upload, seq } of uploads) session.add(upload, seq)
  }

  private wait(device: string, name: string, exchange: Exchange, seq: number | undefined): void {
    const share = this.deps.waiting.open(device, () => this.giveUp(name))
    if (!share.resize(1)) return exchange.terminate()
    const known = this.waiting.get(name)
    const waiting: Waiting = known ?? {
      uploads: [],
      cancel: this.deps.after(waitMs, () => this.giveUp(name)),
    }
    this.waiting.set(name, waiting)
    waiting.uploads.push({ exchange, seq, bytes: 0, share })
    const onClose = (): void => this.giveUp(name)
    exchange.owner = { onBody: nothingToDo, onBodyEnd: nothingToDo, onDrain: nothingToDo, onClose }
    if (waiting.uploads.length > maxEarlyUploads) this.giveUp(name)
    else if (!known) this.neighbours.seek(name)
  }

  private giveUp(name: string): void {
    const uploads = this.takeWaiting(name)
    if (uploads.length > 0) this.neighbours.leave(name)
    for (const { exchange } of uploads) exchange.terminate()
  }

  private takeWaiting(name: string): readonly WaitingUpload[] {
    const waiting = this.waiting.get(name)
    if (!waiting) return []
    this.waiting.delete(name)
    waiting.cancel()
    for (const { share } of waiting.uploads) share?.resize(0)
    return waiting.uploads
  }
}
