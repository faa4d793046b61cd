import type { MaybePromise } from '../../../core/maybe-promise.ts'
import type { After } from '../../../core/time.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { Seat } from '../../tls/seats.ts'
import type { Sockets } from '../sides/sockets.ts'
import type { TlsClient } from '../sides/tls-client.ts'
import type { Credentials } from '../ways-in/http1/basic-auth.ts'
import type { Field } from '../ways-in/http2/hpack.ts'
import type { ClientParser } from '../ways-in/request.ts'
import type { CarriedDeps } from './carried/client.ts'
import type { XhttpSessions } from './carried/xhttp.ts'
import type { SiteAnswer, SiteRequest } from './content.ts'
import type { FairBudget } from './fair-budget.ts'

/** An HTTP/1 connection of a visitor. */
export type ConnectedVisitor = { readonly seat: Seat; drain(): void }

/** The site, as its visitors see it. */
export type VisitedSite = {
  readonly deps: {
    readonly handOver: (client: TlsClient) => void
    readonly sockets: Sockets
    readonly after: After
  }
  readonly bodies: FairBudget
  readonly answers: FairBudget
  readonly isDraining: boolean
  /** Requests since the start. */
  requests: number
  isCustomer(read: (name: string) => readonly string[], target: string): boolean
  /** Credentials that were a customer's before, and still are. */
  isProven(credentials: Credentials): boolean
  /** Reports that an answer failed, unless its visitor has left. */
  noteFault(fault: unknown, signal: AbortSignal): void
  /** The device whose WebSocket and XHTTP requests have this path. */
  findPath(path: string): string | undefined
  /** Whether the gateway serves a protocol to VPN devices. */
  isOn(protocol: GatewayProtocol): boolean
  readonly carried: CarriedDeps
  readonly xhttp: XhttpSessions
  /** What the connections of packets have read ahead, by device. */
  readonly readAhead: FairBudget
  /** The visitor's requests are no customer's any more. */
  readmit(visitor: ConnectedVisitor): void
  /** The parser of a connection whose first bytes have the key of a VPN device. */
  findKeyed(first: Uint8Array, source: string): ClientParser | undefined
  answer(request: SiteRequest, signal: AbortSignal): MaybePromise<SiteAnswer>
  /** Fields of an answer with its date and length. */
  complete(answer: SiteAnswer, isHead: boolean): { readonly fields: readonly Field[]; readonly hasBody: boolean }
  touch(visitor: ConnectedVisitor): void
  forget(visitor: ConnectedVisitor): void
}
