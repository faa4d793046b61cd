/** A movement of a customer's money as the shop shows it. Kopecks. */
export type Movement = {
  readonly kind: 'credit' | 'charge' | 'refund'
  readonly amount: bigint
  readonly order: string | null
}

/** What was given back of some orders together; `told` is undefined when it was asked for and the answer never came. */
export type Refund = { readonly orders: readonly string[]; told: bigint | undefined }

/**
 * What a customer's own machine has sent and got over one line, between two bounds that meet unless the line was cut.
 */
export type Transfer = {
  readonly fromMs: number
  readonly toMs: number
  readonly least: number
  readonly most: number
}

const mebibyte = 1024 * 1024
/** A count is written down a little less than once a second. */
const noteMs = 1_000

export const kopecksOf = (roubles: number): bigint => BigInt(Math.round(roubles * 100))
export const bytesOf = (gigabytes: number): number => Math.round(gigabytes * 1e9)

/** Of the purchases that were answered, those that cost something, and what the statement has of them. */
export type Purchases = { readonly acknowledged: number; readonly lost: number; readonly doubled: number }

/** What a customer has been told about money: nothing here was read from the shop's statement. */
export class MoneyBooks {
  /** By order, what it cost, as the purchase was answered. */
  readonly charged = new Map<string, bigint>()
  readonly refunds: Refund[] = []
  /** By proxy, what its renewal by itself costs. It happens once at most: the next is due days later. */
  readonly renewals = new Map<number, bigint>()
  credited: bigint

  constructor(credited: bigint) {
    this.credited = credited
  }

  /**
   * What the shop's statement has that these books have not, and the other way round. `renewalOf` tells which proxy
   * an order renewed.
   */
  compare(movements: readonly Movement[], balance: bigint, renewalOf: ReadonlyMap<string, number>): string[] {
    const problems: string[] = []
    const seen = new Map<string, number>()
    const renewed = new Set<number>()
    const given = new Map<string, bigint>()
    for (const { kind, amount, order } of movements) {
      if (kind === 'refund' && order !== null) given.set(order, (given.get(order) ?? 0n) + amount)
      if (kind !== 'charge' || order === null) continue
      seen.set(order, (seen.get(order) ?? 0) + 1)
      problems.push(...this.judgeCharge(order, -amount, renewalOf.get(order), renewed))
    }
    for (const [order, price] of this.charged) {
      const times = seen.get(order) ?? 0
      if (price > 0n && times !== 1) problems.push(`order ${order} was answered and is charged ${times} times`)
    }
    const sum = movements.reduce((total, each) => total + each.amount, 0n)
    if (sum !== balance) problems.push(`the movements add up to ${sum} and the balance is ${balance}`)
    const credits = movements.filter((each) => each.kind === 'credit').reduce((total, each) => total + each.amount, 0n)
    if (credits !== this.credited) problems.push(`${this.credited} was credited and the statement has ${credits}`)
    return [...problems, ...this.judgeRefunds(given)]
  }

  /** How many purchases were answered, and of these how many the statement has not, or more than once. */
  count(movements: readonly Movement[]): Purchases {
    const times = new Map<string, number>()
    for (const { kind, order } of movements) {
      if (kind === 'charge' && order !== null) times.set(order, (times.get(order) ?? 0) + 1)
    }
    const paid = [...this.charged].filter(([, price]) => price > 0n).map(([order]) => times.get(order) ?? 0)
    const [lost, doubled] = [paid.filter((each) => each === 0).length, paid.filter((each) => each > 1).length]
    return { acknowledged: paid.length, lost, doubled }
  }

  private judgeCharge(order: string, amount: bigint, proxy: number | undefined, renewed: Set<number>): string[] {
    const known = this.charged.get(order)
    if (known !== undefined) return known === amount ? [] : [`order ${order} cost ${known} and is charged ${amount}`]
    if (proxy === undefined) return [`order ${order} over ${amount} was never answered`]
    const price = this.renewals.get(proxy)
    if (price === undefined) return [`proxy ${proxy} was renewed and nobody asked for it`]
    if (renewed.has(proxy)) return [`proxy ${proxy} was renewed twice`]
    renewed.add(proxy)
    return price === amount ? [] : [`proxy ${proxy} was renewed for ${amount} in place of ${price}`]
  }

  private judgeRefunds(given: ReadonlyMap<string, bigint>): string[] {
    const problems: string[] = []
    const asked = new Set(this.refunds.flatMap((each) => each.orders))
    for (const order of given.keys()) {
      if (!asked.has(order)) problems.push(`order ${order} was refunded and nobody asked for it`)
    }
    for (const { orders, told } of this.refunds) {
      const sum = (of: ReadonlyMap<string, bigint>) => orders.reduce((total, each) => total + (of.get(each) ?? 0n), 0n)
      const stands = sum(given)
      if (told !== undefined && told !== stands)
        problems.push(`the refund of ${orders.join()} is ${stands}, not ${told}`)
      if (stands > sum(this.charged)) problems.push(`${orders.join()} gave back more than it cost`)
    }
    return problems
  }
}

/** The bytes of one sub-user in one pool, as its own machine saw them. */
export class ByteBooks {
  /** What was bought, moved here or away, or taken back, as it was answered. */
  purchased = 0
  /** Whether a move or a refund was asked for and never answered, so that `purchased` is not known. */
  isUncertain = false
  /** What the shop had billed when these books were last compared. */
  private billed = 0
  /** What was carried until then: at least, and at most, where lines were cut. */
  readonly carried = { least: 0, most: 0 }
  private transfers: Transfer[] = []

  note(transfer: Transfer): void {
    this.transfers.push(transfer)
  }

  /** Since the last comparison: what must have been billed at least and at most, given when gateways were killed. */
  expected(gatewayKills: readonly number[]): { least: number; most: number; lost: number; isExact: boolean } {
    const sum = (of: (each: Transfer) => number) => this.transfers.reduce((total, each) => total + of(each), 0)
    const sinceMs = Math.min(...this.transfers.map((each) => each.fromMs))
    const kills = gatewayKills.filter((atMs) => atMs >= sinceMs)
    const lost = kills.reduce((total, atMs) => total + this.lostBy(atMs), 0)
    const [least, most] = [sum((each) => each.least), sum((each) => each.most)]
    return { least, most, lost, isExact: lost === 0 && least === most }
  }

  /**
   * What a kill may lose: of each line that was open within the last second 1 MiB, or all that it carried in that
   * second.
   */
  private lostBy(atMs: number): number {
    const open = this.transfers.filter((each) => each.fromMs <= atMs && each.toMs >= atMs - noteMs)
    return open.reduce((total, each) => total + Math.min(each.most, Math.max(mebibyte, inLastSecond(each, atMs))), 0)
  }

  /** Whether the shop's bill is what it may be. */
  compare(used: number, gatewayKills: readonly number[]): { problem: string | undefined; isExact: boolean } {
    const { least, most, lost, isExact } = this.expected(gatewayKills)
    const added = used - this.billed
    if (added > most) return { problem: `billed ${added - most} bytes too many (${added} of ${most})`, isExact }
    if (added < least - lost) {
      return { problem: `billed ${least - added} bytes too few (${added} of ${least}, ${lost} may be lost)`, isExact }
    }
    return { problem: undefined, isExact }
  }

  /** From here on a new period is compared. Tells how many bytes of this one were not billed. */
  settle(used: number): number {
    const { least, most } = this.expected([])
    this.carried.least += least
    this.carried.most += most
    const unbilled = Math.max(0, least - (used - this.billed))
    this.billed = used
    this.transfers = []
    return unbilled
  }
}

/**
 * All of a short one; of a long one the part that a steady line would have carried in a second, four times over for
 * its bursts.
 */
function inLastSecond(each: Transfer, atMs: number): number {
  const lastedMs = Math.max(noteMs, Math.min(each.toMs, atMs) - each.fromMs)
  return Math.min(each.most, (4 * each.most * noteMs) / lastedMs)
}
