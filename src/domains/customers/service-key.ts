import { type Audit, type Finding, type Verifier } from '../../core/finding.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

/** Which key a shop's secrets are sealed with. Asked before there are any services: they need the key. */
export function createShopKey({ db }: { readonly db: Database }) {
  return {
    /** Whether there is a shop, so that something may be sealed. */
    isShop: async (): Promise<boolean> => (await store.findKeyFingerprint(db)) !== undefined,

    /** Whether this is the shop's key, or there is no shop yet. */
    async isRight(fingerprint: Uint8Array): Promise<boolean> {
      const found = await store.findKeyFingerprint(db)
      return !found || sameBytes(found, fingerprint)
    },
  }
}

/** Compares the key that is at hand with the one that the shop was opened with. */
export const createShopVerifier = (deps: { readonly db: Database; readonly vault: Vault }): Verifier => ({
  name: 'shop',
  async verify(): Promise<Audit> {
    const found = await store.findKeyFingerprint(deps.db)
    const finding = (problem: string): Finding[] => [{ promise: 'secret', where: 'shop', problem }]
    if (!found) return { findings: [], covered: {} }
    const isRight = sameBytes(found, deps.vault.fingerprint)
    return { findings: isRight ? [] : finding('it was sealed with another key than the one at hand'), covered: {} }
  },
})
