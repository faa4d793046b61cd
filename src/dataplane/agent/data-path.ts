import type { ReportBody } from '../../node-protocol/report.ts'

/** Counts are cumulative since the boot; `received` went to the customer, `sent` came from the customer. */
export type ProxyCount = Readonly<ReportBody['proxies'][number]>
export type SubuserCount = Readonly<ReportBody['subusers'][number]>
export type HostCount = Readonly<ReportBody['hosts'][number]>
export type ExitCounter = Readonly<NonNullable<ReportBody['exits']>[number]>
export type PeerCount = Readonly<ReportBody['peers'][number]>
/** `exits` are not billed and come from gateways only. */
export type NodeCounts = Pick<ReportBody, 'proxies' | 'subusers' | 'hosts' | 'peers' | 'exits'>
/** A whitelisted address that a customer connected from. */
export type ClientSource = Readonly<ReportBody['sources'][number]>

/** The part of a node that moves customers' bytes, a gateway engine or a WireGuard device, as its meter sees it. */
export type DataPath = {
  /** Cumulative counts of all subjects that changed since the last call. */
  takeChanged(): NodeCounts
  /** Addresses since the last call. */
  takeSources(): readonly ClientSource[]
  /** Called when a lease is requested. Returns bytes on their way to the customer that are not counted yet. */
  noteRequest?(id: string, pool: string): number
  /** The shop's answer: `received` + `sent` must not exceed `upto`. An unchanged value means that nothing is left. */
  allow(id: string, pool: string, upto: number): void
  /** Bytes per 200 ms at the current rate; sizes the next lease. */
  paceOf?(id: string, pool: string): number
  /** `hopBytes` is the part of `totalBytes` that belongs to other gateways. */
  readonly health: { readonly tunnels: number; readonly totalBytes: number; readonly hopBytes?: number }
}
