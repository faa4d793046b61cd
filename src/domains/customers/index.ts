export { passwordsHidden } from './errors.ts'
export { type Caller, type Customers, createCustomers, type TokenRequest } from './service.ts'
export { createBlocking } from './service-blocking.ts'
export { createShopKey, createShopVerifier } from './service-key.ts'
