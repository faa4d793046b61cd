import { maxVanished, type VanishedItem, vanishedSchema } from '../../node-protocol/report.ts'

/** More are counted as gone and not named. */
const maxKept = 10_000

/**
 * Things that the node served and that a whole state did not have, until the shop has taken them. The shop knows which
 * of them have ended, and which its database has lost.
 */
export class VanishedItems {
  private readonly items: VanishedItem[] = []

  add(items: readonly VanishedItem[]): void {
    // The shop refuses a report with an item that it cannot read, and the usage in it.
    const readable = items.filter((item) => vanishedSchema.safeParse(item).success)
    this.items.push(...readable.slice(0, Math.max(0, maxKept - this.items.length)))
  }

  /** The oldest ones, as many as a report has room for. */
  batch(): readonly VanishedItem[] {
    return this.items.slice(0, maxVanished)
  }

  /** Drops what a report had. */
  settle(sent: readonly VanishedItem[]): void {
    if (this.items[0] === sent[0]) this.items.splice(0, sent.length)
  }
}
