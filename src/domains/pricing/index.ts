import { bind } from '../../core/bind.ts'
import * as catalogues from './catalogues.ts'

export type { HeldGoods, PriceEffect } from './rules-effects.ts'

const { withCaches, ...cases } = catalogues

export type Pricing = ReturnType<typeof createPricing>

export const createPricing = (given: Parameters<typeof withCaches>[0]) => bind(withCaches(given), cases)
