import { dlopen, ptr } from 'bun:ffi'
import type { Socket } from 'bun'
import { waitLimitMs } from './until.ts'

const { symbols: libc } = dlopen('libc.so.6', {
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
})
const ipProtoTcp = 6
const tcpInfo = 11
const receivedAt = 128
const solSocket = 1
const soLinger = 13
const soReceiveBuffer = 8

/** Limit of the bytes kept for inspection: heads and handshakes. The rest is only counted. */
const maxKept = 64 * 1024
/** Longer than Linux delays an acknowledgement (200 ms): by then the peer knows of all received bytes. */
const quietMs = 250

/** The time limit of a client passed without the awaited bytes. */
export class ClientTimeout extends Error {}

/** A client that knows the bytes its kernel has received, read or not. */
export class WireClient {
  /** All bytes read, from the first. */
  total = 0
  kept = Buffer.alloc(0)
  hasEnded = false
  isClosed = false
  /** The time of the last arrival, and the longest time between two. */
  lastMs = performance.now()
  longestGapMs = 0
  /** Called with every piece as it arrives. */
  onBytes: ((bytes: Uint8Array) => void) | undefined
  private socket: Socket | undefined
  private pauseAt = Number.POSITIVE_INFINITY
  private unsent: Uint8Array | undefined
  private readonly waiting = new Set<() => void>()

  /** With `tls` sent and read bytes are plaintext; `got` counts ciphertext. */
  static async connect(
    port: number,
    hostname = '127.0.0.1',
    localAddress?: string,
    tls: boolean | 'h2' = false,
  ): Promise<WireClient> {
    const client = new WireClient()
    const shaken = Promise.withResolvers<void>()
    const options = {
      ...(tls !== false && {
        tls: { rejectUnauthorized: false, ...(tls === 'h2' && { ALPNProtocols: '\x02h2' }) },
      }),
      hostname,
      port,
      allowHalfOpen: true,
      ...(localAddress !== undefined && { localAddress }),
      socket: {
        handshake: () => shaken.resolve(),
        data: (_: Socket, bytes: Uint8Array) => client.take(bytes),
        drain: () => client.flush(),
        end: () => client.note(() => void (client.hasEnded = true)),
        close() {
          shaken.resolve()
          client.note(() => void (client.isClosed = true))
        },
        // A reset is followed by close.
        error: () => {},
      },
    }
    client.socket = await Bun.connect(options)
    if (tls) await shaken.promise
    client.lastMs = performance.now()
    return client
  }

  /** Resolves when the kernel has accepted all bytes, or the connection is gone. */
  async send(bytes: Uint8Array): Promise<void> {
    this.unsent = bytes
    this.flush()
    await this.until(() => this.unsent === undefined || this.isClosed)
  }

  /** Waits until the condition holds, or the connection is closed. */
  async until(isSo: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + waitLimitMs
    while (!isSo() && !this.isClosed) {
      if (performance.now() > giveUpAt) {
        this.close()
        throw new ClientTimeout(`nothing came of it: ${this.total} bytes read`)
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      this.waiting.add(resolve)
      const timer = setTimeout(resolve, 5000)
      await promise
      clearTimeout(timer)
      this.waiting.delete(resolve)
    }
  }

  untilEnd(): Promise<void> {
    return this.until(() => this.hasEnded)
  }

  /** Reads about so many bytes more and then pauses. */
  readOnly(bytes: number): void {
    this.pauseAt = this.total + bytes
    if (bytes === 0) this.socket?.pause()
  }

  /** Limits the receive buffer of this socket. */
  narrow(bytes: number): void {
    const max = Int32Array.of(bytes)
    libc.setsockopt(this.descriptor, solSocket, soReceiveBuffer, ptr(max), max.byteLength)
  }

  /** Reads about so many bytes until the next call; after the end of the stream, all that is left. */
  readSome(bytes: number): void {
    this.pauseAt = this.hasEnded ? Number.POSITIVE_INFINITY : this.total + bytes
    this.socket?.resume()
  }

  readOn(): void {
    this.pauseAt = Number.POSITIVE_INFINITY
    this.socket?.resume()
  }

  /** Half-closes the connection. */
  finish(): void {
    this.socket?.shutdown()
  }

  close(): void {
    this.socket?.end()
  }

  /** All bytes of the stream that this machine has received, read or not. */
  get got(): number {
    const info = new Uint8Array(256)
    const length = Uint32Array.of(info.length)
    if (libc.getsockopt(this.descriptor, ipProtoTcp, tcpInfo, ptr(info), ptr(length)) !== 0) return this.total
    return Number(new DataView(info.buffer).getBigUint64(receivedAt, true))
  }

  /** Resets the connection once no more bytes arrive, and returns the received bytes. */
  async reset(): Promise<number> {
    for (let before = -1; before !== this.got && !this.isClosed; ) {
      before = this.got
      await Bun.sleep(quietMs)
    }
    const { got } = this
    this.drop()
    return got
  }

  /** Resets the connection now. */
  drop(): void {
    const atOnce = Int32Array.of(1, 0)
    libc.setsockopt(this.descriptor, solSocket, soLinger, ptr(atOnce), atOnce.byteLength)
    this.socket?.terminate()
  }

  private get descriptor(): number {
    return (this.socket as { readonly fd?: number } | undefined)?.fd ?? -1
  }

  private take(bytes: Uint8Array): void {
    const nowMs = performance.now()
    this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.lastMs)
    this.lastMs = nowMs
    this.total += bytes.length
    if (this.kept.length < maxKept) this.kept = Buffer.concat([this.kept, bytes])
    if (this.total >= this.pauseAt) this.socket?.pause()
    this.onBytes?.(bytes)
    this.note(() => {})
  }

  private flush(): void {
    const bytes = this.unsent
    if (!bytes || this.isClosed) return
    const gone = Math.max(0, this.socket?.write(bytes) ?? 0)
    this.unsent = gone === bytes.length ? undefined : bytes.subarray(gone)
    if (!this.unsent) this.note(() => {})
  }

  private note(happened: () => void): void {
    happened()
    for (const wake of this.waiting) wake()
  }
}
