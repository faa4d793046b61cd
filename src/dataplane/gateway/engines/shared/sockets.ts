import { readAddress } from '../../../../core/address.ts'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import type { IsDeliveredHere } from '../../dial/upstream.ts'
import type { DeliveryWatch, Transmission } from '../../metering/tunnel-meter.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import type { ClientParser } from '../../ways-in/request.ts'
import type { Descriptors } from '../linux/descriptors.ts'
import { type Kernel, openKernel } from '../linux/kernel.ts'
import { openLibc } from '../linux/libc.ts'
import { EADDRNOTAVAIL } from '../linux/numbers.ts'
import { openRouteLookup } from '../linux/routes.ts'
import type { SideSocket } from './side-socket.ts'

/** Socket operations of the kernel that Bun lacks. */
export type Sockets = {
  /**
   * Starts to connect to a literal address, optionally from a local address; returns a descriptor or negative errno.
   * Without it, attempts cannot be cancelled.
   */
  readonly connect?: (there: ConnectTarget, from: string | undefined) => number
  /** Opens a route lookup; Linux only. */
  readonly openRoutes?: () => IsDeliveredHere
  /** Undefined if the platform cannot track delivery: written bytes count as delivered. */
  watch(descriptor: number): DeliveryWatch | undefined
  /** Acknowledged bytes; undefined if unknown. */
  acknowledged(descriptor: number): number | undefined
  /** Sent bytes; missing if the platform does not show them. */
  readonly sent?: (descriptor: number) => number
  /** Limits the receive buffer to 128 KiB, so that it and one read hold at most 256 KiB. */
  narrow(descriptor: number): void
  /** Lets the kernel size the receive buffer. */
  widen(descriptor: number): void
}

/** The kernel doubles it. */
const narrowBytes = 65_536
/**
 * Limit of unsent bytes in the kernel. Otherwise it takes megabytes for a slow reader and delivers them, uncounted,
 * after this process is killed. Bytes in flight are not limited.
 */
export const maxAhead = 256 * 1024

/**
 * Uses TCP_INFO, also after a reset. SIOCOUTQ may or may not count the FIN. `descriptors` owns those of watches, for a
 * thread that may end before them.
 */
export function createSockets(platform: NodeJS.Platform, descriptors?: Descriptors): Sockets {
  if (platform !== 'linux') return { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {} }
  const kernel = openKernel()
  const owner = descriptors
    ? {
        release(descriptor: number) {
          descriptors.release(descriptor)
          descriptors.flush()
        },
      }
    : { release: (descriptor: number) => kernel.close(descriptor) }
  return {
    connect(there, from) {
      const address = readAddress(there.host)
      const own = from === undefined ? undefined : readAddress(from)
      return address && (from === undefined || own) ? kernel.connect(address, there.port, own, false) : -EADDRNOTAVAIL
    },
    openRoutes: () => openRouteLookup(openLibc()).isDeliveredHere,
    acknowledged: (descriptor) => kernel.transmissionOf(descriptor).acknowledged,
    sent: (descriptor) => kernel.transmissionOf(descriptor).sent,
    narrow: (descriptor) => kernel.limitReceive(descriptor, narrowBytes),
    widen: (descriptor) => kernel.unlimitReceive(descriptor),
    watch(descriptor) {
      const own = descriptor < 0 ? -1 : kernel.duplicate(descriptor)
      if (own < 0 || descriptors?.own(own) === false) return undefined
      kernel.limitAhead(own, maxAhead)
      return new DescriptorWatch(kernel, own, owner)
    },
  }
}

/** Tracks delivery on a descriptor. A class without closures, to keep idle tunnels small. */
export class DescriptorWatch implements DeliveryWatch {
  private isClosed = false

  constructor(
    private readonly kernel: Pick<Kernel, 'transmissionOf' | 'shutdownBoth' | 'resetOnClose'>,
    private readonly descriptor: number,
    private readonly owner: { release(descriptor: number): void },
  ) {}

  transmission(): Transmission {
    return this.kernel.transmissionOf(this.descriptor)
  }

  shutdown(): void {
    this.kernel.shutdownBoth(this.descriptor)
  }

  close(reset: boolean): void {
    if (this.isClosed) return
    this.isClosed = true
    if (reset) this.kernel.resetOnClose(this.descriptor)
    this.owner.release(this.descriptor)
  }
}

/** A client behind TLS: the plaintext of a connection, or of one HTTP/2 stream. */
export type TlsClient = Omit<SideSocket, 'localPort'> & {
  owner: TlsOwner | undefined
  readonly isClosed: boolean
  readonly source: string
  /** Of a stream, whose request has come. */
  readonly parser?: ClientParser
  follow(): DeliveryWatch | undefined
}

/** Call before anything is written: all bytes sent so far belong to the handshake. */
export function toTlsClient(tls: TlsSocket, sockets: Sockets): TlsClient {
  noteHandshake(tls, sockets)
  return Object.assign(tls, { follow: () => followBunTls(tls, sockets) })
}

/** A client behind TLS counts as connected to the main port. */
export const toSideSocket = (client: TlsClient, localPort: number): SideSocket => Object.assign(client, { localPort })

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
