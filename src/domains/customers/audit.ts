import type { Audit, Verifier } from '../../core/finding.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

/** Compares the key at hand with the one that the shop was opened with. */
export const createShopVerifier = (deps: { readonly db: Database; readonly vault: Vault }): Verifier => ({
  name: 'shop',
  async verify(): Promise<Audit> {
    const found = await store.findKeyFingerprint(deps.db)
    if (!found || sameBytes(found, deps.vault.fingerprint)) return { findings: [], covered: {} }
    const problem = 'it was sealed with another key than the one at hand'
    return { findings: [{ promise: 'secret', where: 'shop', problem }], covered: {} }
  },
})
