import type { CustomerId } from '../../core/ids.ts'
import { refuseField } from '../../core/refusal.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Ledger } from '../ledger/index.ts'
import { changedMetadata, type Metadata, type MetadataChange, type MetadataKind, maxMetadataKeys } from './rules.ts'
import { metadataOf, writeChange } from './store.ts'

/** The canonical id of a thing. One that the customer does not have is refused with the refusal of its product. */
type FindOwned = (tx: Tx, customer: CustomerId, id: string) => Promise<string>

export type MetadataDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'assertNotErased'>
  readonly owned: Readonly<Record<MetadataKind, FindOwned>>
}

/** The pairs of a customer's things, by their ids; a thing without any is absent. */
export const of = ({ db }: MetadataDeps, ...[customer, kind, ids]: [CustomerId, MetadataKind, readonly string[]]) =>
  metadataOf(db, customer, kind, ids)

/** Sets and removes pairs. The account's lock keeps two requests from exceeding the limit together. */
export function change(
  { db, ledger, owned }: MetadataDeps,
  customer: CustomerId,
  thing: { readonly kind: MetadataKind; readonly id: string },
  to: MetadataChange,
): Promise<{ readonly id: string; readonly metadata: Metadata }> {
  const { kind } = thing
  return db.transact(async (tx) => {
    await ledger.assertNotErased(tx, customer)
    const id = await owned[kind](tx, customer, thing.id)
    const before = (await metadataOf(tx, customer, kind, [id])).get(id) ?? {}
    const after = changedMetadata(before, to)
    if (Object.keys(after).length > maxMetadataKeys)
      throw refuseField('metadata', 'max_items', { max: maxMetadataKeys })
    writeChange(tx, customer, kind, id, to)
    return { id, metadata: after }
  })
}
