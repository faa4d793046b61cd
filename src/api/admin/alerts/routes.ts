import { operatorsOwner, readId } from '../../../core/ids.ts'
import { toIso } from '../../../core/time.ts'
import { orRefuse } from '../../answers.ts'
import { toSecret } from '../../customer/webhooks/routes.ts'
import { toDelivery, toWebhook } from '../../customer/webhooks/shapes.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import * as shapes from './shapes.ts'

type Named = { readonly webhook_id: string }
const webhookOf = ({ webhook_id: text }: Named) => orRefuse(readId('webhook', text), 'webhook_not_found')
/** Sorts after every delivery's id. */
const pastLastId = 'dlw'

export function adminAlertOperations(bind: BindAdmin, { alerts, webhooks }: AdminDeps) {
  return [
    bind(shapes.listAlerts, async () => ({
      items: (await alerts.list()).map(({ type, subject, data, raisedAt }) => ({
        type,
        subject,
        raised_at: toIso(raisedAt),
        data,
      })),
    })),
    bind(shapes.listAlertEndpoints, async () => ({
      webhooks: (await webhooks.list(operatorsOwner)).map(toWebhook),
    })),
    bind(shapes.addAlertEndpoint, async ({ body }) => toSecret(await webhooks.add(operatorsOwner, body))),
    bind(shapes.updateAlertEndpoint, async ({ params, body }) =>
      toWebhook(await webhooks.update(operatorsOwner, webhookOf(params), body)),
    ),
    bind(shapes.removeAlertEndpoint, async ({ params }) => {
      const id = webhookOf(params)
      await webhooks.remove(operatorsOwner, id)
      return { webhook_id: id, removed: true as const }
    }),
    bind(shapes.rotateAlertEndpoint, async ({ params }) =>
      toSecret(await webhooks.rotate(operatorsOwner, webhookOf(params))),
    ),
    bind(shapes.testAlertEndpoint, async ({ params }) => ({
      delivery_id: await webhooks.sendTest(operatorsOwner, webhookOf(params)),
    })),
    bind(shapes.listAlertDeliveries, async ({ query }) => {
      const before = positionOf(query.cursor, (text) => readId('delivery', text)) ?? pastLastId
      const filter = { before, limit: soughtFor(query.limit), webhook: '', status: query.status ?? '' }
      const { items, next_cursor } = pageOf(
        await webhooks.deliveries(operatorsOwner, filter),
        query.limit,
        'id',
        toDelivery,
      )
      return { deliveries: items, next_cursor }
    }),
    bind(shapes.redeliverAlert, async ({ params }) => {
      const id = orRefuse(readId('delivery', params.delivery_id), 'delivery_not_found')
      return toDelivery(await webhooks.redeliver(operatorsOwner, id))
    }),
  ]
}
