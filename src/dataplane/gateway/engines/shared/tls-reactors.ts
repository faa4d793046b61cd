import type { OnAccepted, OnBegun, TlsListener, TlsThreads } from '../../../tls/front.ts'
import type { TicketKey } from '../../../tls/openssl/ticket-keys.ts'

/** The reactors of an engine that do TLS, as the main thread sees them. */
export type TlsReactors = TlsThreads & {
  /** Open HTTP/2 connections, and their requests so far. */
  readonly open: number
  readonly requests: number
  /** Opens the port, or takes that of the previous process. */
  listen(
    at: { readonly hostname: string; readonly port: number; readonly inherited: number | undefined },
    onAccepted: OnAccepted,
    onBegun: OnBegun,
  ): TlsListener
  /** Closes a connection without an admitted request. False if there is none. */
  makeRoom(): boolean
  setPasswordKeys(keys: readonly Uint8Array[]): void
  setTicketKeys(keys: readonly TicketKey[]): void
  drain(): void
}
