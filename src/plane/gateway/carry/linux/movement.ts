import { readAddress } from '../../../../kernel/address.ts'
import type { Connected, Dialler } from '../../reach/dial.ts'
import { createConverse } from '../converse.ts'
import type { Movement } from '../core.ts'
import { patient, Side, type SideAround } from '../side.ts'
import type { Sockets } from '../sockets.ts'
import { Channel } from './channel.ts'
import { connectRefusalOf } from './connect-refusal.ts'
import type { PipePool } from './pipes.ts'
import type { Reactor } from './reactor.ts'
import { Tunnel, type TunnelDeps } from './tunnel.ts'

/** See `mostAhead` of the portable engine's sockets: what is taken ahead would be delivered uncounted after a kill. */
const mostAhead = 256 * 1024

/** How bytes move here: dialled and watched with the system's calls, carried by the kernel where it pays. */
export function createMovement(reactor: Reactor, pipes: PipePool, around: SideAround, clock: () => number): Movement {
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
    dialler: createDialler(reactor, around),
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

/** Only what was accepted is counted. */
const nobodyMinds = (): void => {}

function createDialler(reactor: Reactor, around: SideAround): Dialler<Side> {
  const { kernel, descriptors, timers } = reactor
  return {
    converse: createConverse(timers.after),

    connect(there, from, mostMs): Promise<Connected<Side>> {
      const address = readAddress(there.host)
      const own = from === undefined ? undefined : readAddress(from)
      if (!address || (from !== undefined && !own)) return Promise.resolve({ refusal: 'unreachable' })
      return new Promise((resolve) => {
        // Whatever else this turn brings is passed on first: making a connection takes the system longest.
        reactor.queue({
          takeTurn: () => begin(kernel.connect(address, there.port, own), mostMs, resolve),
          onFault: () => resolve({ refusal: 'unreachable' }),
        })
      })
    },
  }

  function begin(descriptor: number, mostMs: number, resolve: (connected: Connected<Side>) => void): void {
    if (descriptor < 0) resolve({ refusal: connectRefusalOf(-descriptor) })
    else if (!descriptors.own(descriptor)) resolve({ refusal: 'gateway_full' })
    else watch(descriptor, mostMs, resolve)
  }

  function watch(descriptor: number, mostMs: number, resolve: (connected: Connected<Side>) => void): void {
    const side = new Side(patient, around)
    const channel = new Channel(reactor, descriptor, side, 0, nobodyMinds)
    side.attach(channel)
    side.pause()
    const cancel = timers.after(mostMs, () => {
      side.abort()
      resolve({ refusal: 'connect_timeout' })
    })
    channel.watch((error) => {
      cancel()
      if (error === 0) resolve({ origin: side })
      else {
        side.abort()
        resolve({ refusal: connectRefusalOf(error) })
      }
    })
  }
}

/**
 * The descriptor itself is watched, and stays open until what was written is acknowledged. One read is small, so
 * nothing is narrowed.
 */
function createSockets({ kernel, descriptors }: Reactor): Sockets {
  return {
    acknowledged: () => undefined,
    narrow() {},
    widen() {},
    watch(descriptor) {
      if (!descriptors.isOwned(descriptor)) return undefined
      descriptors.share(descriptor)
      kernel.limitAhead(descriptor, mostAhead)
      let isClosed = false
      return {
        standing: () => kernel.standingOf(descriptor),
        shut: () => kernel.shutBoth(descriptor),
        close(reset) {
          if (isClosed) return
          isClosed = true
          if (reset) kernel.resetOnClose(descriptor)
          descriptors.release(descriptor)
        },
      }
    },
  }
}
