import { ptr } from 'bun:ffi'
import { writeFileSync } from 'node:fs'
import { until } from './engine.ts'
import type { OwnNetwork } from './own-network.ts'
import { flag, readSegment, type Segment, writeSegment } from './tcp-segment.ts'

/**
 * How a client says what it has: as it should (`normal`); not at all (`none`); all but one piece, selectively, so that
 * its cumulative acknowledgement never moves (`sack`); or one piece more than it has (`optimistic`).
 */
export type AckPolicy = 'none' | 'sack' | 'normal' | 'optimistic'

export type UserTcp = {
  /** Where the system's own programs are reached from here. */
  readonly address: string
  /**
   * Opens a connection, as a machine with this largest segment and window would. There are 250 machines, of which the
   * first is meant unless said.
   */
  connect(port: number, options?: { machine?: number; mss?: number; window?: number }): Promise<UserConnection>
  /** Takes all packets that the system has sent by now. */
  takeAll(): void
  close(): void
}

/** Where the system and the first of the machines are; the network is the machines' whole one, a /24. */
type Place = { readonly system: number; readonly first: number; readonly network: string }

/** A private network, whose first address is the system's. */
const apart: Place = { system: 0x0a420001, first: 0x0a420002, network: '10.66.0.1/24' }
/** Machines that pass for this one, for programs that serve nobody but the machine they run on. */
const loopback: Place = { system: 0x7f000001, first: 0x7f420002, network: '127.66.0.0/24' }
const places = { apart, loopback } as const

const windowScale = 10
/**
 * The system's initial congestion window, 1.4 MB. With its default of 10 segments, and with the window it falls back to
 * after a timeout on a busy machine, it would stop sending to a client that acknowledges nothing before the test's
 * amount has come.
 */
const initialSegments = 1000
const packetBytes = 2048
const mostPacketsAtOnce = 4096

/**
 * A client's end of TCP that does what no system's would: which acknowledgements it sends is the test's to say. It
 * loses nothing and sends nothing twice.
 */
export class UserConnection {
  ackPolicy: AckPolicy = 'normal'
  isReset = false
  hasEnded = false
  /** What has come, whether it was acknowledged or not; each byte once. */
  receivedBytes = 0
  private isOpen = false
  private isDown = false
  private seq = 1000
  /** Where the peer's bytes begin, and how far they have come without a gap. */
  private firstSeq = 0
  private nextSeq = 0
  /** What is said to have come without a gap; and the end of the first piece beyond it, from which on `sack` tells. */
  private ackedSeq = 0
  private sackFrom: number | undefined
  private readonly chunks: Uint8Array[] = []

  constructor(
    private readonly address: number,
    private readonly peer: number,
    private readonly port: number,
    private readonly peerPort: number,
    private readonly mss: number,
    private window: number,
    private readonly emit: (segment: Segment) => void,
  ) {}

  get text(): string {
    return Buffer.concat(this.chunks).toString('latin1')
  }

  async open(): Promise<this> {
    const options = [2, 4, this.mss >> 8, this.mss & 255, 4, 2, 1, 3, 3, windowScale]
    this.emitSegment(flag.syn, Uint8Array.of(), Uint8Array.from(options))
    this.seq += 1
    await until(() => this.isOpen || this.isReset)
    if (!this.isOpen) throw new Error('the connection was refused')
    return this
  }

  send(text: string): void {
    const payload = Buffer.from(text, 'latin1')
    this.emitSegment(flag.ack | flag.psh, payload)
    this.seq += payload.length
  }

  /** Tells how much it would take; 0 stops the peer. */
  setWindow(bytes: number): void {
    this.window = bytes
    this.acknowledge()
  }

  /** Ends the connection as a program does that is killed. */
  reset(): void {
    if (this.isReset) return
    this.isReset = true
    this.emitSegment(flag.rst | flag.ack)
  }

  /** The line is gone: nothing comes and nothing goes any more, and nobody was told. */
  drop(): void {
    this.isDown = true
  }

  /** Of what has come, what was acknowledged without a gap. */
  get acknowledgedBytes(): number {
    return (this.ackedSeq - this.firstSeq) >>> 0
  }

  finish(): void {
    this.emitSegment(flag.fin | flag.ack)
    this.seq += 1
  }

  /** Waits for what was received to come true of it. */
  hear(isEnough: (connection: this) => boolean, mostMs?: number): Promise<void> {
    return until(() => isEnough(this) || this.isReset, mostMs)
  }

  take(segment: Segment): void {
    if (this.isDown) return
    if (segment.flags & flag.rst) {
      this.isReset = true
      return
    }
    if (segment.flags & flag.syn) {
      this.firstSeq = segment.seq + 1
      this.nextSeq = this.firstSeq
      this.ackedSeq = this.firstSeq
      this.isOpen = true
      this.emitSegment(flag.ack)
      return
    }
    const end = (segment.seq + segment.payload.length) >>> 0
    const fresh = (end - this.nextSeq) | 0
    if (fresh > 0 && ((segment.seq - this.nextSeq) | 0) <= 0) {
      const part = segment.payload.subarray(segment.payload.length - fresh)
      this.receivedBytes += part.length
      if (this.receivedBytes <= packetBytes) this.chunks.push(part)
      this.nextSeq = end
      if (this.ackPolicy === 'sack') this.sackFrom ??= end
    }
    if (segment.flags & flag.fin && end === this.nextSeq) {
      this.hasEnded = true
      this.nextSeq = (end + 1) >>> 0
    }
    if (segment.payload.length > 0 || segment.flags & flag.fin) this.acknowledge(segment.payload.length)
  }

  private acknowledge(pieceBytes = 0): void {
    if (this.ackPolicy === 'none' || this.isReset) return
    if (this.ackPolicy === 'sack') {
      this.sackFrom ??= this.nextSeq
      this.emitSegment(flag.ack, Uint8Array.of(), this.sackFrom === this.nextSeq ? Uint8Array.of() : this.sackOption())
      return
    }
    this.ackedSeq = this.ackPolicy === 'optimistic' ? (this.nextSeq + pieceBytes) >>> 0 : this.nextSeq
    this.emitSegment(flag.ack)
  }

  /** RFC 2018: one block, from behind the piece that is kept a secret to the last that has come. */
  private sackOption(): Uint8Array {
    const option = new Uint8Array(10)
    const view = new DataView(option.buffer)
    view.setUint16(0, (5 << 8) | 10)
    view.setUint32(2, this.sackFrom ?? 0)
    view.setUint32(6, this.nextSeq)
    return option
  }

  private emitSegment(
    flags: number,
    payload: Uint8Array = Uint8Array.of(),
    options: Uint8Array = Uint8Array.of(),
  ): void {
    if (this.isDown) return
    this.emit({
      from: { address: this.address, port: this.port },
      to: { address: this.peer, port: this.peerPort },
      seq: this.seq,
      ack: flags & flag.syn ? 0 : this.ackedSeq,
      flags,
      window: flags & flag.syn ? Math.min(this.window, 0xffff) : Math.min(0xffff, this.window >> windowScale),
      options,
      payload,
    })
  }
}

/**
 * Machines of their own at the other end of a TUN device: the system has no connection there, so it says nothing of its
 * own to what arrives, and none of them costs a descriptor. What is sent elsewhere through the device has no answer.
 */
export function openUserTcp(network: OwnNetwork, at: keyof typeof places = 'apart'): UserTcp {
  const place = places[at]
  const device = network.openTun('usertcp')
  if (at === 'apart') network.ip('address', 'add', place.network, 'dev', 'usertcp')
  network.ip('link', 'set', 'usertcp', 'up', 'mtu', '1500', 'txqueuelen', '10000')
  if (at === 'apart') {
    const route = ['route', 'change', '10.66.0.0/24', 'dev', 'usertcp', 'src', '10.66.0.1']
    network.ip(...route, 'initcwnd', String(initialSegments))
  }
  if (at === 'loopback') {
    // Linux takes loopback addresses from no other device unless it is told to.
    writeFileSync('/proc/sys/net/ipv4/conf/usertcp/route_localnet', '1')
    network.ip('route', 'add', 'unicast', place.network, 'dev', 'usertcp', 'table', 'local', 'src', '127.0.0.1')
  }
  const connections = new Map<number, UserConnection>()
  const packet = new Uint8Array(packetBytes)
  let nextPort = 20_000
  let isClosed = false

  function readAll(): void {
    for (let count = 0; count < mostPacketsAtOnce; count += 1) {
      const got = network.calls.read(device, ptr(packet), packetBytes)
      if (got <= 0) return
      const segment = readSegment(packet.subarray(0, got))
      if (segment) connections.get(segment.to.port)?.take(segment)
    }
  }

  function emit(segment: Segment): void {
    const bytes = writeSegment(segment)
    network.calls.write(device, ptr(bytes), bytes.length)
  }

  function listen(): void {
    if (isClosed) return
    readAll()
    setTimeout(listen, 1)
  }
  listen()

  return {
    address: at === 'apart' ? '10.66.0.1' : '127.0.0.1',
    async connect(port, { machine = 1, mss = 1460, window = 16 * 1024 * 1024 } = {}) {
      nextPort += 1
      const connection = new UserConnection(place.first + machine - 1, place.system, nextPort, port, mss, window, emit)
      connections.set(nextPort, connection)
      return connection.open()
    },
    takeAll: readAll,
    close() {
      isClosed = true
      network.calls.close(device)
    },
  }
}
