import { maxVanished, type VanishedItem } from '../../node-protocol/report.ts'

/** More are counted as gone and not named. */
const maxKept = 10_000

/**
 * Things that the node served and that a whole state did not have, until the shop has taken them. The shop knows which
 * of them have ended, and which its database has lost.
 */
export class VanishedItems {
  private readonly items: VanishedItem[] = []

  add(items: readonly VanishedItem[]): void {
    this.items.push(...items.slice(0, Math.max(0, maxKept - this.items.length)))
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
