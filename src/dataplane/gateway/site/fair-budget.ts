/** Bytes that the site holds for one request. */
export type BudgetShare = {
  /** Sets the number of bytes. False if there is no room; then the holding is empty. */
  resize(bytes: number): boolean
}

type Held = { bytes: number; readonly prefix: string; readonly drop: () => void }

/**
 * Bounds the bytes that are held for visitors, in all and for one client prefix. When all of it is in use, the oldest
 * holding of the prefix that holds most is dropped, unless the requesting prefix would hold as much.
 */
export class FairBudget {
  private readonly byPrefix = new Map<string, Set<Held>>()
  private total = 0

  constructor(private readonly max: { readonly all: number; readonly ofPrefix: number }) {}

  get bytes(): number {
    return this.total
  }

  open(prefix: string, drop: () => void): BudgetShare {
    const held: Held = { bytes: 0, prefix, drop }
    return { resize: (bytes) => this.resize(held, bytes) }
  }

  private resize(held: Held, bytes: number): boolean {
    this.remove(held)
    if (bytes === 0) return true
    const own = this.sumOf(held.prefix) + bytes
    if (own > this.max.ofPrefix || !this.makeRoom(bytes, own)) return false
    held.bytes = bytes
    this.total += bytes
    this.byPrefix.set(held.prefix, (this.byPrefix.get(held.prefix) ?? new Set()).add(held))
    return true
  }

  private remove(held: Held): void {
    this.total -= held.bytes
    held.bytes = 0
    const all = this.byPrefix.get(held.prefix)
    if (all?.delete(held) && all.size === 0) this.byPrefix.delete(held.prefix)
  }

  private makeRoom(bytes: number, own: number): boolean {
    while (this.total + bytes > this.max.all) {
      const largest = [...this.byPrefix.keys()].reduce((one, other) =>
        this.sumOf(one) < this.sumOf(other) ? other : one,
      )
      const [oldest] = this.byPrefix.get(largest) ?? []
      if (!oldest || this.sumOf(largest) <= own) return false
      this.remove(oldest)
      oldest.drop()
    }
    return true
  }

  private sumOf(prefix: string): number {
    let sum = 0
    for (const { bytes } of this.byPrefix.get(prefix) ?? []) sum += bytes
    return sum
  }
}
