import { notInSet, type SetIndex } from '../../../core/swap-remove-set.ts'
import type { ByteAllowance, Counted } from './allowance.ts'

/** TCP state of a client connection; bytes since it was opened. */
export type Transmission = {
  /** Cumulatively acknowledged bytes; one more after the FIN was acknowledged. */
  readonly acknowledged: number
  /** Bytes sent at least once, without those still in the send buffer. */
  readonly sent: number
  /** Selectively acknowledged segments (RFC 2018). */
  readonly selectedSegments: number
  /** Sent segments without any acknowledgement; never underestimated. */
  readonly unknownSegments: number
  /** Maximum segment size. */
  readonly segmentBytes: number
  /** Reset, or closed by both sides: no further acknowledgements. */
  readonly isOver: boolean
}

/**
 * Lower bound of the bytes that the client's machine has acknowledged. The kernel counts selective acknowledgements in
 * segments, which may be shorter than the maximum.
 */
export function shownOf(transmission: Transmission): number {
  const { acknowledged, sent, selectedSegments, unknownSegments, segmentBytes } = transmission
  const beyond = Math.max(0, sent - acknowledged - unknownSegments * segmentBytes)
  return acknowledged + Math.min(beyond, selectedSegments * segmentBytes)
}

/** For a closed descriptor. */
export const nothingShown: Transmission = {
  acknowledged: 0,
  sent: 0,
  selectedSegments: 0,
  unknownSegments: 0,
  segmentBytes: 0,
  isOver: true,
}

/** Tracks acknowledgements of a socket, also after the socket is closed. */
export type DeliveryWatch = {
  transmission(): Transmission
  /** Shuts both directions down; written bytes still go out. */
  shutdown(): void
  /** With `reset`, unsent bytes are discarded. */
  close(reset: boolean): void
}

/** A client socket as metering sees it. */
export type CustomerEnd = {
  /** Bytes that the kernel has taken. */
  readonly written: number
  readonly heldBytes: number
  delivery: Delivery | undefined
}

/** How long a closed connection may wait for its last acknowledgements. */
const settleMs = 30_000

/** Bytes written to one client socket, and how many of them were acknowledged. */
export class Delivery {
  /** Array: almost always one entry. */
  meters: readonly TunnelMeter[] = []
  private final: { readonly shown: number; readonly sent: number } | undefined
  private closedAt: number | undefined
  private isCut = false
  private watch: DeliveryWatch | undefined
  /** Largest segment size seen: after a path MTU decrease, older segments are longer. */
  private maxSegmentBytes = 0

  constructor(
    private readonly end: CustomerEnd,
    readonly onClosed: (delivery: Delivery) => void,
  ) {}

  follow(watch: () => DeliveryWatch | undefined): void {
    this.watch ??= watch()
  }

  /** Bytes acknowledged since the connection began. */
  shown(): number {
    if (this.final) return this.final.shown
    return this.watch ? Math.min(this.end.written, shownOf(this.look(this.watch))) : this.end.written
  }

  private look(watch: DeliveryWatch): Transmission {
    const transmission = watch.transmission()
    this.maxSegmentBytes = Math.max(this.maxSegmentBytes, transmission.segmentBytes)
    return { ...transmission, segmentBytes: this.maxSegmentBytes }
  }

  /** Bytes sent, acknowledged or not; known after settle(). */
  get sent(): number {
    return this.final?.sent ?? 0
  }

  cut(): void {
    this.isCut = true
  }

  /** After close: true once the acknowledged bytes are final. */
  settle(nowMs: number): boolean {
    if (this.final) return true
    const { written } = this.end
    if (!this.watch) {
      this.final = { shown: written, sent: written }
      return true
    }
    const isFirst = this.closedAt === undefined
    this.closedAt ??= nowMs
    const transmission = this.look(this.watch)
    const isWhole = transmission.acknowledged >= written
    if (!isWhole && !transmission.isOver && !this.isCut && nowMs - this.closedAt < settleMs) {
      if (isFirst) this.watch.shutdown()
      return false
    }
    const shown = Math.min(written, shownOf(transmission))
    this.final = { shown, sent: Math.max(shown, Math.min(written, transmission.sent)) }
    this.watch.close(!isWhole)
    return true
  }
}

/** Counts the bytes of one tunnel, or of one request and its response. */
export class TunnelMeter {
  isOver = false
  isClosed = false
  movingIndex: SetIndex = notInSet
  /** Taken for the client, delivered or not. */
  protected given = 0
  private confirmed = 0
  /** Position of this tunnel's first byte in the client's stream. */
  private from: number | undefined

  constructor(
    readonly allowance: ByteAllowance,
    protected readonly end: CustomerEnd,
    readonly delivery: Delivery,
    /** Set if hosts are recorded. */
    private readonly host: string | undefined,
    /** An opaque id of the customer. */
    readonly owner: string,
    protected readonly onTaken: (meter: TunnelMeter, bytes: number) => void,
    /** Totals of the exit. */
    private readonly through?: Counted,
  ) {}

  /** Takes and counts bytes from the client. */
  takeSent(bytes: number): number {
    const taken = this.allowance.take(bytes)
    this.allowance.count(this.host, 0, taken)
    if (this.through) this.through.sent += taken
    this.onTaken(this, taken)
    return taken
  }

  /** Takes bytes for the client; they are counted when acknowledged. */
  takeReceived(bytes: number): number {
    this.from ??= this.end.written + this.end.heldBytes
    const taken = this.allowance.take(bytes)
    this.given += taken
    this.onTaken(this, taken)
    return taken
  }

  /** Counts newly acknowledged bytes. */
  confirm(): number {
    return this.given === this.confirmed ? 0 : this.countUpTo(this.reach(this.delivery.shown()))
  }

  /** After settling: bytes sent but never acknowledged. */
  get lost(): number {
    return Math.max(0, this.reach(this.delivery.sent) - this.confirmed)
  }

  countLost(bytes: number): number {
    return this.countUpTo(Math.min(this.given, this.confirmed + bytes))
  }

  private countUpTo(total: number): number {
    const added = total - this.confirmed
    if (added <= 0) return 0
    this.confirmed += added
    this.allowance.count(this.host, added, 0)
    if (this.through) this.through.received += added
    return added
  }

  /** Bytes of this tunnel before a position in the client's stream. */
  protected reach(position: number): number {
    return Math.min(this.given, Math.max(0, position - (this.from ?? 0)))
  }

  get undelivered(): number {
    return this.given - this.confirmed
  }

  cut(): void {
    this.delivery.cut()
  }
}

/** A capsule in the client's stream: where it ends, and the payload bytes up to there. */
type Mark = { readonly end: number; readonly payload: number }

/** Counts the payload of datagrams in the client's stream, each once its capsule is acknowledged whole. */
export class CapsuleMeter extends TunnelMeter {
  /** Of capsules that are not acknowledged; at most what the backlog and the kernel hold. */
  private marks: Mark[] = []
  private shown = 0

  /** Call after a capsule was written, whose payload was reserved. */
  noteWritten(payloadBytes: number): void {
    this.given += payloadBytes
    this.marks.push({ end: this.end.written + this.end.heldBytes, payload: this.given })
    this.onTaken(this, payloadBytes)
  }

  override confirm(): number {
    const position = this.delivery.shown()
    const next = this.marks.findIndex(({ end }) => end > position)
    const gone = next < 0 ? this.marks.length : next
    this.shown = this.marks[gone - 1]?.payload ?? this.shown
    this.marks = this.marks.slice(gone)
    return super.confirm()
  }

  protected override reach(position: number): number {
    return this.marks.findLast(({ end }) => end <= position)?.payload ?? this.shown
  }
}
