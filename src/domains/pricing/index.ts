import { bind } from '../../core/bind.ts'
import * as catalogues from './catalogues.ts'
import { withCaches } from './deps.ts'

export type { HeldGoods, PriceEffect } from './rules-effects.ts'

export type Pricing = ReturnType<typeof createPricing>

export const createPricing = (given: Parameters<typeof withCaches>[0]) => bind(withCaches(given), catalogues)
