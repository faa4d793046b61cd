import { Refusal } from '../../../core/refusal.ts'
import { metadataKinds } from '../../../domains/metadata/rules.ts'
import { choice, metadataChange, shownMetadata, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'Account' })

const kind = () =>
  choice('`order`, `proxy` (dedicated), `subuser` (premium) or `vpn` (a subscription).', metadataKinds, 'proxy')

export const setMetadata = operation('setMetadata', 'POST /metadata', {
  summary: 'Set your own keys and values on an order, proxy, sub-user or subscription',
  description:
    'For the ids of your own program. Lists find them by `?metadata[KEY]=VALUE`, and events carry those of their ' +
    'thing. A thing has at most 20 keys of 1 to 40 printable characters without brackets, and values of at most 500.',
  body: z.object({
    kind: kind(),
    id: z
      .union([z.string(), z.int()])
      .transform(String)
      .openapi({
        type: ['string', 'integer'] as never,
        description: 'Number of the proxy, `uuid` of the subscription, or id of the order or sub-user.',
        example: 1201,
      }),
    metadata: metadataChange(),
  }),
  answer: z.object({
    kind: kind(),
    id: text('Id of the thing.', '1201'),
    metadata: shownMetadata(),
  }),
  refusals: { not_found: new Refusal('proxies_not_found', { ids: [1201] }, { ids: [1201], charged: false }) },
})
