export { noEntrance } from './errors.ts'
export { createOutages, type Outages } from './outages/service.ts'
export { createOutageWatch, type Looked, type OutageWatch } from './outages/service-watch.ts'
export {
  type Bought,
  type Carried,
  createDedicated,
  type Dedicated,
  type OpenProxy,
} from './service.ts'
export { createDedicatedVerifier } from './service-audit.ts'
export { createProxyOperator, type ProxyOperator } from './service-operator.ts'
export type { Prolonged } from './service-prolonging.ts'
export { createRangeOperator, type RangeOperator } from './service-ranges.ts'
export { createDedicatedUpkeep, type DedicatedUpkeep } from './service-upkeep.ts'
