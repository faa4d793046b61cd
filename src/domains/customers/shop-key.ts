import { sameBytes } from '../../core/token-text.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

/** The fingerprint of the key that seals the shop's secrets. It is checked before the services start. */
export const createShopKey = ({ db }: { readonly db: Database }) => ({
  isShop: async (): Promise<boolean> => (await store.findKeyFingerprint(db)) !== undefined,

  /** Whether this is the shop's key, or there is no shop yet. */
  async isRight(fingerprint: Uint8Array): Promise<boolean> {
    const found = await store.findKeyFingerprint(db)
    return !found || sameBytes(found, fingerprint)
  },
})
