import type { RefusalCode } from '../../access/refusals.ts'
import * as n from './numbers.ts'

/** What is not the destination's doing is not told as if it were: without descriptors or memory we are full. */
const refusals = new Map<number, RefusalCode>([
  [n.ECONNREFUSED, 'connect_refused'],
  [n.ETIMEDOUT, 'connect_timeout'],
  [n.EADDRNOTAVAIL, 'address_unavailable'],
  [n.EADDRINUSE, 'address_unavailable'],
  [n.EMFILE, 'gateway_full'],
  [n.ENFILE, 'gateway_full'],
  [n.ENOBUFS, 'gateway_full'],
  [n.ENOMEM, 'gateway_full'],
])

/** Why a connection was not made, by the system's number for it. */
export const connectRefusalOf = (error: number): RefusalCode => refusals.get(error) ?? 'unreachable'
