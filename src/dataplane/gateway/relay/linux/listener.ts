import { patient, Side, type SideAround } from '../side.ts'
import { Channel } from './channel.ts'
import { EAGAIN } from './numbers.ts'
import type { Pollable, Reactor } from './reactor.ts'

/** How many are taken in before the others have their turn. */
const mostAccepted = 64
/** Without room for another descriptor the system would tell of the same newcomers for ever. */
const restMs = 100

/** A port on which customers come. Its descriptor belongs to whoever opened it. */
export class Listener implements Pollable {
  private readonly onGone = (): void => this.core.departed()
  private isClosed = false
  private isResting = false

  constructor(
    private readonly reactor: Reactor,
    private readonly descriptor: number,
    private readonly port: number,
    private readonly around: SideAround,
    private readonly core: { accepted(side: Side, source: string): void; departed(): void },
  ) {
    reactor.watchLevel(descriptor, this)
  }

  onEvents(): void {
    const { kernel, descriptors } = this.reactor
    for (let count = 0; count < mostAccepted; count += 1) {
      const descriptor = kernel.accept(this.descriptor)
      if (descriptor < 0) {
        if (descriptor !== -EAGAIN) this.rest()
        return
      }
      const source = kernel.acceptedFrom()
      if (descriptors.own(descriptor)) this.begin(descriptor, source)
    }
  }

  /** One newcomer that is a bug to us does not keep out the others. */
  onFault(): void {}

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    if (!this.isResting) this.reactor.unwatch(this.descriptor)
  }

  private begin(descriptor: number, source: string): void {
    const { reactor, core, around } = this
    const side = new Side(patient, around)
    const channel = new Channel(reactor, descriptor, side, this.port, this.onGone)
    side.attach(channel)
    core.accepted(side, source)
    if (!side.isClosed) channel.watch()
  }

  private rest(): void {
    this.isResting = true
    this.reactor.unwatch(this.descriptor)
    this.reactor.timers.after(restMs, () => {
      this.isResting = false
      if (!this.isClosed) this.reactor.watchLevel(this.descriptor, this)
    })
  }
}
