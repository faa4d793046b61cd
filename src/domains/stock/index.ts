export { NoGateway } from './errors.ts'
export { createStockOperator, type StockOperator } from './operate.ts'
export { lookAtRanges, reasonsOf } from './ranges/overview.ts'
export { createStock, type Readiness, type Stock } from './take.ts'
