import { type DeliveryWatch, nothingShown } from '../metering/tunnel-meter.ts'

/** Bytes of a stream, and their end in the plaintext of its connection. */
type Mark = { readonly end: number; readonly bytes: number }

/** Delivery tracking of a connection, with a descriptor of its own that its streams share. */
export class ConnectionDelivery {
  private watch: DeliveryWatch | undefined
  private users = 0
  private isClosed = false

  constructor(private readonly open: () => DeliveryWatch | undefined) {}

  share(): DeliveryWatch | undefined {
    this.watch ??= this.open()
    if (this.watch) this.users += 1
    return this.watch
  }

  release(): void {
    this.users -= 1
    this.closeWhenUnused()
  }

  /** The connection has closed. Streams may still wait for acknowledgements. */
  close(): void {
    this.isClosed = true
    this.closeWhenUnused()
  }

  private closeWhenUnused(): void {
    if (this.isClosed && this.users === 0) this.watch?.close(false)
  }
}

/** Tracks which bytes of one stream the client's machine has acknowledged. */
export class StreamDelivery implements DeliveryWatch {
  private marks: Mark[] = []
  private acknowledged = 0
  private written = 0
  private isClosed = false

  constructor(
    private readonly connection: DeliveryWatch,
    private readonly release: () => void,
  ) {}

  note(end: number, bytes: number): void {
    this.marks.push({ end, bytes })
    this.written += bytes
  }

  transmission() {
    const seen = this.connection.transmission()
    let count = 0
    for (const { end, bytes } of this.marks) {
      if (end > seen.acknowledged) break
      this.acknowledged += bytes
      count += 1
    }
    if (count > 0) this.marks = this.marks.slice(count)
    const { acknowledged, written: sent } = this
    return { ...nothingShown, acknowledged, sent, isOver: seen.isOver }
  }

  // The connection belongs to other streams too.
  shutdown(): void {}

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.release()
  }
}

/** The connection of a stream. */
export type StreamPlace = {
  readonly fd: number
  readonly delivery: ConnectionDelivery
  /** Bytes of the connection so far, written or waiting. */
  position(): number
  /** The stream is a customer's. */
  noteAdmitted(): void
}
