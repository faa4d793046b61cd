export { createFleet, type Fleet } from './service.ts'
