export type { Effect, Held } from './rules-effect.ts'
export { createPricing, type Pricing } from './service.ts'
