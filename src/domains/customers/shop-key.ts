import { type Audit, at, found, type Verifier } from '../../core/finding.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

/** The fingerprint of the key that seals the shop's secrets. It is checked before the services start. */
export const createShopKey = ({ db }: { readonly db: Database }) => ({
  isShop: async (): Promise<boolean> => (await store.findKeyFingerprint(db)) !== undefined,

  /** Whether this is the shop's key, or there is no shop yet. */
  async isRight(fingerprint: Uint8Array): Promise<boolean> {
    const kept = await store.findKeyFingerprint(db)
    return !kept || sameBytes(kept, fingerprint)
  },
})

/** Compares the key at hand with the one that the shop was opened with. */
export const createShopVerifier = (deps: { readonly db: Database; readonly vault: Vault }): Verifier => ({
  name: 'shop',
  async verify(): Promise<Audit> {
    const isRight = await createShopKey(deps).isRight(deps.vault.fingerprint)
    return { findings: isRight ? [] : [found('secret', at('shop'), 'key_differs')], covered: {} }
  },
})
