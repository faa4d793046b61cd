export { createPricing, type Pricing } from './service.ts'
