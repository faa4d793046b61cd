export { createEventsVerifier } from './audit.ts'
export { createEvents, type Events } from './log.ts'
