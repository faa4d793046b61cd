import type { Clock } from '../../../core/time.ts'
import { createTokenBuckets, type TokenBucketRate } from '../../../core/token-buckets.ts'
import type { Losses } from '../metering/losses.ts'
import type { DrawTokens } from '../metering/speed-limit.ts'
import { OwnWrongLogins, type WrongLogins } from './admission.ts'
import type { OtherArrivals } from './arrivals.ts'
import { OwnSessions, type Sessions } from './exit-choice.ts'
import { type ClaimNonce, createNonces } from './hop.ts'
import { type CustomerLimits, createTunnelLimits, type NameCounts, SlotCounts, type TunnelLimits } from './limits.ts'

/** What a count or a bucket is for. */
type CountPurpose = 'network' | 'destinations' | 'udp ports'
type BucketPurpose = 'names' | 'packets'

/** State that the reactors of a gateway have in common, so that limits and sessions hold for the gateway as a whole. */
export type CommonState = {
  /** Reactors that share it. */
  readonly threads: number
  openTunnelLimits(limits: CustomerLimits): TunnelLimits
  openCounts(purpose: CountPurpose): NameCounts
  openBuckets(purpose: BucketPurpose, rate: TokenBucketRate): { take(key: string): boolean }
  readonly sessions: Sessions
  readonly claimNonce: ClaimNonce
  readonly wrongLogins: WrongLogins
  /** The speed limit of a credential. Undefined if its bucket is in the limit itself. */
  readonly drawOf?: (credential: string) => DrawTokens
  /** Undefined if they are counted in the memory of the one reactor. */
  readonly losses?: Losses
  readonly others?: OtherArrivals
}

/** The state of a gateway with one reactor, in its memory. */
export const createOwnState = (clock: Clock): CommonState => ({
  threads: 1,
  openTunnelLimits: (limits) => createTunnelLimits(limits, clock),
  openCounts: () => new SlotCounts(),
  openBuckets: (_purpose, rate) => createTokenBuckets(rate, clock),
  sessions: new OwnSessions(),
  claimNonce: createNonces(),
  wrongLogins: new OwnWrongLogins(),
})
