import type { ReportBody } from '../../node-protocol/report.ts'

/** Counts are cumulative since the boot; `received` went to the customer, `sent` came from the customer. */
export type ProxyCount = Readonly<ReportBody['proxies'][number]>
export type SubuserCount = Readonly<ReportBody['subusers'][number]>
export type HostCount = Readonly<ReportBody['hosts'][number]>
export type ExitCounter = Readonly<NonNullable<ReportBody['exits']>[number]>
export type PeerCount = Readonly<ReportBody['peers'][number]>
export type NodeCounts = {
  readonly proxies: readonly ProxyCount[]
  readonly subusers: readonly SubuserCount[]
  readonly hosts: readonly HostCount[]
  readonly peers: readonly PeerCount[]
  /** Per exit, not billed; gateways only. */
  readonly exits?: readonly ExitCounter[]
}

/** The part of a node that moves customers' bytes, a gateway engine or a WireGuard device, as its meter sees it. */
export type DataPath = {
  /** Cumulative counts of all subjects that changed since the last call. */
  takeChanged(): NodeCounts
  /** Whitelisted addresses that customers connected from since the last call. */
  takeSources(): readonly { readonly id: string; readonly address: string }[]
  /** Called when a lease is requested. Returns bytes on their way to the customer that are not counted yet. */
  noteRequest?(id: string, pool: string): number
  /** The shop's answer: `received` + `sent` must not exceed `upto`. An unchanged value means that nothing is left. */
  allow(id: string, pool: string, upto: number): void
  /** Bytes per 200 ms at the current rate; sizes the next lease. */
  paceOf?(id: string, pool: string): number
  /** `hopBytes` is the part of `totalBytes` that belongs to other gateways. */
  readonly health: { readonly tunnels: number; readonly totalBytes: number; readonly hopBytes?: number }
}
