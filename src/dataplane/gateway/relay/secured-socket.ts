import type { TlsSocket } from '../../tls/tls-socket.ts'
import { unwrapped, type Watch } from '../metering/tunnel-meter.ts'
import type { SideSocket } from './side.ts'
import type { Sockets } from './sockets.ts'
export class SecuredSocket implements SideSocket {
  constructor(
    private readonly tls: TlsSocket,
    readonly localPort: number,
    private readonly sockets: Sockets,
  ) {}

  get fd(): number {
    return this.tls.fd
  }

  write(bytes: Uint8Array): number {
    return this.tls.write(bytes)
  }

  shutdown(): void {
    this.tls.shutdown()
  }

  end(): void {
    this.tls.end()
  }

  terminate(): void {
    this.tls.terminate()
  }

  pause(): void {
    this.tls.pause()
  }

  resume(): void {
    this.tls.resume()
  }

  setNoDelay(yes: boolean): void {
    this.tls.setNoDelay(yes)
  }

  follow(): Watch | undefined {
    return followTls(this.tls, this.sockets)
  }
}

/** Call before anything is written: all bytes sent so far belong to the handshake. */
export function noteHandshake(tls: TlsSocket, sockets: Sockets): void {
  const watch = sockets.watch(tls.fd)
  tls.handshakeBytes = watch?.transmission().sent ?? 0
  watch?.close(false)
}

/** Tracks delivery of plaintext: subtracts handshake and record overhead from the kernel's counts. */
export function followTls(tls: TlsSocket, sockets: Sockets): Watch | undefined {
  const watch = sockets.watch(tls.fd)
  if (!watch) return undefined
  return {
    transmission: () => unwrapped(watch.transmission(), tls.handshakeBytes + tls.overhead),
    shut: () => watch.shut(),
    close: (reset) => watch.close(reset),
  }
}
