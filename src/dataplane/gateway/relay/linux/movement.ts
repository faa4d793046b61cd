import type { IsDeliveredHere } from '../../dial/dial.ts'
import type { Transmission } from '../../metering/shown.ts'
import type { Watch } from '../../metering/tally.ts'
import type { Movement } from '../core.ts'
import { patient, type SideAround } from '../side.ts'
import type { Sockets } from '../sockets.ts'
import { Channel } from './channel.ts'
import { createDialler } from './dialler.ts'
import type { PipePool } from './pipes.ts'
import type { Reactor } from './reactor.ts'
import { Tunnel, type TunnelDeps } from './tunnel.ts'

/** See `mostAhead` of the portable engine's sockets: what is taken ahead would be delivered uncounted after a kill. */
const mostAhead = 256 * 1024

/** How bytes move here: dialled and watched with the system's calls, carried by the kernel where it pays. */
export function createMovement(
  reactor: Reactor,
  pipes: PipePool,
  around: SideAround,
  clock: () => number,
  isDeliveredHere: IsDeliveredHere,
): Movement {
  const { after } = reactor.timers
  const tunnelDeps: TunnelDeps = {
    calls: reactor.kernel,
    pipes,
    clock,
    queue: (flow) => reactor.queue(flow),
    noteHeld: around.noteHeld,
  }
  return {
    after,
    sockets: createSockets(reactor),
    dialler: createDialler(reactor, around, isDeliveredHere),
    tunnel(client, passage, fromClient, fromOrigin) {
      const [near, far] = [client.transport, passage.origin.transport]
      if (!(near instanceof Channel) || !(far instanceof Channel)) throw new Error('a side of another engine')
      if (client.isClosed || passage.origin.isClosed) {
        passage.finish()
        passage.origin.abort()
        client.close()
        return
      }
      const tunnel = new Tunnel(near, far, passage, tunnelDeps)
      // Whoever read the handshake is held by nobody any more: an idle tunnel is small.
      client.own(patient)
      near.enter(tunnel)
      far.enter(tunnel)
      tunnel.start(client.takeHeld(), fromClient, fromOrigin)
    },
  }
}

/**
 * The descriptor itself is watched, and stays open until what was written is acknowledged. One read is small, so
 * nothing is narrowed.
 */
function createSockets(reactor: Reactor): Sockets {
  const { kernel, descriptors } = reactor
  return {
    acknowledged: () => undefined,
    narrow() {},
    widen() {},
    watch(descriptor) {
      if (!descriptors.isOwned(descriptor)) return undefined
      descriptors.share(descriptor)
      kernel.limitAhead(descriptor, mostAhead)
      return new DescriptorWatch(reactor, descriptor)
    },
  }
}

/** A class, and nothing made for each: a tunnel that stands idle is small. */
class DescriptorWatch implements Watch {
  private isClosed = false

  constructor(
    private readonly reactor: Reactor,
    private readonly descriptor: number,
  ) {}

  standing(): Transmission {
    return this.reactor.kernel.standingOf(this.descriptor)
  }

  shut(): void {
    this.reactor.kernel.shutBoth(this.descriptor)
  }

  close(reset: boolean): void {
    if (this.isClosed) return
    this.isClosed = true
    if (reset) this.reactor.kernel.resetOnClose(this.descriptor)
    this.reactor.descriptors.release(this.descriptor)
  }
}
