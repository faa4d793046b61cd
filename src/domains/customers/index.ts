export { createShopVerifier } from './audit.ts'
export {
  type Caller,
  type Customers,
  createBlocking,
  createCustomers,
  createShopKey,
  type TokenRequest,
} from './customers.ts'
export { passwordsHidden } from './errors.ts'
