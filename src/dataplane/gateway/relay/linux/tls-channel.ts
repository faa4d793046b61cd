import type { Watch } from '../../metering/tally.ts'
import type { Side } from '../side.ts'
import { Channel } from './channel.ts'
import { EPOLLERR, EPOLLHUP } from './numbers.ts'
import type { Reactor } from './reactor.ts'
import type { TlsMemory } from './tls-memory.ts'

/**
 * The plain end of a connection over TLS. Its socket leads to another thread, not to the customer: what has reached
 * him, that he has gone, and that he is to be cut off is said in memory that both threads see.
 */
export class TlsChannel extends Channel {
  constructor(
    reactor: Reactor,
    descriptor: number,
    side: Side,
    localPort: number,
    onGone: () => void,
    private readonly memory: TlsMemory,
  ) {
    super(reactor, descriptor, side, localPort, onGone)
  }

  /** A customer who has gone has not only said all: it is as if he had reset the connection. */
  override onEvents(events: number): void {
    super.onEvents(events & EPOLLHUP && this.memory.isGone ? events | EPOLLERR : events)
  }

  override terminate(): void {
    this.memory.isCut = true
    super.terminate()
  }

  follow(): Watch {
    const { memory } = this
    return {
      standing: () => ({
        acknowledged: memory.acknowledged,
        sent: memory.sent,
        selectedSegments: 0,
        unknownSegments: 0,
        segmentBytes: 0,
        isOver: memory.isOver,
      }),
      // It is closed already, which says the same.
      shut() {},
      close(reset) {
        if (reset) memory.isCut = true
      },
    }
  }
}
