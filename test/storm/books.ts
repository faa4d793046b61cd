/** A movement of a customer's money as the shop shows it. Kopecks. */
export type Movement = {
  readonly kind: 'credit' | 'charge' | 'refund'
  readonly amount: bigint
  readonly order: string | null
}

/** A refund over some orders; `confirmed` is undefined if it was requested and the answer was lost. */
export type Refund = { readonly orders: readonly string[]; confirmed: bigint | undefined }

/**
 * Bytes that a customer's machine has sent and received over one line, between two bounds that are equal unless the
 * line was cut.
 */
export type Transfer = {
  readonly fromMs: number
  readonly toMs: number
  readonly min: number
  readonly max: number
}

const mebibyte = 1024 * 1024
/** A count is written to the journal a little more than once a second. */
const noteMs = 1_000

export const kopecksOf = (roubles: number): bigint => BigInt(Math.round(roubles * 100))
export const bytesOf = (gigabytes: number): number => Math.round(gigabytes * 1e9)

/** The number of answered purchases that cost something, and how the statement has them. */
export type Purchases = { readonly acknowledged: number; readonly lost: number; readonly doubled: number }

/** The customer's knowledge from answers: nothing here was read from the shop's statement. */
export class MoneyBooks {
  /** By order, its price in the purchase's answer. */
  readonly charged = new Map<string, bigint>()
  readonly refunds: Refund[] = []
  /** By proxy, the price of its automatic renewal. It happens at most once: the next is due days later. */
  readonly renewals = new Map<number, bigint>()
  credited: bigint

  constructor(credited: bigint) {
    this.credited = credited
  }

  /** Differences between the shop's statement and these books. `renewalOf` names the proxy that an order renewed. */
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

  /** The number of answered purchases, and of these the missing and the doubled ones in the statement. */
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
    const requested = new Set(this.refunds.flatMap((each) => each.orders))
    for (const order of given.keys()) {
      if (!requested.has(order)) problems.push(`order ${order} was refunded and nobody asked for it`)
    }
    for (const { orders, confirmed } of this.refunds) {
      const sum = (of: ReadonlyMap<string, bigint>) => orders.reduce((total, each) => total + (of.get(each) ?? 0n), 0n)
      const refunded = sum(given)
      if (confirmed !== undefined && confirmed !== refunded)
        problems.push(`the refund of ${orders.join()} is ${refunded}, not ${confirmed}`)
      if (refunded > sum(this.charged)) problems.push(`${orders.join()} gave back more than it cost`)
    }
    return problems
  }
}

/** The bytes of one sub-user in one pool, as its own machine counted them. */
export class ByteBooks {
  /** Bytes bought, moved or refunded, as answered. */
  purchased = 0
  /** Whether a move or a refund was requested and never answered, so that `purchased` is unknown. */
  isUncertain = false
  /** The shop's bill at the last comparison. */
  private billed = 0
  /** Bytes relayed until then: minimum and maximum, where lines were cut. */
  readonly relayed = { min: 0, max: 0 }
  private transfers: Transfer[] = []

  note(transfer: Transfer): void {
    this.transfers.push(transfer)
  }

  /**
   * Since the last comparison: the minimum and maximum that must have been billed, given the times of gateway kills.
   */
  expected(gatewayKills: readonly number[]): { min: number; max: number; lost: number; isExact: boolean } {
    const sum = (of: (each: Transfer) => number) => this.transfers.reduce((total, each) => total + of(each), 0)
    const sinceMs = Math.min(...this.transfers.map((each) => each.fromMs))
    const kills = gatewayKills.filter((atMs) => atMs >= sinceMs)
    const lost = kills.reduce((total, atMs) => total + this.lostBy(atMs), 0)
    const [min, max] = [sum((each) => each.min), sum((each) => each.max)]
    return { min, max, lost, isExact: lost === 0 && min === max }
  }

  /**
   * The bytes that a kill may lose: 1 MiB of each line open within the last second, or all its bytes of that second.
   */
  private lostBy(atMs: number): number {
    const open = this.transfers.filter((each) => each.fromMs <= atMs && each.toMs >= atMs - noteMs)
    return open.reduce((total, each) => total + Math.min(each.max, Math.max(mebibyte, inLastSecond(each, atMs))), 0)
  }

  /** Bytes billed beyond the relayed ones; negative while reports are pending. */
  excess(used: number): number {
    return used - this.billed - this.expected([]).max
  }

  /** Whether the shop's bill is within the bounds. */
  compare(used: number, gatewayKills: readonly number[]): { problem: string | undefined; isExact: boolean } {
    const { min, max, lost, isExact } = this.expected(gatewayKills)
    const added = used - this.billed
    if (this.excess(used) > 0) return { problem: `billed ${added - max} bytes too many (${added} of ${max})`, isExact }
    if (added < min - lost) {
      return { problem: `billed ${min - added} bytes too few (${added} of ${min}, ${lost} may be lost)`, isExact }
    }
    return { problem: undefined, isExact }
  }

  /** Starts a new period. Returns the unbilled bytes of the previous one. */
  settle(used: number): number {
    const { min, max } = this.expected([])
    this.relayed.min += min
    this.relayed.max += max
    const unbilled = Math.max(0, min - (used - this.billed))
    this.billed = used
    this.transfers = []
    return unbilled
  }
}

/** All bytes of a short line; of a long one four times the average of one second, for its bursts. */
function inLastSecond(each: Transfer, atMs: number): number {
  const lastedMs = Math.max(noteMs, Math.min(each.toMs, atMs) - each.fromMs)
  return Math.min(each.max, (4 * each.max * noteMs) / lastedMs)
}
