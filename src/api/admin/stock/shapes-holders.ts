import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import type { Holders } from '../../../domains/privacy/rules.ts'
import { exampleAt, flag, moment, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { isoOrNull, words } from '../fields.ts'
import { addressParam } from './shapes.ts'

const tag = 'Stock'

const holder = z.object({
  customer_id: text('Who.', 'cus_01k73sf8000000000000000000'),
  proxy: whole('With which proxy.', 7),
  order_id: text('Bought with which order.', 'ord_01k73sf8000000000000000000'),
  username: text('The login of that proxy.', 'u7abcd'),
  from: moment('Since when.'),
  until: moment('Until when, that moment not included; null if he has it still.').nullable(),
})

const deviceHolder = z.object({
  customer_id: text('Who.', 'cus_01k73sf8000000000000000000'),
  device_id: text('With which device.', 'dev_01k73sf8000000000000000000'),
  uuid: text('Of which subscription.', '0190f0c2-6f6e-7c4e-9a57-3f1d2c4b5a60'),
  from: moment('Since when.'),
  until: moment('Until when, that moment not included; null if it has it still.').nullable(),
})

const candidate = z.object({
  customer_id: text('Who.', 'cus_01k73sf8000000000000000000'),
  subuser_id: text('With which sub-user.', 'sub_01k73sf8000000000000000000'),
  login: text('Its login.', 'u7abcd'),
  pool: text('In which pool.', 'residential'),
  hour: moment('In which hour.'),
  rx_bytes: whole('What it received in that hour.', 1000),
  tx_bytes: whole('What it sent.', 100),
})

export const toHolders = ({ proxies, devices, isExit, candidates }: Holders) => ({
  items: proxies.map((each) => ({
    customer_id: each.customer,
    proxy: each.proxy,
    order_id: each.order,
    username: each.username,
    from: toIso(each.startedAt),
    until: isoOrNull(each.endedAt),
  })),
  devices: devices.map((each) => ({
    customer_id: each.customer,
    device_id: each.id,
    uuid: each.subscription,
    from: toIso(each.createdAt),
    until: isoOrNull(each.removedAt),
  })),
  is_exit: isExit,
  candidates: candidates.map(({ hour, received, sent, ...each }) => ({
    ...each,
    hour: toIso(Number(hour)),
    rx_bytes: Number(received),
    tx_bytes: Number(sent),
  })),
})

export const findHolders = operation({
  id: 'findHolders',
  method: 'GET',
  path: '/addresses/{address}/holders',
  tag,
  summary: 'Who had an address at a time, for a report of abuse; the question itself is in the audit log',
  description:
    'A moment is taken as exactly as it is written: `2027-01-31T12:00:00Z` is that whole second, with a fraction it ' +
    'is one millisecond. Who held a dedicated address, or an address inside the VPN, is exact. Many leave through an ' +
    'exit of a pool at once: of that it is known who carried something in its pool in that hour, and to which host ' +
    'where the customer has that kept.',
  role: 'support',
  params: addressParam,
  query: z.object({
    from: z
      .string()
      .max(40)
      .openapi({ description: 'The moment, or the first of a span.', example: toIso(exampleAt) }),
    to: z.string().max(40).optional().openapi({ description: 'The last moment; the first one unless said.' }),
    reason: words('Why it is asked: the number of the report, or of the letter.', 200, 'abuse report 4711'),
    host: z
      .string()
      .max(253)
      .optional()
      .openapi({ description: 'Where somebody went from an exit, as far as that is kept.', example: 'example.com' }),
  }),
  answer: z.object({
    items: z
      .array(holder)
      .openapi({ description: 'With dedicated proxies, the oldest first. A shared address has up to three at once.' }),
    devices: z.array(deviceHolder).openapi({ description: 'With VPN devices, for an address inside the tunnel.' }),
    is_exit: flag('Whether it is an exit of a pool too, which many customers leave from.'),
    candidates: z
      .array(candidate)
      .openapi({ description: 'Who may have left through that exit; 1,000 at most. One of them, or none.' }),
  }),
  example: { items: [], devices: [], is_exit: false, candidates: [] },
})
