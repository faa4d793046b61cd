export { createTraffic, type Traffic } from './service.ts'
export { createTrafficVerifier } from './service-audit.ts'
