import type { Address } from '../../../../core/address.ts'
import { recallAddress } from '../../../../core/known-addresses.ts'
import { nowhere, type Place, Roster } from '../../../../core/roster.ts'
import type { RefusalCode } from '../../access/refusals.ts'
import type { Connected, Dialler, IsDeliveredHere } from '../../dial/dial.ts'
import type { Transmission, Watch } from '../../metering/tunnel-meter.ts'
import type { Movement } from '../core.ts'
import { createConverse, patient, Side, type SideAround } from '../side.ts'
import type { Sockets } from '../sockets.ts'
import { Channel } from './channel.ts'
import type { PipePool } from './descriptors.ts'
import { connectRefusalOf } from './kernel.ts'
import type { Reactor, TurnTaker } from './reactor.ts'
import { Tunnel, type TunnelDeps } from './splice-relay.ts'

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

/** How often it is looked who has waited too long for a destination, and which destination for the customer. */
const lookEveryMs = 25

/** Only what was accepted is counted. */
const nobodyMinds = (): void => {}

type Tell = (connected: Connected<Side>) => void
/** Those that are open; those made since the last look stand in `made`. */
type Attempts = { readonly open: Roster<'placeAmongOpen', Attempt>; made: Side[] }

/** Dials with the system's calls. */
function createDialler(reactor: Reactor, around: SideAround, isDeliveredHere: IsDeliveredHere): Dialler<Side> {
  const { timers } = reactor
  /** Nearly all are made at once, so nobody has a timer of his own. */
  const attempts: Attempts = { open: new Roster('placeAmongOpen'), made: [] }
  let isLooking = false

  function look(): void {
    isLooking = false
    attempts.open.forEach((attempt) => {
      if (reactor.nowMs >= attempt.giveUpAt) attempt.giveUp()
    })
    // An origin that speaks first would wait for the system, which takes 200 ms.
    for (const side of attempts.made) if (!side.isClosed && side.written === 0) reactor.kernel.speakUp(side.descriptor)
    attempts.made = []
    lookLater()
  }

  function lookLater(): void {
    if (isLooking || (attempts.open.size === 0 && attempts.made.length === 0)) return
    isLooking = true
    timers.after(lookEveryMs, look)
  }

  return {
    isDeliveredHere,
    converse: createConverse(timers.after),

    connect(there, from, mostMs): Promise<Connected<Side>> {
      const address = recallAddress(there.host)
      const own = from === undefined ? undefined : recallAddress(from)
      if (!address || (from !== undefined && !own)) return Promise.resolve({ refusal: 'unreachable' })
      return new Promise((resolve) => {
        const attempt = new Attempt(
          reactor,
          around,
          attempts,
          address,
          there.port,
          own,
          reactor.nowMs + mostMs,
          resolve,
        )
        // Whatever else this turn brings is passed on first: making a connection takes the system longest.
        reactor.queue(attempt)
        attempts.open.add(attempt)
        lookLater()
      })
    },
  }
}

/** One connection to a destination, until it is made or has failed. */
class Attempt implements TurnTaker {
  placeAmongOpen: Place = nowhere
  private side: Side | undefined

  constructor(
    private readonly reactor: Reactor,
    private readonly around: SideAround,
    private readonly attempts: Attempts,
    private readonly address: Address,
    private readonly port: number,
    private readonly from: Address | undefined,
    readonly giveUpAt: number,
    private readonly tell: Tell,
  ) {}

  takeTurn(): void {
    const { reactor } = this
    if (!this.attempts.open.has(this)) return
    const descriptor = reactor.kernel.connect(this.address, this.port, this.from, true)
    if (descriptor < 0) this.fail(connectRefusalOf(-descriptor))
    else if (!reactor.descriptors.own(descriptor)) this.fail('gateway_full')
    else {
      const side = new Side(patient, this.around)
      this.side = side
      const channel = new Channel(reactor, descriptor, side, 0, nobodyMinds)
      side.attach(channel)
      side.pause()
      channel.watch(this)
    }
  }

  /** 0, or the system's number for what was in the way. */
  onConnected(error: number): void {
    const { side } = this
    if (error !== 0 || !side) this.fail(connectRefusalOf(error))
    else if (this.attempts.open.delete(this)) {
      this.attempts.made.push(side)
      this.tell({ origin: side })
    }
  }

  giveUp(): void {
    this.fail('connect_timeout')
  }

  onFault(): void {
    this.fail('unreachable')
  }

  private fail(refusal: RefusalCode): void {
    if (!this.attempts.open.delete(this)) return
    this.side?.abort()
    this.tell({ refusal })
  }
}
