import { CString } from 'bun:ffi'
import { type CiphertextSink, type TlsBuffers, writeBytes } from './buffers.ts'
import type { TlsContext } from './context.ts'
import { DeliveryMarks } from './delivery-marks.ts'
import { type Library, orZero, takeError } from './library.ts'

const SSL_ERROR_WANT_READ = 2
const SSL_ERROR_ZERO_RETURN = 6
/** Ciphertext that waits for the socket: one write, and answers to a client that does not read. */
const maxKeptBytes = 192 * 1024

/** Libraries and buffers of one thread. */
export type TlsThread = { readonly library: Library; readonly buffers: TlsBuffers }

/**
 * A TLS connection free of sockets: ciphertext in and plaintext out, and the reverse. After each call the shared
 * buffers are empty: ciphertext that the socket did not take is kept here.
 */
export class TlsConnection {
  private ssl: number
  state: 'handshake' | 'open' | 'failed' = 'handshake'
  /** The peer has sent close_notify. */
  hasEnded = false
  private hasShutDown = false
  /** Ciphertext that is not sent yet. */
  private kept: Uint8Array | undefined
  /** The socket took less than it was given. */
  isFull = false
  /** Ciphertext so far, sent or kept. */
  produced = 0
  /** Plaintext taken by write() so far. */
  written = 0
  /** The library's reason, after a failure. */
  problem = ''
  private marks: DeliveryMarks | undefined

  constructor(
    private readonly thread: TlsThread,
    context: TlsContext,
    private readonly sink: CiphertextSink,
  ) {
    const { library, buffers } = thread
    this.ssl = orZero(library.SSL_new(context.address))
    if (this.ssl === 0) throw new Error(`no TLS connection: ${takeError(library)}`)
    // Each connection has its own reference to both.
    library.BIO_up_ref(buffers.input)
    library.SSL_set0_rbio(this.ssl, buffers.input)
    library.BIO_up_ref(buffers.output)
    library.SSL_set0_wbio(this.ssl, buffers.output)
    library.SSL_set_accept_state(this.ssl)
  }

  /** Decrypts ciphertext at `buffers.inputAt`. Returns the length of the plaintext in `buffers.plain`. */
  receive(bytes: number): number {
    const ssl = this.own()
    const { library, buffers } = this.thread
    const { plainAt, plain } = buffers
    if (this.state === 'failed') return 0
    buffers.offer(bytes)
    library.ERR_clear_error()
    let have = 0
    let got = 0
    do {
      have += got
      got = library.SSL_read(ssl, plainAt + have, plain.length - have)
    } while (got > 0)
    const error = library.SSL_get_error(ssl, got)
    if (error === SSL_ERROR_ZERO_RETURN) this.hasEnded = true
    else if (error !== SSL_ERROR_WANT_READ) this.fail()
    if (error !== SSL_ERROR_WANT_READ) buffers.resetInput()
    if (this.state === 'handshake' && library.SSL_is_init_finished(ssl) === 1) this.state = 'open'
    // Session tickets that were written with the end of the handshake travel with the answer to a request.
    this.emit(have > 0)
    return have
  }

  /**
   * Encrypts and sends. Returns the bytes taken: offer the rest when `isFull` is false again. `isLast`: close_notify
   * travels with them, if all are taken.
   */
  write(bytes: Uint8Array, isLast = false): number {
    const ssl = this.own()
    const { library, buffers } = this.thread
    let taken = 0
    while (taken < bytes.length && !this.isFull && this.state === 'open' && !this.hasShutDown) {
      const part = bytes.length <= writeBytes ? bytes : bytes.subarray(taken, taken + writeBytes)
      library.ERR_clear_error()
      if (library.SSL_write(ssl, part, part.length) !== part.length) {
        this.fail()
        break
      }
      taken += part.length
      this.written += part.length
      const pending = buffers.pending
      this.marks?.note(this.produced, this.produced + pending, this.written)
      if (isLast && taken === bytes.length) {
        this.writeEnd(ssl)
        this.emit(false)
      } else this.emit(false, pending)
    }
    return taken
  }

  /** Sends close_notify behind everything written. The peer may still send. */
  shutdown(): void {
    const ssl = this.own()
    if (this.hasShutDown || this.state !== 'open') return
    this.writeEnd(ssl)
    this.emit(false)
  }

  private writeEnd(ssl: number): void {
    this.hasShutDown = true
    this.thread.library.ERR_clear_error()
    this.thread.library.SSL_shutdown(ssl)
  }

  /** Sends ciphertext that was kept. True if none is left. */
  flush(): boolean {
    this.own()
    if (this.kept) this.kept = this.thread.buffers.resend(this.kept, this.sink)
    this.isFull = this.kept !== undefined
    return !this.isFull
  }

  /** Delivery is known for what is written from now on. */
  follow(): DeliveryMarks {
    this.marks ??= new DeliveryMarks(this.written)
    return this.marks
  }

  /** Chosen by ALPN (RFC 7301). */
  get protocol(): 'h2' | 'http/1.1' {
    const { at, view } = this.thread.buffers.place
    this.thread.library.SSL_get0_alpn_selected(this.own(), at, at + 8)
    // Only the length: the names that are offered differ in it.
    return view.getUint32(8, true) === 2 ? 'h2' : 'http/1.1'
  }

  /** The name that the client asked for (SNI, RFC 6066). */
  get serverName(): string | undefined {
    const address = orZero(this.thread.library.SSL_get_servername(this.own(), 0))
    return address === 0 ? undefined : new CString(address).toLowerCase()
  }

  get isFreed(): boolean {
    return this.ssl === 0
  }

  free(): void {
    this.thread.library.SSL_free(this.own())
    this.ssl = 0
    this.kept = undefined
  }

  private own(): number {
    if (this.ssl === 0) throw new Error('this TLS connection is freed already')
    return this.ssl
  }

  private fail(): void {
    this.state = 'failed'
    this.problem = takeError(this.thread.library)
  }

  /** Empties the shared output. `mayWait`: it may travel with the next write. */
  private emit(mayWait: boolean, pending = this.thread.buffers.pending): void {
    const { buffers } = this.thread
    this.produced += pending
    if (!this.kept && !mayWait) {
      if (pending > 0) this.kept = buffers.drain(pending, this.sink)
      this.isFull = this.kept !== undefined
      return
    }
    if (pending > 0) {
      const more = buffers.takeOutput(pending)
      this.kept = this.kept ? Buffer.concat([this.kept, more]) : more
    }
    if (!mayWait && !this.isFull) this.flush()
    if ((this.kept?.length ?? 0) > maxKeptBytes) this.fail()
  }
}
