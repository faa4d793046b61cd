import type { Socket, SocketHandler } from 'bun'

export type TlsOwner = {
  /** It uses the bytes of onSocketData() during the call only. */
  readonly borrows?: boolean
  /** Bytes that came before a reset are still wanted, and a failure to send loses none of them. */
  readonly readsToEnd?: boolean
  onSocketData(bytes: Uint8Array): void
  onSocketDrain(): void
  onSocketEnd(): void
  onSocketClose(): void
}

/** RFC 8446, 5.1; RFC 5246, 6.2.1. */
const maxInRecord = 16_384
/** AES-GCM overhead per record: header, tag and type (RFC 8446, 5.2), or header, nonce and tag (RFC 5288, 3). */
const addedToRecord = { 'TLSv1.3': 22, 'TLSv1.2': 29 } as const

/** What Bun's sockets have and do not declare. */
export type WithDescriptor = { readonly fd?: number }

type BunTlsSocket = Socket<unknown> &
  WithDescriptor & { readonly alpnProtocol?: unknown; getTLSVersion?(): string; getServername?(): unknown }

/** Continues a connection that the kernel has accepted or begun. Bun takes descriptors and does not declare it. */
export const connectDescriptor = <Data = undefined>(
  fd: number,
  options: { readonly data?: Data; readonly socket: SocketHandler<Data> },
): Promise<Socket<Data>> => Bun.connect<Data>({ fd, allowHalfOpen: true, ...options } as never)

/** A TLS connection after its handshake; reads and writes plaintext. */
export type TlsSocket = {
  owner: TlsOwner | undefined
  readonly isClosed: boolean
  readonly source: string
  readonly fd: number
  /** Chosen by ALPN (RFC 7301). */
  readonly protocol: 'h2' | 'http/1.1'
  /** The name that the client asked for (SNI, RFC 6066); undefined if it named none. */
  readonly serverName: string | undefined
  /** Bytes sent during the handshake, set by delivery tracking. */
  handshakeBytes: number
  /** Bytes that TLS added since the handshake. */
  readonly overhead: number
  /** It has taken bytes that wait for the kernel: a drain follows. */
  readonly isHolding?: boolean
  /** The next bytes are the last: the end follows at once. */
  announceEnd?(): void
  /** Returns the bytes taken; offer the rest after a drain. */
  write(bytes: Uint8Array): number
  shutdown(): void
  end(): void
  terminate(): void
  pause(): void
  resume(): void
  setNoDelay(yes: boolean): void
}

/** TLS by Bun. */
export class BunTls implements TlsSocket {
  owner: TlsOwner | undefined
  isClosed = false
  handshakeBytes = 0
  private records = 0
  private readonly added: number
  readonly protocol: 'h2' | 'http/1.1'

  constructor(
    private readonly socket: BunTlsSocket,
    readonly source: string,
  ) {
    const version = socket.getTLSVersion?.()
    this.protocol = socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1'
    this.added = addedToRecord[version === 'TLSv1.2' ? 'TLSv1.2' : 'TLSv1.3']
  }

  get overhead(): number {
    return this.records * this.added
  }

  get fd(): number {
    return this.socket.fd ?? -1
  }

  get serverName(): string | undefined {
    const name = this.socket.getServername?.()
    return typeof name === 'string' ? name.toLowerCase() : undefined
  }

  write(bytes: Uint8Array): number {
    if (this.isClosed) return 0
    const gone = this.socket.write(bytes)
    if (gone > 0) this.records += Math.ceil(gone / maxInRecord)
    return gone
  }

  shutdown(): void {
    this.socket.shutdown()
  }

  end(): void {
    this.socket.end()
  }

  terminate(): void {
    this.socket.terminate()
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  setNoDelay(yes: boolean): void {
    this.socket.setNoDelay(yes)
  }
}
