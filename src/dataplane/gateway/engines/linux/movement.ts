import { type Address, readAddressCached } from '../../../../core/address.ts'
import { notInSet, type SetIndex, SwapRemoveSet } from '../../../../core/swap-remove-set.ts'
import type { Connected, Dialler, IsDeliveredHere } from '../../dial/upstream.ts'
import { Relay } from '../../relay/relay.ts'
import { createConverse, ignoringOwner, Side, type SideAround } from '../../sides/side.ts'
import type { Sockets } from '../../sides/sockets.ts'
import type { PipePool } from '../../system/descriptors.ts'
import { connectRefusalOf } from '../../system/kernel.ts'
import { DescriptorWatch } from '../../system/sockets.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { EngineSockets } from '../shared/core.ts'
import { Channel, TlsChannel } from './channel.ts'
import { type DatagramBatch, openDatagramsBy } from './datagrams.ts'
import type { HopMessage } from './messages.ts'
import type { Reactor, TurnTaker } from './reactor.ts'
import { makeTlsMemory, viewTlsMemory } from './shared-memory.ts'
import { type RelayDeps, SpliceRelay } from './splice-relay.ts'

/** Socket operations of this engine: dialling, watching, relaying. */
export function createMovement(
  reactor: Reactor,
  pipes: PipePool,
  around: SideAround,
  clock: () => number,
  isDeliveredHere: IsDeliveredHere,
  batch: DatagramBatch,
  postHop: (message: HopMessage) => void,
): EngineSockets {
  const { after } = reactor.timers
  const relayDeps: RelayDeps = {
    calls: reactor.kernel,
    pipes,
    clock,
    queue: (flow) => reactor.queue(flow),
    noteHeld: around.noteHeld,
  }
  return {
    after,
    around,
    sockets: createSockets(reactor),
    dialler: createDialler(reactor, around, isDeliveredHere, postHop),
    openDatagrams: openDatagramsBy(reactor, batch),
    startRelay(client, tunnel, fromClient, fromOrigin) {
      const [near, far] = [client.socket, tunnel.origin.socket]
      // The bytes of TLS are in this process: they cannot be spliced.
      if (!(near instanceof Channel) || !(far instanceof Channel))
        return new Relay(client, tunnel, clock).start(fromClient, fromOrigin)
      if (client.isClosed || tunnel.origin.isClosed) {
        tunnel.finish()
        tunnel.origin.abort()
        client.close()
        return
      }
      const relay = new SpliceRelay(near, far, tunnel, relayDeps)
      // Frees the handshake's memory.
      client.own(ignoringOwner)
      near.enter(relay)
      far.enter(relay)
      relay.start(client.takeHeld(), fromClient, fromOrigin)
    },
  }
}

/** Watches the descriptor itself, which stays open until everything is acknowledged. */
function createSockets(reactor: Reactor): Sockets {
  const { kernel, descriptors } = reactor
  return {
    acknowledged: (descriptor) => kernel.transmissionOf(descriptor).acknowledged,
    // The kernel enlarges a receive buffer only as fast as it is read.
    narrow() {},
    widen() {},
    acceptsShy: true,
    limitUnsent: (descriptor, bytes) => kernel.limitUnsent(descriptor, bytes),
    watch(descriptor) {
      if (!descriptors.isOwned(descriptor)) return undefined
      descriptors.share(descriptor)
      return new DescriptorWatch(kernel, descriptor, descriptors)
    },
  }
}

/** Interval between timeout checks of connection attempts. */
const lookEveryMs = 25

/** Outgoing connections are not counted. */
const ignore = (): void => {}

/** `made`: connected since the last check. */
type Attempts = { readonly open: SwapRemoveSet<'openIndex', Attempt>; made: Side[] }

function createDialler(
  reactor: Reactor,
  around: SideAround,
  isDeliveredHere: IsDeliveredHere,
  postHop: (message: HopMessage) => void,
): Dialler<Side> {
  const { timers } = reactor
  /** One timer for all attempts, because nearly all succeed at once. */
  const attempts: Attempts = { open: new SwapRemoveSet('openIndex'), made: [] }
  let isLooking = false

  function look(): void {
    isLooking = false
    attempts.open.forEach((attempt) => {
      if (reactor.nowMs >= attempt.giveUpAt) attempt.giveUp()
    })
    // Sends the delayed ACK to an origin that speaks first, which would otherwise wait 200 ms.
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
    connectHop: (gateway) => connectHop(reactor, around, gateway.id, postHop),

    connect(there, from, maxMs): Promise<Connected<Side>> {
      const address = readAddressCached(there.host)
      const own = from === undefined ? undefined : readAddressCached(from)
      if (!address || (from !== undefined && !own)) return Promise.resolve({ refusal: 'unreachable' })
      return new Promise((resolve) => {
        const attempt = new Attempt(reactor, around, attempts, address, there.port, own, reactor.nowMs + maxMs, resolve)
        // Connecting is the slowest call: the rest of the turn comes first.
        reactor.queue(attempt)
        attempts.open.add(attempt)
        lookLater()
      })
    },
  }
}

/** The main thread bridges the far end of a socket pair to a stream of its TLS connection. */
function connectHop(
  reactor: Reactor,
  around: SideAround,
  gateway: string,
  postHop: (message: HopMessage) => void,
): Connected<Side> {
  const { kernel, descriptors } = reactor
  const pair = kernel.openPair()
  if (typeof pair === 'number') return { refusal: 'gateway_full' }
  const [near, far] = pair
  const owned = pair.filter((each) => descriptors.own(each))
  if (owned.length < 2) {
    for (const each of owned) descriptors.release(each)
    return { refusal: 'gateway_full' }
  }
  const memory = makeTlsMemory()
  const side = new Side(ignoringOwner, around)
  const channel = new TlsChannel(viewTlsMemory(memory), reactor, near, side, 0, ignore)
  side.attach(channel)
  side.pause()
  channel.watch()
  postHop({ type: 'hop', gateway, descriptor: far, memory })
  return { origin: side }
}

class Attempt implements TurnTaker {
  openIndex: SetIndex = notInSet
  private side: Side | undefined

  constructor(
    private readonly reactor: Reactor,
    private readonly around: SideAround,
    private readonly attempts: Attempts,
    private readonly address: Address,
    private readonly port: number,
    private readonly from: Address | undefined,
    readonly giveUpAt: number,
    private readonly tell: (connected: Connected<Side>) => void,
  ) {}

  takeTurn(): void {
    const { reactor } = this
    if (!this.attempts.open.has(this)) return
    const descriptor = reactor.kernel.connect(this.address, this.port, this.from, true)
    if (descriptor < 0) this.fail(connectRefusalOf(-descriptor))
    else if (!reactor.descriptors.own(descriptor)) this.fail('gateway_full')
    else {
      const side = new Side(ignoringOwner, this.around)
      this.side = side
      const channel = new Channel(reactor, descriptor, side, 0, ignore)
      side.attach(channel)
      side.pause()
      channel.watch(this)
    }
  }

  /** `error` is an errno, or 0. */
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
