export { allowance, type Effect, type Line } from './lease.ts'
export { createUsage, type Usage } from './service.ts'
export { createLeases, type Leases, leaseSteps, type Wish } from './service-leases.ts'
