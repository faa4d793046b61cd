import { bind } from '../../core/bind.ts'
import { change, type MetadataDeps, of } from './change.ts'

export { attachMetadata, forgetMetadata, metadataOf } from './store.ts'

export type CustomersMetadata = ReturnType<typeof createMetadata>

export const createMetadata = (deps: MetadataDeps) => bind(deps, { of, change })
