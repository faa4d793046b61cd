import { bind } from '../../core/bind.ts'
import type { ErasingDeps } from './erase.ts'
import * as erasing from './erase.ts'

export { createExporting, type Exporting } from './export.ts'
export { createRetaining, type Retaining } from './retain.ts'
export { type AddressQuestion, type Holders, historyDiffers } from './rules.ts'
export { traces } from './store-holdings.ts'

export type Erasing = ReturnType<typeof createErasing>

export const createErasing = (deps: ErasingDeps) => bind(deps, erasing)
