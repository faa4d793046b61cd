import type { Address } from '../../../../core/address.ts'
import { recallAddress } from '../../../../core/known-addresses.ts'
import { nowhere, type Place, Roster } from '../../../../core/roster.ts'
import type { RefusalCode } from '../../access/refusals.ts'
import type { Connected, Dialler, IsDeliveredHere } from '../../dial/dial.ts'
import { createConverse } from '../converse.ts'
import { patient, Side, type SideAround } from '../side.ts'
import { Channel } from './channel.ts'
import { connectRefusalOf } from './connect-refusal.ts'
import type { Reactor, TurnTaker } from './reactor.ts'

/** How often it is looked who has waited too long for a destination, and which destination for the customer. */
const lookEveryMs = 25

/** Only what was accepted is counted. */
const nobodyMinds = (): void => {}

type Tell = (connected: Connected<Side>) => void
/** Those that are open; those made since the last look stand in `made`. */
type Attempts = { readonly open: Roster<'placeAmongOpen', Attempt>; made: Side[] }

/** Dials with the system's calls. */
export function createDialler(reactor: Reactor, around: SideAround, isDeliveredHere: IsDeliveredHere): Dialler<Side> {
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
