export { createStock, mostCounted, type Stock } from './service.ts'
export { createStockDesk, type StockDesk } from './service-operator.ts'
