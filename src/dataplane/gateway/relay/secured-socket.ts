import type { TlsSocket } from '../../tls/tls-socket.ts'
import { unwrapped, type Watch } from '../metering/tunnel-meter.ts'
import type { SideSocket } from './side.ts'
import type { Sockets } from './sockets.ts'
/** A customer's connection over TLS, as a side uses it: only what is meant is written, read and counted. */
export class SecuredSocket implements SideSocket {
  constructor(
    private readonly tls: TlsSocket,
    /** It stands for the first port, where everybody is asked for a name. */
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

/** To be called before anything is written: what has gone out until now was the handshake. */
export function noteHandshake(tls: TlsSocket, sockets: Sockets): void {
  const watch = sockets.watch(tls.fd)
  tls.handshakeBytes = watch?.standing().sent ?? 0
  watch?.close(false)
}

/** Follows what was written over TLS: the system counts the handshake too, and what was put around every record. */
export function followTls(tls: TlsSocket, sockets: Sockets): Watch | undefined {
  const watch = sockets.watch(tls.fd)
  if (!watch) return undefined
  return {
    standing: () => unwrapped(watch.standing(), tls.handshakeBytes + tls.overhead),
    shut: () => watch.shut(),
    close: (reset) => watch.close(reset),
  }
}
