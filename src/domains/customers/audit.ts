import { type Audit, at, found, type Verifier } from '../../core/finding.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

/** Compares the key at hand with the one that the shop was opened with. */
export const createShopVerifier = (deps: { readonly db: Database; readonly vault: Vault }): Verifier => ({
  name: 'shop',
  async verify(): Promise<Audit> {
    const fingerprint = await store.findKeyFingerprint(deps.db)
    if (!fingerprint || sameBytes(fingerprint, deps.vault.fingerprint)) return { findings: [], covered: {} }
    return { findings: [found('secret', at('shop'), 'key_differs')], covered: {} }
  },
})
