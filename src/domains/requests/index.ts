export { createRequestLog, type RequestLog } from './log.ts'
