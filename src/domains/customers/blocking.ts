import type { CustomerId } from '../../core/ids.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { customerBlocked, noSuchCustomer } from './errors.ts'
import type { Customers } from './index.ts'
import type { Customer } from './rules.ts'
import * as store from './store.ts'

export function assertNotBlocked(customer: Customer | undefined): void {
  if (!customer) throw noSuchCustomer()
  if (customer.blockedAt !== null) throw customerBlocked()
}

/** Refuses a customer who is blocked or unknown, in the caller's transaction. */
export const assertOpenIn = async (tx: Tx, id: CustomerId): Promise<void> =>
  assertNotBlocked(await store.findCustomer(tx, id))

/** Whether the customer exists and is not blocked. */
export const isOpenIn = async (reader: Reader, id: CustomerId): Promise<boolean> =>
  (await store.findCustomer(reader, id))?.blockedAt === null

/** Goods that nodes carry: touched rows are sent to nodes again. */
type Touched = { readonly touch: (tx: Tx, customer: CustomerId) => void }

/** Blocks or unblocks a customer and touches the customer's goods in one commit, so that nodes learn of it. */
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
