export { createFleet, type Fleet, type NodeWish } from './service.ts'
export { createFleetVerifier } from './service-audit.ts'
