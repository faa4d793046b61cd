export { createFleet, type Fleet, type NodeWish } from './service.ts'
