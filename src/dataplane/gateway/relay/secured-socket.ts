import type { TlsSocket } from '../../tls/tls-socket.ts'
import { type DeliveryWatch, unwrapped } from '../metering/tunnel-meter.ts'
import type { SideSocket } from './side.ts'
import type { Sockets } from './sockets.ts'

/** A TLS socket as the socket of a side: it counts as connected to the main port, and tracks plaintext. */
export const toSideSocket = (tls: TlsSocket, localPort: number, sockets: Sockets): SideSocket =>
  Object.assign(tls, { localPort, follow: () => followTls(tls, sockets) })

/** Call before anything is written: all bytes sent so far belong to the handshake. */
export function noteHandshake(tls: TlsSocket, sockets: Sockets): void {
  const watch = sockets.watch(tls.fd)
  tls.handshakeBytes = watch?.transmission().sent ?? 0
  watch?.close(false)
}

/** Tracks delivery of plaintext: subtracts handshake and record overhead from the kernel's counts. */
export function followTls(tls: TlsSocket, sockets: Sockets): DeliveryWatch | undefined {
  const watch = sockets.watch(tls.fd)
  if (!watch) return undefined
  return {
    transmission: () => unwrapped(watch.transmission(), tls.handshakeBytes + tls.overhead),
    shut: () => watch.shut(),
    close: (reset) => watch.close(reset),
  }
}
