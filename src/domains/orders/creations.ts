import { idsIn } from '../../core/ids.ts'
import type { Tx } from '../../db/transaction.ts'
import { keyReused } from './errors.ts'
import { answerContext, keyForms, keyKeptMs, openAnswer, type Plain, readPlain, toCanonical } from './rules.ts'
import type { OrdersDeps } from './sell.ts'
import * as store from './store.ts'

/** An operator's request to create something, and the key that makes it happen once. */
export type Creation = { readonly by: string; readonly key: string; readonly action: string; readonly input: Plain }

/**
 * Creates something once under an operator's key, in the caller's transaction. As for a customer, the answer is sealed,
 * because it may hold a token, and kept for 7 days; only the operator who made it gets it again.
 */
export function createCreations({ clock, sha256, vault }: Pick<OrdersDeps, 'clock' | 'sha256' | 'vault'>) {
  return async (
    tx: Tx,
    { by: customer, key: text, action, input }: Creation,
    make: () => Promise<unknown>,
  ): Promise<{ readonly answer: Plain; readonly isReplayed: boolean }> => {
    const [, key] = keyForms(sha256, text)
    const row = { customer, key, order: null, request: sha256(toCanonical({ action, input })), at: clock() }
    const known = await store.takeCreation(tx, row, row.at - keyKeptMs)
    if (known) {
      if (known.request.toHex() !== row.request.toHex()) throw keyReused(null)
      const kept = { ...row, body: known.body, at: Number(known.created_at) }
      return { answer: readPlain(openAnswer(vault, kept)), isReplayed: true }
    }
    const written = JSON.stringify(await make())
    const sealed = vault.seal(written, answerContext(row)).toBase64()
    store.writeCreation(tx, row, sealed, idsIn(JSON.stringify(input) + written))
    return { answer: readPlain(written), isReplayed: false }
  }
}
