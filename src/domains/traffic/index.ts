export { createUsage, type Usage } from './counts/service.ts'
export { allowance, type Effect, type Line } from './leases/rules.ts'
export { createLeases, type Leases, leaseSteps, type Wish } from './leases/service.ts'
