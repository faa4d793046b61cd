import type { ReportBody } from '../../node-protocol/report.ts'

/**
 * What the agent asks of whatever carries bytes on this node: a gateway's engine or a WireGuard device. Counts are
 * those of a report: cumulative since the boot, never falling; `received` went to the customer, `sent` came from the
 * customer.
 */

export type ProxyCount = Readonly<ReportBody['proxies'][number]>
export type SubuserCount = Readonly<ReportBody['subusers'][number]>
export type HostCount = Readonly<ReportBody['hosts'][number]>
export type ExitCount = Readonly<NonNullable<ReportBody['exits']>[number]>
export type PeerCount = Readonly<ReportBody['peers'][number]>
export type Counts = {
  readonly proxies: readonly ProxyCount[]
  readonly subusers: readonly SubuserCount[]
  readonly hosts: readonly HostCount[]
  readonly peers: readonly PeerCount[]
  /** What went through exits, of no bill; only gateways have them. */
  readonly exits?: readonly ExitCount[]
}

export type Carrier = {
  /**
   * Whatever changed since this was last asked, each with its whole count. The asker keeps what it has not passed on
   * yet.
   */
  takeChanged(): Counts
  /** Whitelisted addresses that somebody came from since this was last asked. */
  takeSources(): readonly { readonly id: string; readonly address: string }[]
  /**
   * A question for more goes out, with the counts of this moment. Tells what is on its way to the customer and not
   * counted yet. Without it, nothing ever is.
   */
  noteAsked?(id: string, pool: string): number
  /**
   * The shop's answer: both directions together must not pass `upto`. Unchanged, it means that there is no more to have
   * now.
   */
  allow(id: string, pool: string, upto: number): void
  /** How many bytes pass in a moment at the present pace: a lease of that size is worth having. */
  paceOf?(id: string, pool: string): number
  /** Connections or devices that are up, all bytes carried since the boot, and those for other gateways among them. */
  readonly health: { readonly tunnels: number; readonly carried: number; readonly relayed?: number }
}

/** What the carrier asks of the agent in its turn. All of it returns at once. */
export type Agent = {
  /**
   * The carrier runs low for this sub-user in this pool. The answer comes with allow(); asking twice meanwhile is
   * asking once.
   */
  wantLease(id: string, pool: string): void
  /** Nobody uses it any more: what is left may go back. */
  giveBack(id: string, pool: string): void
  /** A tunnel has carried a MiB since counts were last written down: write them down now, not at the next second. */
  noteNow(): void
}
