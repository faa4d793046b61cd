export { createOutages, type Outages } from './outages/service.ts'
export {
  type Bought,
  createDedicated,
  type Dedicated,
  type OpenProxy,
  type Prolonged,
} from './service.ts'
export { createDedicatedVerifier } from './service-audit.ts'
export { createProxyDesk, type ProxyDesk, type ProxySight } from './service-operator.ts'
export { createDedicatedUpkeep, type DedicatedUpkeep } from './service-upkeep.ts'
