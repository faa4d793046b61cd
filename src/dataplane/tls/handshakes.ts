import { type InLine, Line } from '../../core/line.ts'
import { type Prefixes, Ranking, type Seat } from './seats.ts'

/** When there is no room, a handshake that has taken longer than this makes room for others. */
const graceMs = 2000

/** A TLS handshake that has begun. Its seat closes it for another; `expire` ends it because it took too long. */
export class Handshake implements InLine<Handshake> {
  before: Handshake | undefined
  behind: Handshake | undefined

  constructor(
    readonly seat: Seat,
    readonly beganAt: number,
    readonly expire: () => void,
  ) {}
}

/** Handshakes that have begun and not ended, by age and by network. Each operation takes constant time. */
export class Handshakes {
  private readonly byAge = new Line<Handshake>()
  private readonly byNetwork = new Ranking()

  get size(): number {
    return this.byAge.size
  }

  get oldest(): Handshake | undefined {
    return this.byAge.first
  }

  add(one: Handshake): void {
    this.byAge.join(one)
    this.byNetwork.add(one.seat)
  }

  remove(one: Handshake): void {
    this.byAge.leave(one)
    this.byNetwork.remove(one.seat)
  }

  /**
   * What to close for a newcomer: the oldest handshake of the network that has most of them, if the newcomer's has
   * fewer; otherwise the oldest of all, if it had time for several round trips.
   */
  findSpare({ network }: Prefixes, nowMs: number): Seat | undefined {
    const crowded = this.byNetwork.findSpare()
    const most = crowded ? this.byNetwork.countOf(crowded.prefixes.network) : 0
    if (most > this.byNetwork.countOf(network) + 1) return crowded
    const { oldest } = this
    return oldest && nowMs - oldest.beganAt >= graceMs ? oldest.seat : undefined
  }
}
