import type { RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { OpenTokenBuckets, TokenBucketRate } from '../../core/token-buckets.ts'
import { sameBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Operators } from '../operators/index.ts'
import type { PasswordWork } from './passwords.ts'
import type { Codes } from './ports.ts'
import * as store from './store.ts'

/** Failed attempts: twenty for a name and sixty from one client prefix in a quarter of an hour. */
export const ofName: TokenBucketRate = { perSecond: 20 / 900, burst: 20 }
export const ofSource: TokenBucketRate = { perSecond: 60 / 900, burst: 60 }
/** Successful sign-ins of one owner: the row history keeps two versions of every session. */
export const ofOwner: TokenBucketRate = { perSecond: 60 / 3600, burst: 30 }

export type SignInDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  /** Shared by all shops on one database. */
  readonly buckets: OpenTokenBuckets
  readonly passwords: PasswordWork
  readonly codes: Codes
  readonly customers: Pick<Customers, 'assertOpenIn' | 'isUnusedIn'>
  readonly operators: Pick<Operators, 'assertPresentIn' | 'lockPresentIn'>
}

export type SessionDeps = ReturnType<typeof withBuckets>

export const withBuckets = (given: SignInDeps) => ({
  ...given,
  names: given.buckets('sign-in by name', ofName),
  prefixes: given.buckets('sign-in', ofSource),
  owners: given.buckets('sessions', ofOwner),
  known: createTtlCache({
    async load(secret: string) {
      const digest = given.sha256(secret)
      const found = await store.findSession(given.db, digest)
      return found && sameBytes(found.digest, digest) ? found.session : undefined
    },
    clock: given.clock,
    // A session that another process has ended is refused after this long at most.
    ttlMs: 500,
    maxEntries: 10_000,
    shouldKeep: (found) => found !== undefined,
  }),
})
