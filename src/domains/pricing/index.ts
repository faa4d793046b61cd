export { createPricing, type Pricing } from './catalogues.ts'
export type { HeldGoods, PriceEffect } from './rules-effects.ts'
