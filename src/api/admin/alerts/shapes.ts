import { alertTypes } from '../../../domains/events/rules.ts'
import { deliveryStatuses, maxWebhooks } from '../../../domains/webhooks/rules.ts'
import {
  delivery,
  exampleDelivery,
  exampleWebhook,
  secret,
  webhook,
  webhookId,
} from '../../customer/webhooks/shapes.ts'
import { choice, facts, items, list, moment, text } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const owner = operationsOf({ tag: 'Alerts', role: 'owner' })
const reader = operationsOf({ tag: 'Alerts', role: 'reader' })

const url = () =>
  z.string().openapi({
    description:
      'https address with the rules of customers’ endpoints, or `mailto:` and an e-mail address. Alerts are mailed ' +
      'only if `TURNPIKE_SMTP_URL` is set.',
    example: 'mailto:duty@example.com',
  })
const types = () =>
  z.array(z.string()).openapi({
    type: 'array',
    items: { type: 'string', enum: [...alertTypes] },
    description: 'Types of alerts to send; empty means all.',
    example: ['node.lost'],
  })

export const listAlerts = reader('listAlerts', 'GET /alerts', {
  summary: 'List what needs an operator now: the raised alerts, the oldest first',
  answer: items('All raised alerts.', {
    type: choice(
      '`stock.low`: fewer than a twentieth of the addresses of a kind is free; `node.lost`: an open node has not ' +
        'reported for a minute; `range.lost`: gateways that report no longer have a range; ' +
        '`payment.unmatched`: a notice of a provider matches no payment; `verify.finding`: ' +
        'a verification found problems, and no whole one has found none since; ' +
        '`certificate.ending`: the certificate of the shop ends within 7 days.',
      alertTypes,
      'node.lost',
    ),
    subject: text('What it is about: a kind of addresses, a node, a notice or a promise.', 'DE 4'),
    raised_at: moment('When it was raised.'),
    data: facts('Facts about it.', { name: 'gate-1', kind: 'gateway' }),
  }),
})

export const listAlertEndpoints = reader('listAlertEndpoints', 'GET /alert-endpoints', {
  summary: 'List endpoints that get alerts',
  answer: z.object({ webhooks: list(`All endpoints, at most ${maxWebhooks}.`, webhook) }),
})

export const addAlertEndpoint = owner('addAlertEndpoint', 'POST /alert-endpoints', {
  summary: 'Add an https or e-mail endpoint that gets alerts; its secret is shown once',
  description: 'Alerts are delivered as events are to customers: `docs/api/webhooks.md`.',
  creates: true,
  isSecret: true,
  body: z.object({ url: url(), events: types().default([]) }),
  exampleBody: { url: 'mailto:duty@example.com' },
  answer: z.object({ ...webhook.shape, secret: secret() }),
  codes: ['conflict'],
})

const params = z.object({ webhook_id: text('The endpoint’s id.', exampleWebhook) })

export const updateAlertEndpoint = owner('updateAlertEndpoint', 'POST /alert-endpoints/{webhook_id}', {
  summary: 'Change an endpoint that gets alerts',
  params,
  body: z.object({
    url: url().optional(),
    events: types().optional(),
    enabled: z.boolean().optional().openapi({ description: 'Whether alerts are sent.', example: true }),
  }),
  answer: webhook,
})

export const removeAlertEndpoint = owner('removeAlertEndpoint', 'POST /alert-endpoints/{webhook_id}/remove', {
  summary: 'Remove an endpoint that gets alerts',
  isDestructive: true,
  params,
  answer: z.object({ webhook_id: webhookId(), removed: z.literal(true).openapi({ description: 'Always true.' }) }),
})

export const rotateAlertEndpoint = owner('rotateAlertEndpoint', 'POST /alert-endpoints/{webhook_id}/rotate', {
  summary: 'Replace the secret of an endpoint that gets alerts; the new one is shown once',
  description: 'For 24 hours messages carry signatures of both secrets.',
  isSecret: true,
  params,
  answer: z.object({ ...webhook.shape, secret: secret() }),
})

export const testAlertEndpoint = owner('testAlertEndpoint', 'POST /alert-endpoints/{webhook_id}/test', {
  summary: 'Send a test message to an endpoint that gets alerts',
  params,
  answer: z.object({ delivery_id: text('Id of the delivery.', exampleDelivery) }),
  codes: ['not_found', 'conflict'],
})

export const listAlertDeliveries = reader('listAlertDeliveries', 'GET /alert-deliveries', {
  summary: 'List deliveries of alerts, newest first',
  query: z.object({
    ...pageQuery,
    status: choice('Only deliveries with this status.', deliveryStatuses).optional(),
  }),
  answer: page({ deliveries: list('One page of deliveries.', delivery) }),
})

export const redeliverAlert = owner('redeliverAlert', 'POST /alert-deliveries/{delivery_id}/redeliver', {
  summary: 'Send an alert again, once',
  params: z.object({ delivery_id: text('Id of the delivery.', exampleDelivery) }),
  answer: delivery,
  codes: ['not_found', 'conflict'],
})
