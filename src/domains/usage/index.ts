export { createUsage, type Usage } from './service.ts'
