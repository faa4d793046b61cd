import { z } from '@hono/zod-openapi'
import { toIso } from '../../../core/time.ts'
import { exampleAt, queryInteger, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'

export const getOverview = operation({
  id: 'getOverview',
  method: 'GET',
  path: '/overview',
  tag: 'At a glance',
  summary: 'Revenue by day, active services, stock by country and nodes',
  description: 'At most ten seconds old.',
  role: 'reader',
  query: z.object({
    days: queryInteger({ min: 1, max: 366, example: 30, description: 'How many days back.' }).default(30),
  }),
  answer: z.object({
    days: z
      .array(
        z.object({
          day: text('The day, in UTC.', '2026-01-01'),
          sold_rub: roubles('What orders of that day cost.', 1800),
          refunded_rub: roubles('What was given back on it.', 0),
          revenue_rub: roubles('The one less the other.', 1800),
          orders: whole('How many orders.', 3),
          products: z
            .record(z.string(), z.number())
            .openapi({ description: 'What was sold, by product, in roubles.', example: { dedicated: 1800 } }),
        }),
      )
      .openapi({ description: 'Every day, the oldest first.' }),
    customers: whole('How many there are.', 17),
    active: z
      .object({
        proxies: whole('Dedicated proxies that run.', 40),
        interrupted: whole('Of those, that cannot be used now.', 0),
        vpn: whole('VPN subscriptions that run.', 5),
      })
      .openapi({ description: 'Services that run now.' }),
    stock: z
      .array(
        z.object({
          country: text('The country.', 'DE'),
          ipv: whole('The kind.', 4),
          free: whole('Places that can be sold.', 200),
          leased: whole('Places that are sold.', 54),
          resting: whole('Places that rest.', 0),
          retired: whole('Places off sale.', 0),
        }),
      )
      .openapi({ description: 'By country and kind.' }),
    nodes: z
      .object({
        online: whole('Up.', 2),
        offline: whole('Not heard of.', 0),
        closed: whole('Shut out.', 0),
      })
      .openapi({ description: 'Machines that carry traffic.' }),
    made_at: z.string().openapi({ format: 'date-time', description: 'When this was counted.' }),
  }),
  example: {
    days: [
      {
        day: '2026-01-01',
        sold_rub: 1800,
        refunded_rub: 0,
        revenue_rub: 1800,
        orders: 3,
        products: { dedicated: 1800 },
      },
    ],
    customers: 17,
    active: { proxies: 40, interrupted: 0, vpn: 5 },
    stock: [{ country: 'DE', ipv: 4, free: 200, leased: 54, resting: 0, retired: 0 }],
    nodes: { online: 2, offline: 0, closed: 0 },
    made_at: toIso(exampleAt),
  },
})
