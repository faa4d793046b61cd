import type { DataPath } from '../../../agent/data-path.ts'
import type { LeaseAgent } from '../../../agent/meter.ts'
import type { DevicePlace } from '../../../agent/places.ts'
import type { Changed, Snapshot } from '../../../agent/snapshot.ts'
import type { TicketKey } from '../../../tls/openssl/ticket-keys.ts'
import type { Ask } from '../../access/admission.ts'
import type { ExitReport } from '../../access/exit-health.ts'
import type { CustomerLimits, UdpLimits } from '../../access/limits.ts'
import type { AskPlaces } from '../../access/machines.ts'
import type { Policy } from '../../access/policy.ts'
import type { Lookup } from '../../dial/resolve.ts'
import type { Speeds } from '../../metering/speed-limit.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import type { SiteTerms } from '../../site/server.ts'
import type { HopGateway, HopLine } from './hop-client.ts'
import type { TlsReactors } from './tls-reactors.ts'

export type Timeouts = { readonly handshakeMs: number; readonly betweenRequestsMs: number }

export type EngineLimits = Timeouts & {
  readonly connectMs: number
  readonly idleMs: number
  readonly refusalDelayMs: number
  readonly exitRetryMs: number
  readonly connections: number
  readonly ports: number
  readonly customer: CustomerLimits
  readonly udp: UdpLimits
}

/** Dependencies of an engine. Instants follow the shop's clock. */
export type EngineDeps = {
  /** Announce changes with changed(). */
  readonly snapshot: Snapshot
  readonly agent: LeaseAgent
  readonly ask: Ask
  /** Holds the device limit of VPN subscriptions; none without VPN devices. */
  readonly places?: AskPlaces | undefined
  readonly policy: () => Policy
  readonly speeds?: () => Speeds
  readonly limits: EngineLimits
  readonly clock: () => number
  readonly lastContactAt: () => number
  readonly sha256: (text: string) => Uint8Array
  readonly random: () => number
  /** This gateway's id, the private key for hops, and whether VPN devices of its entry leave from here. */
  readonly hop: { readonly node: string; readonly privateKey: string; readonly isForVpn?: boolean }
  /** Opens a hop over the TLS port of a gateway. Without it every hop goes to the plain port. */
  readonly openHop?: ((gateway: HopGateway) => HopLine) | undefined
  /** A request from this address was admitted: told at most once a minute for each. */
  readonly onAdmitted?: ((source: string) => void) | undefined
  /** An exit's state became known or changed. */
  readonly onExit: (report: ExitReport) => void
  /** Reports a bug. */
  readonly onFault: (fault: unknown) => void
  /** Replaces the system's resolver. */
  readonly lookup?: Lookup
}

/** What the front of an engine that does TLS itself needs besides connections. */
export type EngineTlsTerms = {
  readonly ticketKeys: readonly TicketKey[]
  readonly site: SiteTerms | undefined
}

/** Totals of resource shortages. */
export type Pressure = {
  /** Waiting connections evicted for others. */
  readonly spared: number
  /** Rejected newcomers. */
  readonly turnedAway: number
  /** Connection attempts without a free descriptor or memory. */
  readonly starved: number
}

/** Relays customers' bytes, in an event loop of its own. */
export type Engine = {
  readonly dataPath: DataPath
  /**
   * Starts to serve and returns the port. Throws if it cannot listen. `inherited` listeners (port → descriptor) are
   * adopted, so that waiting clients are kept; those without a customer are closed.
   */
  start(at: {
    readonly hostname: string
    readonly port: number
    readonly inherited?: ReadonlyMap<number, number>
  }): number
  /** Ports and descriptors, for a process that takes over. */
  listeners(): readonly { readonly port: number; readonly descriptor: number }[]
  /** Stops listening because another process has taken over; open tunnels continue. */
  drain(): Promise<void>
  /** Serves a TLS client as if it had connected to the main port. Nothing was read from it yet. */
  takeTls?(client: TlsClient): void
  /** The engine does TLS itself. Without it, TLS runs on the main thread, which passes clients to takeTls(). */
  openTls?(terms: EngineTlsTerms): TlsReactors
  /** The snapshot changed: cuts affected tunnels that may no longer pass, opens and closes customer ports. */
  changed(change: Changed, onPortFailure: (port: number, error: unknown) => void): void
  /** The shop refuses this node: cuts all tunnels and admits none until it is accepted again. */
  setRefused(yes: boolean): void
  /** These machines may not use their VPN devices any more. */
  refuseMachines(places: readonly DevicePlace[]): void
  /** Accepts no one new, waits up to `drainMs` for tunnels to end, then closes them. */
  stop(drainMs: number): Promise<void>
  /** Work of each reactor; an engine without reactors has none. */
  readonly reactors?: readonly { readonly tunnels: number; readonly processorSeconds: number }[]
  /** Counts of connections by state and of ports, and the largest backlog of one slow peer. */
  readonly status: Pressure & {
    readonly open: number
    readonly connections: number
    readonly tunnels: number
    readonly dialling: number
    readonly settling: number
    readonly listeners: number
    readonly maxHeld: number
  }
}

/** Each port is an open file. */
export const noRoom = (left: number, max: number): Error =>
  new Error(`no room for ${left} ports of customers: at most ${max} within the limit of open files (ulimit -n)`)
