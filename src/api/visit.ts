import type { Address } from '../core/address.ts'
import type { CustomerId } from '../core/ids.ts'
import type { RequestNote } from './answers.ts'
import type { RateLimitState } from './rate.ts'
import type { RequestVersion } from './versions.ts'

/** The state of a request, for its response headers and its log line. */
export type Visit = {
  readonly id: string
  readonly from: Address | undefined
  /** Keeps the next request on this connection waiting, where the shop serves TLS itself. */
  readonly hold: (() => void) | undefined
  path: string
  customer?: CustomerId | undefined
  rateLimit?: RateLimitState | undefined
  isPurchase: boolean
  isSale: boolean
  /** The answer repeats an earlier one under the same key. */
  isReplay?: boolean
  order?: string | undefined
  key?: string | undefined
  logged?: RequestNote['logged']
  version?: RequestVersion
  isAdmitted: boolean
}
