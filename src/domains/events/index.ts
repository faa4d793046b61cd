export { createEventsVerifier } from './audit.ts'
export { createEvents, type Events, type ReadEnding } from './log.ts'
