import type { CustomerId } from '../../core/ids.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from './service.ts'

/** Something that customers have and nodes carry: it is told to nodes again once it is touched. */
type Touched = { readonly touch: (tx: Tx, customer: CustomerId) => void }

/**
 * Blocks a customer or lets him go on. All that he has is touched in the same commit, so nodes hear of it within a
 * second.
 */
export function createBlocking(deps: {
  db: Database
  customers: Pick<Customers, 'setBlocked'>
  touched: readonly Touched[]
}) {
  /** In the caller's transaction. */
  async function within(tx: Tx, id: CustomerId, blocked: boolean): Promise<void> {
    await deps.customers.setBlocked(tx, id, blocked)
    for (const each of deps.touched) each.touch(tx, id)
  }
  return {
    within,
    setBlocked: (id: CustomerId, blocked: boolean): Promise<void> => deps.db.transact((tx) => within(tx, id, blocked)),
  }
}
