import type { Address } from '../../../../core/address.ts'
import type { MaybePromise } from '../../../../core/maybe-promise.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'

/** A bound UDP socket of an engine, for any peer. Datagrams that arrive before it has an owner are dropped. */
export type DatagramSocket = {
  readonly port: number
  own(owner: DatagramOwner): void
  /**
   * Sends header and payload as one datagram. The receipt learns whether the kernel has taken it, at the latest when
   * the datagrams that were received with it have been handled.
   */
  send(header: Uint8Array, payload: Uint8Array, to: Address, port: number, receipt: DatagramReceipt): void
  close(): void
}

export type DatagramOwner = {
  /** The memory is valid during the call only. */
  onDatagram(bytes: Uint8Array, from: Address, port: number): void
  /** The owner threw, and must close the socket. */
  onFault(): void
}

export type BindFailure = { readonly refusal: RefusalCode; readonly isPortTaken: boolean }

/** Binds a socket to an address of this machine; port 0 is any. */
export type OpenDatagrams = (at: Address, port: number) => MaybePromise<DatagramSocket | BindFailure>

/** The largest payload of an IPv4 datagram is 65,507 bytes (RFC 768, RFC 791). */
export const maxDatagramBytes = 65_535

export const isSameAddress = (one: Address, other: Address): boolean => {
  if (one.version !== other.version) return false
  for (let at = 0; at < one.bytes.length; at += 1) if (one.bytes[at] !== other.bytes[at]) return false
  return true
}
