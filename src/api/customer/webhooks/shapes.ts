import { toIso } from '../../../core/time.ts'
import { eventTypes } from '../../../domains/events/rules.ts'
import {
  deliveryStatuses,
  maxWebhooks,
  type ShownWebhook,
  type WebhookDelivery,
} from '../../../domains/webhooks/rules.ts'
import { choice, isoOrNull, list, moment, named, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const operation = operationsOf({ tag: 'Webhooks' })

export const exampleWebhook = 'whk_01k73sf8000000000000000000'
export const exampleDelivery = 'dlv_01k73sf8000000000000000000'
const exampleUrl = 'https://example.com/turnpike'

export const webhookId = () => text("The endpoint's id.", exampleWebhook)

export const webhook = named('Webhook', {
  webhook_id: webhookId(),
  url: text('Address that events are sent to.', exampleUrl),
  events: z.array(z.string()).openapi({
    description: 'Types of events that are sent; empty means all.',
    example: ['order.created', 'proxy.expiring'],
  }),
  state: choice('`disabled`: nothing is sent until the endpoint is enabled again.', ['enabled', 'disabled'], 'enabled'),
  problem: text(
    'Why the shop disabled it: `gone` (it answered 410) or `failures` (every attempt of 3 days failed); null ' +
      'otherwise.',
  ).nullable(),
  public_key: text('Public key (ed25519) that verifies `v1a` signatures.', 'whpk_…'),
  created_at: moment('When the endpoint was added.'),
})

export const toWebhook = (of: ShownWebhook): z.input<typeof webhook> => ({
  webhook_id: of.id,
  url: of.url,
  events: [...of.events],
  state: of.state,
  problem: of.problem,
  public_key: of.publicKey,
  created_at: toIso(of.createdAt),
})

const url = () =>
  z.string().openapi({
    description:
      'https address, port 443 or 1024 and above. Its name must resolve to public addresses; this is checked at ' +
      'every attempt, and no redirect is followed. In a sandbox http and loopback addresses are allowed.',
    example: exampleUrl,
  })
const types = () =>
  z.array(z.string()).openapi({
    type: 'array',
    items: { type: 'string', enum: [...eventTypes] },
    description: 'Types of events to send, as in `/docs/events`; empty means all.',
    example: ['order.created', 'proxy.expiring'],
  })

export const listWebhooks = operation('listWebhooks', 'GET /webhooks', {
  summary: 'List endpoints of webhooks',
  answer: z.object({ webhooks: list(`All endpoints, at most ${maxWebhooks}.`, webhook) }),
})

export const secret = () =>
  text('Secret that verifies `v1` signatures (HMAC-SHA256), shown only in this answer.', 'whsec_…')

export const addWebhook = operation('addWebhook', 'POST /webhooks/add', {
  summary: 'Add an endpoint that gets events; its secret is shown once',
  description:
    'Later events are sent as they are in `GET /events`, signed by the Standard Webhooks specification, in their ' +
    'order and at least once. An attempt that does not answer 2xx within 20 seconds is repeated for 3 days; then, ' +
    'and after 410, the endpoint is disabled.',
  creates: true,
  isSecret: true,
  body: z.object({ url: url(), events: types().default([]) }),
  exampleBody: { url: exampleUrl },
  answer: z.object({ ...webhook.shape, secret: secret() }),
})

export const updateWebhook = operation('updateWebhook', 'POST /webhooks/update', {
  summary: 'Change an endpoint',
  description: 'Enabled again, an endpoint gets the events of the last 30 days that it has missed.',
  body: z.object({
    webhook_id: webhookId(),
    url: url().optional(),
    events: types().optional(),
    enabled: z.boolean().optional().openapi({ description: 'Whether events are sent.', example: true }),
  }),
  answer: webhook,
  codes: ['not_found'],
})

export const removeWebhook = operation('removeWebhook', 'POST /webhooks/remove', {
  summary: 'Remove an endpoint; its deliveries stay listed for 30 days',
  isDestructive: true,
  body: z.object({ webhook_id: webhookId() }),
  answer: z.object({ webhook_id: webhookId(), removed: z.literal(true).openapi({ description: 'Always true.' }) }),
  codes: ['not_found'],
})

export const rotateWebhook = operation('rotateWebhook', 'POST /webhooks/rotate', {
  summary: 'Replace the secret of an endpoint; the new one is shown once',
  description: 'For 24 hours messages carry signatures of both secrets.',
  isSecret: true,
  body: z.object({ webhook_id: webhookId() }),
  answer: z.object({ ...webhook.shape, secret: secret() }),
  codes: ['not_found'],
})

export const testWebhook = operation('testWebhook', 'POST /webhooks/test', {
  summary: 'Send a test event to an endpoint',
  description: 'The event `webhook.test` is sent once; `GET /webhooks/deliveries` shows the result.',
  body: z.object({ webhook_id: webhookId() }),
  answer: z.object({ delivery_id: text('Id of the delivery.', exampleDelivery) }),
  codes: ['not_found', 'conflict'],
})

export const delivery = named('WebhookDelivery', {
  delivery_id: text('Id of the delivery.', exampleDelivery),
  webhook_id: webhookId(),
  event_id: whole('`id` of the event; null for a test.', 1).nullable(),
  type: text('Type of the event.', 'order.created'),
  status: choice(
    '`delivered`: answered 2xx; `retrying`: will be tried again, later events wait; `failed`: will not be tried ' +
      'again; `waiting`: a test or repetition that is not sent yet.',
    deliveryStatuses,
    'delivered',
  ),
  attempts: whole('Number of attempts.', 1),
  answer_status: whole('HTTP status of the last answer; null if none came.', 200).nullable(),
  problem: text(
    'Why the last attempt failed: `answer` (no 2xx), `timeout`, `connection`, `tls`, `name` (not resolved), ' +
      '`address` (not public), `port`, `scheme`, `url`, `forgotten` (the event is older than 30 days), or `removed` ' +
      '(the endpoint was removed before); null if it succeeded.',
  ).nullable(),
  took_ms: whole('Duration of the last attempt in milliseconds.', 41).nullable(),
  created_at: moment('When it was first tried, or when the test was requested.'),
  tried_at: moment('When it was last tried; null if never.').nullable(),
})

export const toDelivery = (of: WebhookDelivery): z.input<typeof delivery> => ({
  delivery_id: of.id,
  webhook_id: of.webhook,
  event_id: of.seq === 0 ? null : of.seq,
  type: of.type,
  status: of.status,
  attempts: of.tries,
  answer_status: of.answerStatus,
  problem: of.problem,
  took_ms: of.tookMs,
  created_at: toIso(of.createdAt),
  tried_at: isoOrNull(of.triedAt),
})

export const listDeliveries = operation('listDeliveries', 'GET /webhooks/deliveries', {
  summary: 'List deliveries of webhooks, newest first',
  description: 'Deliveries are kept for 30 days.',
  query: z.object({
    ...pageQuery,
    webhook_id: z.string().optional().openapi({ description: 'Only of this endpoint.', example: exampleWebhook }),
    status: choice('Only deliveries with this status.', deliveryStatuses).optional(),
  }),
  answer: page({ deliveries: list('One page of deliveries.', delivery) }),
})

export const redeliverWebhook = operation('redeliverWebhook', 'POST /webhooks/redeliver', {
  summary: 'Send a delivery again',
  description:
    'It is sent once more, with the same `webhook-id`, beside the order of events. A delivery that is retried is ' +
    'tried now.',
  body: z.object({ delivery_id: text('Id of the delivery.', exampleDelivery) }),
  answer: delivery,
  codes: ['not_found', 'conflict'],
})
