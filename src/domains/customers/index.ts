import { bind } from '../../core/bind.ts'
import * as useCases from './customers.ts'
import {
  countBetween,
  countCustomers,
  findByIdPrefix,
  findByNamePrefix,
  findMany,
  listCaps,
  listCustomers,
  listNewest,
  listTokens,
  ownersOf,
  searchCustomers,
} from './store.ts'

export { type Caller, createBlocking, type TokenRequest } from './customers.ts'
export { ScopeMissing } from './errors.ts'
export { assertSeesPasswords, seesPasswords } from './rules.ts'
export { createShopKey, createShopVerifier } from './shop-key.ts'

const { withCaches, assertOpenIn, isOpenIn, createBlocking: _, ...cases } = useCases

export type Customers = ReturnType<typeof createCustomers>

export const createCustomers = (given: Parameters<typeof withCaches>[0]) => ({
  ...bind(withCaches(given), cases),
  ...bind(given.db, { list: listCustomers, listNewest, countAll: countCustomers, countBetween, listTokens }),
  /** Customers with this text in id, name or note, and those in `found`. */
  ...bind(given.db, { search: searchCustomers, findByIdPrefix, findByNamePrefix, findMany }),
  assertOpenIn,
  isOpenIn,
  /** For `verify`: the number of customers, the owners of tokens, and the caps of capped tokens. */
  count: countCustomers,
  ownersOf,
  caps: listCaps,
})
