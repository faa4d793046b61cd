import type { OperatorId, RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

type Given = { db: Database; clock: Clock; random: RandomBytes; sha256: (text: string) => Uint8Array }

export type OperatorsDeps = ReturnType<typeof withCaches>

export function withCaches(given: Given) {
  /** A revocation in another process takes effect after this long at most. */
  const cached = { clock: given.clock, ttlMs: 500, maxEntries: 1000 }
  return {
    ...given,
    tokens: createTtlCache({
      ...cached,
      load: (text: string) => findToken(given, text),
      shouldKeep: (found) => found !== undefined,
    }),
    known: createTtlCache({ ...cached, load: (id: OperatorId) => store.findOperator(given.db, id) }),
  }
}

/** Compares the digest again: an index may match by collation. */
async function findToken({ db, sha256 }: Given, text: string) {
  const digest = sha256(text)
  const found = await store.findByDigest(db, digest)
  return found && sameBytes(found.digest, digest) ? found : undefined
}
