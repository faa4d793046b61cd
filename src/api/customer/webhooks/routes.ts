import { readId } from '../../../core/ids.ts'
import type { Orders } from '../../../domains/orders/index.ts'
import type { SecretWebhook, Webhooks } from '../../../domains/webhooks/index.ts'
import { orRefuse } from '../../answers.ts'
import { type Bound, bind, bindCreation } from '../../bind.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import * as shapes from './shapes.ts'

export const toSecret = ({ webhook, secret }: SecretWebhook) => ({ ...shapes.toWebhook(webhook), secret })
const webhookOf = (body: { readonly webhook_id: string }) =>
  orRefuse(readId('webhook', body.webhook_id), 'webhook_not_found')
/** Sorts after every delivery's id. */
const pastLastId = 'dlw'

export function webhookOperations(deps: { webhooks: Webhooks; orders: Orders }): readonly Bound[] {
  const { webhooks } = deps
  return [
    bind(shapes.listWebhooks, async ({ caller }) => ({
      webhooks: (await webhooks.list(caller.customer)).map(shapes.toWebhook),
    })),

    bindCreation(shapes.addWebhook, deps.orders, toSecret, ({ caller, body }) =>
      webhooks.prepare(caller.customer, body),
    ),

    bind(shapes.updateWebhook, async ({ caller, body }) =>
      shapes.toWebhook(await webhooks.update(caller.customer, webhookOf(body), body)),
    ),

    bind(shapes.removeWebhook, async ({ caller, body }) => {
      const id = webhookOf(body)
      await webhooks.remove(caller.customer, id)
      return { webhook_id: id, removed: true as const }
    }),

    bind(shapes.rotateWebhook, async ({ caller, body }) =>
      toSecret(await webhooks.rotate(caller.customer, webhookOf(body))),
    ),

    bind(shapes.testWebhook, async ({ caller, body }) => ({
      delivery_id: await webhooks.sendTest(caller.customer, webhookOf(body)),
    })),

    bind(shapes.listDeliveries, async ({ caller, query }) => {
      const before = positionOf(query.cursor, (text) => readId('delivery', text)) ?? pastLastId
      const filter = {
        before,
        limit: soughtFor(query.limit),
        webhook: query.webhook_id === undefined ? '' : (readId('webhook', query.webhook_id) ?? 'none'),
        status: query.status ?? '',
      }
      const found = await webhooks.deliveries(caller.customer, filter)
      const { items, next_cursor } = pageOf(found, query.limit, 'id', shapes.toDelivery)
      return { deliveries: items, next_cursor }
    }),

    bind(shapes.redeliverWebhook, async ({ caller, body }) => {
      const id = orRefuse(readId('delivery', body.delivery_id), 'delivery_not_found')
      return shapes.toDelivery(await webhooks.redeliver(caller.customer, id))
    }),
  ]
}
