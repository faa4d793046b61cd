import type { Address } from '../../core/address.ts'
import type { CustomerId, RandomBytes, TokenId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Ledger } from '../ledger/index.ts'
import type { ShopMode } from './rules.ts'
import * as store from './store.ts'

/** A revocation in another process takes effect after this long at most. */
const cacheTtlMs = 500
const maxCached = 10_000

type Given = {
  db: Database
  ledger: Pick<Ledger, 'open' | 'lock'>
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Pick<Vault, 'fingerprint'>
  /** The largest number of open tokens of one customer. */
  maxTokens?: number
}

export type CustomersDeps = ReturnType<typeof withCaches>

export function withCaches(given: Given) {
  const cached = { clock: given.clock, ttlMs: cacheTtlMs, maxEntries: maxCached }
  const memo: {
    /** The fixed token of a sandbox, the only one accepted without a checksum. */
    sandboxText?: string
    mode?: ShopMode | undefined
  } = {}
  return {
    ...given,
    maxTokens: given.maxTokens ?? 100,
    tokens: createTtlCache({
      ...cached,
      load: (text: string) => findToken(given, text),
      shouldKeep: (found) => found !== undefined,
    }),
    known: createTtlCache({ ...cached, load: (id: CustomerId) => store.findCustomer(given.db, id) }),
    /** Token uses since the last `noteUses`. */
    uses: new Map<TokenId, { readonly at: number; readonly from: Address | undefined }>(),
    memo,
  }
}

/** Compares the digest again: an index may match by collation. */
async function findToken({ db, sha256 }: Given, text: string) {
  const digest = sha256(text)
  const found = await store.findTokenByDigest(db, digest)
  return found && sameBytes(found.digest, digest) ? found : undefined
}
