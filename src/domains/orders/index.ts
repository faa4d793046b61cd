export { type Answer, createOrders, type Orders, type PurchaseRequest, type Receipt, type Sale } from './service.ts'
export { createMoneyVerifier } from './service-audit.ts'
