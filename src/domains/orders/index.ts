export { createOrders, type Orders, type Paid, type Placed, type Sale, type Ticket } from './service.ts'
export { createMoneyVerifier } from './service-audit.ts'
