export {
  type Bought,
  createDedicated,
  type Dedicated,
  type OpenProxy,
  type Prolonged,
  type ProlongPrice,
  type Wish,
} from './service.ts'
export { createDedicatedVerifier } from './service-audit.ts'
export { createDedicatedUpkeep, type DedicatedUpkeep, type DesiredProxy } from './service-upkeep.ts'
