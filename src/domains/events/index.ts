export { createEvents, type Events } from './service.ts'
export { createEventsVerifier } from './service-audit.ts'
