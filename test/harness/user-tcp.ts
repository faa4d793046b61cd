import { ptr } from 'bun:ffi'
import { writeFileSync } from 'node:fs'
import { until } from './engine.ts'
import type { OwnNetwork } from './own-network.ts'
import { flag, readSegment, type Segment, writeSegment } from './tcp-segment.ts'

/**
 * How a client acknowledges: correctly (`normal`); not at all (`none`); all except one segment, selectively, so that
 * its cumulative acknowledgement never moves (`sack`); or one segment more than it has (`optimistic`).
 */
export type AckPolicy = 'none' | 'sack' | 'normal' | 'optimistic'

export type UserTcp = {
  /** The address of the kernel's programs as seen from here. */
  readonly address: string
  /** Opens a connection as a machine with this MSS and window. There are 250 machines; the default is the first. */
  connect(port: number, options?: { machine?: number; mss?: number; window?: number }): Promise<UserConnection>
  /** Reads all packets that the kernel has sent so far. */
  takeAll(): void
  close(): void
}

/** The addresses of the kernel and of the first machine; the network is the /24 of all machines. */
type TestSubnet = { readonly system: number; readonly first: number; readonly network: string }

/** A private network, whose first address is the kernel's. */
const apart: TestSubnet = { system: 0x0a420001, first: 0x0a420002, network: '10.66.0.1/24' }
/** Machines with loopback addresses, for programs that accept only local clients. */
const loopback: TestSubnet = { system: 0x7f000001, first: 0x7f420002, network: '127.66.0.0/24' }
const subnets = { apart, loopback } as const

const windowScale = 10
/**
 * The kernel's initial congestion window, 1.4 MB. With the default of 10 segments, or the window after a timeout on a
 * busy machine, it would stop sending to a client that acknowledges nothing before the test's amount has arrived.
 */
const initialSegments = 1000
const packetBytes = 2048
const maxPacketsAtOnce = 4096

/**
 * The client end of a TCP connection whose acknowledgements the test controls. It loses nothing and retransmits
 * nothing.
 */
export class UserConnection {
  ackPolicy: AckPolicy = 'normal'
  isReset = false
  hasEnded = false
  /** Received bytes, acknowledged or not; each byte once. */
  receivedBytes = 0
  private isOpen = false
  private isDown = false
  private seq = 1000
  /** The peer's first sequence number, and the next expected one. */
  private firstSeq = 0
  private nextSeq = 0
  /** The cumulative acknowledgement; and the end of the first segment beyond it, where the `sack` block begins. */
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

  /** Announces a window; 0 stops the peer. */
  setWindow(bytes: number): void {
    this.window = bytes
    this.acknowledge()
  }

  /** Resets the connection, as a killed program does. */
  reset(): void {
    if (this.isReset) return
    this.isReset = true
    this.emitSegment(flag.rst | flag.ack)
  }

  /** The line is down: no packet passes any more, and no side gets a notice. */
  drop(): void {
    this.isDown = true
  }

  /** The received bytes that were acknowledged without a gap. */
  get acknowledgedBytes(): number {
    return (this.ackedSeq - this.firstSeq) >>> 0
  }

  finish(): void {
    this.emitSegment(flag.fin | flag.ack)
    this.seq += 1
  }

  /** Waits until the condition holds for the received bytes, or the connection was reset. */
  readUntil(isEnough: (connection: this) => boolean, maxMs?: number): Promise<void> {
    return until(() => isEnough(this) || this.isReset, maxMs)
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

  /** RFC 2018: one block, from behind the unacknowledged segment to the last received byte. */
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
 * Machines at the other end of a TUN device: the kernel has no connection there, so it sends nothing on its own, and
 * none of them costs a descriptor. Packets to other addresses of the device get no answer.
 */
export function openUserTcp(network: OwnNetwork, at: keyof typeof subnets = 'apart'): UserTcp {
  const subnet = subnets[at]
  const device = network.openTun('usertcp')
  if (at === 'apart') network.ip('address', 'add', subnet.network, 'dev', 'usertcp')
  network.ip('link', 'set', 'usertcp', 'up', 'mtu', '1500', 'txqueuelen', '10000')
  if (at === 'apart') {
    const route = ['route', 'change', '10.66.0.0/24', 'dev', 'usertcp', 'src', '10.66.0.1']
    network.ip(...route, 'initcwnd', String(initialSegments))
  }
  if (at === 'loopback') {
    // By default Linux accepts loopback addresses from no other device.
    writeFileSync('/proc/sys/net/ipv4/conf/usertcp/route_localnet', '1')
    network.ip('route', 'add', 'unicast', subnet.network, 'dev', 'usertcp', 'table', 'local', 'src', '127.0.0.1')
  }
  const connections = new Map<number, UserConnection>()
  const packet = new Uint8Array(packetBytes)
  let nextPort = 20_000
  let isClosed = false

  function readAll(): void {
    for (let count = 0; count < maxPacketsAtOnce; count += 1) {
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
      const connection = new UserConnection(
        subnet.first + machine - 1,
        subnet.system,
        nextPort,
        port,
        mss,
        window,
        emit,
      )
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
