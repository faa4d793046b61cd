import type { ReportBody } from '../../node-protocol/report.ts'

/**
 * One item of a list in a report. Counts are cumulative since the boot; `received` went to the customer. A source is a
 * whitelisted address that a customer connected from.
 */
export type Reported<List extends ReportList> = Readonly<NonNullable<ReportBody[List]>[number]>
type ReportList = 'proxies' | 'subusers' | 'hosts' | 'peers' | 'exits' | 'sources'

/** `exits` are not billed and come from gateways only. */
export type NodeCounts = Pick<ReportBody, 'proxies' | 'subusers' | 'hosts' | 'peers' | 'exits'>

/** The part of a node that moves customers' bytes, a gateway engine or a WireGuard device, as its meter sees it. */
export type DataPath = {
  /** Cumulative counts of all subjects that changed since the last call. */
  takeChanged(): NodeCounts
  /** Addresses since the last call. */
  takeSources(): readonly Reported<'sources'>[]
  /** Called when a lease is requested. Returns bytes on their way to the customer that are not counted yet. */
  noteRequest?(id: string, pool: string): number
  /** The shop's answer: `received` + `sent` must not exceed `upto`. An unchanged value means that nothing is left. */
  allow(id: string, pool: string, upto: number): void
  /** Bytes per 200 ms at the current rate; sizes the next lease. */
  paceOf?(id: string, pool: string): number
  /** `hopBytes` is the part of `totalBytes` that belongs to other gateways. */
  readonly health: { readonly tunnels: number; readonly totalBytes: number; readonly hopBytes?: number }
}
