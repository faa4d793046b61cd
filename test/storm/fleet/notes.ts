/** One line as the origin saw it: its source address, its owner, and the wall-clock time. */
type Note = { readonly address: string; readonly owner: string; readonly proxy: number | null; readonly at: number }

/** A lease of an address to a customer, from the shop's database. */
export type Leased = {
  readonly address: string
  readonly owner: string
  readonly proxy: number
  readonly from: number
  readonly until: number
}

/** A change may take this long to reach a gateway. */
const appliedWithinMs = 3_000
/**
 * A gateway that is cut off learns of a change later. Until then a released address is in quarantine and leased to no
 * customer.
 */
const restMs = 5 * 60_000
const maxKept = 500_000

/** The lines that the origin saw, to be compared with the leases. */
export class OriginNotes {
  private readonly all: Note[] = []

  get count(): number {
    return this.all.length
  }

  add(note: Note): void {
    if (this.all.length < maxKept) this.all.push(note)
  }

  /** Lines that left from an address that was not leased to their owner then, or also to another customer. */
  findShared(leases: readonly Leased[], exits: ReadonlySet<string>): string[] {
    const byAddress = Map.groupBy(leases, (each) => each.address)
    return this.all.flatMap(({ address, owner, proxy, at }) => {
      if (proxy === null) return exits.has(address) ? [] : [`premium traffic of ${owner} left from ${address}`]
      if (exits.has(address)) return [`proxy ${proxy} of ${owner} left from ${address}, which is a premium exit`]
      const own = (byAddress.get(address) ?? []).filter((each) => each.proxy === proxy && each.owner === owner)
      const isOwn = own.some((each) => at >= each.from - appliedWithinMs && at <= each.until + restMs)
      if (!isOwn) return [`proxy ${proxy} of ${owner} left from ${address}, which was not its own then`]
      const others = (byAddress.get(address) ?? []).filter(
        (each) => each.owner !== owner && at > each.from + appliedWithinMs && at < each.until,
      )
      return others.map((each) => `${address} was ${each.owner}'s, and proxy ${proxy} of ${owner} left from it`)
    })
  }
}
