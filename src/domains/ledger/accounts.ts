import type { CustomerId } from '../../core/ids.ts'
import type { Tx } from '../../db/transaction.ts'
import { erasedCustomer, noAccount } from './errors.ts'
import { type Account, openAccount } from './rules.ts'
import * as store from './store.ts'

export const open = (tx: Tx, customer: CustomerId): void => store.insertAccount(tx, openAccount(customer))

/** Locks the account until the transaction ends. */
export async function lock(tx: Tx, customer: CustomerId): Promise<Account> {
  const account = await store.lockAccount(tx, customer)
  if (!account) throw noAccount()
  return account
}

export async function assertNotErased(tx: Tx, customer: CustomerId): Promise<void> {
  await lock(tx, customer)
  if (await store.isErased(tx, customer)) throw erasedCustomer()
}
