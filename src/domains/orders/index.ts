export { type Answer, createOrders, type Orders, type PurchaseRequest, type Receipt, type Sale } from './service.ts'
export { createMoneyVerifier } from './service-audit.ts'
export {
  createOnce,
  createRefunds,
  type Ending,
  type GivenBack,
  type Once,
  type Refunds,
  type Replayed,
  type Told,
} from './service-operator.ts'
export { createStories, type Stories } from './service-story.ts'
