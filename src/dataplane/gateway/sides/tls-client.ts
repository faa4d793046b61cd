import type { TlsOwner, TlsSocket } from '../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../metering/tunnel-meter.ts'
import type { ClientParser } from '../ways-in/request.ts'
import type { SideSocket } from './side-socket.ts'
import type { Sockets } from './sockets.ts'

/** A client behind TLS: the plaintext of a connection, or of one HTTP/2 stream. */
export type TlsClient = Omit<SideSocket, 'localPort'> & {
  owner: TlsOwner | undefined
  readonly isClosed: boolean
  readonly source: string
  /** Of a stream, whose request has come, or of a protocol that the first bytes showed. */
  readonly parser?: ClientParser | undefined
  /** The parser has got no byte yet. */
  readonly isUnread?: boolean
  follow(): DeliveryWatch | undefined
}

/** Call before anything is written: all bytes sent so far belong to the handshake. */
export function toTlsClient(tls: TlsSocket, sockets: Sockets): TlsClient {
  noteHandshake(tls, sockets)
  return Object.assign(tls, { follow: () => followBunTls(tls, sockets) })
}

/** A client behind TLS counts as connected to the main port. An assignment, because Object.assign is not compiled. */
export function toSideSocket(client: TlsClient & { localPort?: number }, localPort: number): SideSocket {
  client.localPort = localPort
  return client as SideSocket
}

/** Call before anything is written. */
export function noteHandshake(tls: TlsSocket, sockets: Sockets): void {
  tls.handshakeBytes = sockets.sent?.(tls.fd) ?? 0
}

/** Tracks delivery of plaintext. */
export const followTls = (
  tls: TlsSocket & { follow?(): DeliveryWatch | undefined },
  sockets: Sockets,
): DeliveryWatch | undefined => (tls.follow ? tls.follow() : followBunTls(tls, sockets))

/** Handshake and record overhead count as sent first. */
function followBunTls(tls: TlsSocket, sockets: Sockets): DeliveryWatch | undefined {
  const watch = sockets.watch(tls.fd)
  if (!watch) return undefined
  return {
    transmission() {
      const seen = watch.transmission()
      const added = tls.handshakeBytes + tls.overhead
      return { ...seen, acknowledged: Math.max(0, seen.acknowledged - added), sent: Math.max(0, seen.sent - added) }
    },
    shutdown: () => watch.shutdown(),
    close: (reset) => watch.close(reset),
  }
}
