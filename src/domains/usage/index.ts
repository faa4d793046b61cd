export { type Added, createUsage, type Usage } from './service.ts'
