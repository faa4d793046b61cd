import { ptr, toArrayBuffer } from 'bun:ffi'
import { type Library, orZero, takeError } from './library.ts'

/** Ciphertext of one read. */
export const readBytes = 64 * 1024
/** The most that one write encrypts: bytes of one read in frames of HTTP/2 or a WebSocket. */
export const writeBytes = readBytes + 256
/** A record may have begun in an earlier read, and a flight of the handshake has certificates. */
const sparePlain = 32 * 1024
const outputBytes = 256 * 1024

const pointerBytes = 8
const BIO_CTRL_RESET = 1

/** Where ciphertext goes. An object, because a closure for each connection would enlarge idle tunnels. */
export type CiphertextSink = {
  /** Sends ciphertext at an address. Returns the bytes taken; 0 or less if the socket takes none. */
  send(address: number, bytes: number): number
}

/**
 * The buffers that all TLS connections of a thread share: OpenSSL reads ciphertext from one BIO pair and writes it to
 * another. Both are empty between calls, so an idle connection has no buffer, and an empty pair begins at its start,
 * whose address never changes.
 */
export class TlsBuffers {
  /** Received plaintext; overwritten by the next read of any connection. */
  readonly plain = new Uint8Array(new ArrayBuffer(readBytes + sparePlain))
  readonly plainAt = Number(ptr(this.plain))
  private readonly scratch = new Uint8Array(new ArrayBuffer(64 * 1024))
  private readonly scratchView = new DataView(this.scratch.buffer)
  private readonly scratchAt = Number(ptr(this.scratch))
  private readonly resent = new Uint8Array(new ArrayBuffer(outputBytes))
  private readonly resentAt = Number(ptr(this.resent))
  private inputWriter: number
  /** OpenSSL reads from the first and writes to the second; each connection has a reference. */
  readonly input: number
  readonly output: number
  private readonly outputReader: number
  /** Where ciphertext is received, up to `readBytes`. */
  readonly inputAt: number
  private readonly inputMemory: Uint8Array
  private readonly outputAt: number

  constructor(private readonly library: Library) {
    ;[this.inputWriter, this.input] = this.openPair(readBytes)
    ;[this.output, this.outputReader] = this.openPair(outputBytes)
    library.BIO_nwrite0(this.inputWriter, this.scratchAt)
    this.inputAt = this.pointerAt(0)
    this.inputMemory = new Uint8Array(toArrayBuffer(this.inputAt, 0, readBytes))
    library.BIO_nwrite0(this.output, this.scratchAt)
    this.outputAt = this.pointerAt(0)
  }

  /** For ciphertext that is in memory already. */
  fillInput(bytes: Uint8Array): void {
    this.inputMemory.set(bytes)
  }

  /** OpenSSL may read so many bytes that were received at `inputAt`. */
  offer(bytes: number): void {
    this.library.BIO_nwrite(this.inputWriter, this.scratchAt, bytes)
  }

  /** After a failed read, ciphertext may be left. */
  resetInput(): void {
    this.library.BIO_ctrl(this.inputWriter, BIO_CTRL_RESET, 0, 0)
  }

  /** Ciphertext that OpenSSL has written. */
  get pending(): number {
    return Math.max(0, this.library.BIO_nread0(this.outputReader, this.scratchAt))
  }

  resetOutput(): void {
    this.library.BIO_ctrl(this.output, BIO_CTRL_RESET, 0, 0)
  }

  /** Passes the pending ciphertext to `sink`; returns what it did not take, or undefined if it took all. */
  drain(pending: number, sink: CiphertextSink): Uint8Array | undefined {
    const { library, outputReader, scratchAt } = this
    const gone = sink.send(this.outputAt, pending)
    if (gone > 0) library.BIO_nread(outputReader, scratchAt, gone)
    return gone < pending ? this.takeOutput(pending - Math.max(0, gone)) : undefined
  }

  takeOutput(pending: number): Uint8Array {
    const bytes = new Uint8Array(pending)
    if (pending > 0) this.library.BIO_read(this.outputReader, bytes, pending)
    return bytes
  }

  /** As drain(), for ciphertext that was kept. */
  resend(kept: Uint8Array, sink: CiphertextSink): Uint8Array | undefined {
    const part = kept.subarray(0, outputBytes)
    this.resent.set(part)
    const gone = Math.max(0, sink.send(this.resentAt, part.length))
    return gone < kept.length ? kept.slice(gone) : undefined
  }

  /** A place for results of calls, with a fixed address. Overwritten by the next call. */
  readonly place = { at: this.scratchAt + 256, view: new DataView(this.scratch.buffer, 256, 256) }

  /** Connections must be freed before. */
  free(): void {
    if (this.inputWriter === 0) throw new Error('these TLS buffers are freed already')
    for (const bio of [this.inputWriter, this.input, this.output, this.outputReader]) this.library.BIO_free(bio)
    this.inputWriter = 0
  }

  private openPair(bytes: number): readonly [number, number] {
    const { library, scratchAt } = this
    if (library.BIO_new_bio_pair(scratchAt, bytes, scratchAt + pointerBytes, bytes) !== 1)
      throw new Error(`no BIO pair: ${takeError(library)}`)
    return [this.pointerAt(0), this.pointerAt(pointerBytes)]
  }

  private pointerAt(offset: number): number {
    return orZero(Number(this.scratchView.getBigUint64(offset, true)))
  }
}
