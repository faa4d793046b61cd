import { readAddress } from '../../../core/address.ts'
import type { DeliveryWatch, Transmission } from '../metering/tunnel-meter.ts'
import { maxUnsentBytes, type Sockets } from '../sides/sockets.ts'
import type { Descriptors } from './descriptors.ts'
import { type Kernel, openKernel } from './kernel.ts'
import { openLibc } from './libc.ts'
import { EADDRNOTAVAIL } from './numbers.ts'
import { openRouteLookup } from './routes.ts'

/** The kernel doubles it. */
const narrowBytes = 65_536

/**
 * Uses TCP_INFO, also after a reset. SIOCOUTQ may or may not count the FIN. `descriptors` owns those of watches, for a
 * thread that may end before them.
 */
export function createSockets(platform: NodeJS.Platform, descriptors?: Descriptors): Sockets {
  if (platform !== 'linux') {
    return { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {}, limitUnsent() {} }
  }
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
    limitUnsent: (descriptor, bytes) => kernel.limitUnsent(descriptor, bytes),
    watch(descriptor) {
      const own = descriptor < 0 ? -1 : kernel.duplicate(descriptor)
      if (own < 0 || descriptors?.own(own) === false) return undefined
      kernel.limitUnsent(own, maxUnsentBytes)
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
