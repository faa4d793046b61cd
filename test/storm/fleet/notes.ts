/** What the origin saw of one line: from where it came, for whom, and when, by the clock on the wall. */
type Note = { readonly address: string; readonly owner: string; readonly proxy: number | null; readonly at: number }

/** A time in which an address was somebody's, as the shop has it. */
export type Leased = {
  readonly address: string
  readonly owner: string
  readonly proxy: number
  readonly from: number
  readonly until: number
}

/** What has begun or ended may be as before for so long: a gateway has to hear of it first. */
const heardWithinMs = 3_000
/** A gateway that is cut from its shops hears later. Until it does, what was given up rests, and is nobody's. */
const restMs = 5 * 60_000
const mostKept = 500_000

/** What the origin saw, to be held against what the shop has sold. */
export class OriginNotes {
  private readonly all: Note[] = []

  get count(): number {
    return this.all.length
  }

  add(note: Note): void {
    if (this.all.length < mostKept) this.all.push(note)
  }

  /** Lines that left from an address that was not their owner's then, or was another's too. */
  findShared(leases: readonly Leased[], exits: ReadonlySet<string>): string[] {
    const byAddress = Map.groupBy(leases, (each) => each.address)
    return this.all.flatMap(({ address, owner, proxy, at }) => {
      if (proxy === null) return exits.has(address) ? [] : [`premium traffic of ${owner} left from ${address}`]
      if (exits.has(address)) return [`proxy ${proxy} of ${owner} left from ${address}, which is a premium exit`]
      const own = (byAddress.get(address) ?? []).filter((each) => each.proxy === proxy && each.owner === owner)
      const isOwn = own.some((each) => at >= each.from - heardWithinMs && at <= each.until + restMs)
      if (!isOwn) return [`proxy ${proxy} of ${owner} left from ${address}, which was not its own then`]
      const others = (byAddress.get(address) ?? []).filter(
        (each) => each.owner !== owner && at > each.from + heardWithinMs && at < each.until,
      )
      return others.map((each) => `${address} was ${each.owner}'s, and proxy ${proxy} of ${owner} left from it`)
    })
  }
}
