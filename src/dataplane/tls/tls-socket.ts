import type { Socket } from 'bun'

/** Whoever is told what comes on a socket. A side of the gateway is one. */
export type TlsOwner = {
  onSocketData(bytes: Uint8Array): void
  onSocketDrain(): void
  onSocketEnd(): void
  onSocketClose(): void
}

/** The most that one record holds (RFC 8446, 5.1; RFC 5246, 6.2.1). */
const mostInRecord = 16_384
/** What AES-GCM adds to a record: header, tag and kind (RFC 8446, 5.2), or header, nonce and tag (RFC 5288, 3). */
const addedToRecord = { 'TLSv1.3': 22, 'TLSv1.2': 29 } as const

/** A connection whose handshake was made. What is written and read here is what the client means. */
export class TlsSocket {
  owner: TlsOwner | undefined
  isClosed = false
  /** What had gone out when the handshake was made; whoever counts sets it then. */
  handshakeBytes = 0
  private records = 0
  private readonly added: number

  constructor(
    private readonly socket: Socket<unknown>,
    /** The address that the client comes from. */
    readonly source: string,
  ) {
    this.added = addedToRecord[(socket as unknown as Versioned).getTLSVersion() === 'TLSv1.2' ? 'TLSv1.2' : 'TLSv1.3']
  }

  /** How many bytes TLS has added to all that was written since the handshake. */
  get overhead(): number {
    return this.records * this.added
  }

  get fd(): number {
    return (this.socket as unknown as { readonly fd?: number }).fd ?? -1
  }

  get localPort(): number {
    return this.socket.localPort
  }

  /** What of it was taken; the rest is to be offered again after a drain. */
  write(bytes: Uint8Array): number {
    if (this.isClosed) return 0
    const gone = this.socket.write(bytes)
    if (gone > 0) this.records += Math.ceil(gone / mostInRecord)
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

type Versioned = { getTLSVersion(): string }
