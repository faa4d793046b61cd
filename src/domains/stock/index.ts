export { NoGateway } from './errors.ts'
export { lookAtRanges, reasonsOf } from './ranges/service-look.ts'
export { createStock, type Readiness, type Stock } from './service.ts'
export { createStockOperator, type StockOperator } from './service-operator.ts'
