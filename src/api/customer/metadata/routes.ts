import type { CustomersMetadata } from '../../../domains/metadata/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { setMetadata } from './shapes.ts'

export const metadataOperations = ({ metadata }: { metadata: CustomersMetadata }): readonly Bound[] => [
  bind(setMetadata, async ({ caller, body }) => {
    const set = await metadata.change(caller.customer, body, body.metadata)
    return { kind: body.kind, id: set.id, metadata: { ...set.metadata } }
  }),
]
