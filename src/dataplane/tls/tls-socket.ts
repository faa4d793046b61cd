import type { Socket } from 'bun'

export type TlsOwner = {
  onSocketData(bytes: Uint8Array): void
  onSocketDrain(): void
  onSocketEnd(): void
  onSocketClose(): void
}

/** RFC 8446, 5.1; RFC 5246, 6.2.1. */
const maxInRecord = 16_384
/** AES-GCM overhead per record: header, tag and type (RFC 8446, 5.2), or header, nonce and tag (RFC 5288, 3). */
const addedToRecord = { 'TLSv1.3': 22, 'TLSv1.2': 29 } as const

/** A TLS connection after its handshake; reads and writes plaintext. */
export class TlsSocket {
  owner: TlsOwner | undefined
  isClosed = false
  /** Bytes sent during the handshake, set by delivery tracking. */
  handshakeBytes = 0
  private records = 0
  private readonly added: number
  /** Chosen by ALPN (RFC 7301). */
  readonly protocol: 'h2' | 'http/1.1'

  constructor(
    private readonly socket: Socket<unknown>,
    readonly source: string,
  ) {
    const version = (socket as unknown as { getTLSVersion(): string }).getTLSVersion()
    this.protocol = (socket as { readonly alpnProtocol?: unknown }).alpnProtocol === 'h2' ? 'h2' : 'http/1.1'
    this.added = addedToRecord[version === 'TLSv1.2' ? 'TLSv1.2' : 'TLSv1.3']
  }

  /** Bytes that TLS added since the handshake. */
  get overhead(): number {
    return this.records * this.added
  }

  get fd(): number {
    return (this.socket as unknown as { readonly fd?: number }).fd ?? -1
  }

  /** The name that the client asked for (SNI, RFC 6066); undefined if it named none. */
  get serverName(): string | undefined {
    const name = (this.socket as { getServername?(): unknown }).getServername?.()
    return typeof name === 'string' ? name.toLowerCase() : undefined
  }

  /** Returns the bytes taken; offer the rest after a drain. */
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
