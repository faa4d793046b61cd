import { moment, part, queryInteger, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'

const operation = operationsOf({ tag: 'At a glance', role: 'reader' })

export const getOverview = operation('getOverview', 'GET /overview', {
  summary: 'Revenue by day, active services, stock by country and nodes',
  description: 'At most ten seconds old.',
  query: z.object({
    days: queryInteger({ min: 1, max: 366, example: 30, description: 'How many days back.' }).default(30),
  }),
  answer: z.object({
    days: rows('Every day, the oldest first.', {
      day: text('The day, in UTC.', '2026-01-01'),
      sold_rub: roubles('What orders of that day cost.', 1800),
      refunded_rub: roubles('What was given back on it.', 0),
      revenue_rub: roubles('The one less the other.', 1800),
      orders: whole('How many orders.', 3),
      products: z
        .record(z.string(), z.number())
        .openapi({ description: 'What was sold, by product, in roubles.', example: { dedicated: 1800 } }),
    }),
    customers: whole('How many there are.', 17),
    active: part('Services that run now.', {
      proxies: whole('Dedicated proxies that run.', 40),
      interrupted: whole('Of those, that cannot be used now.', 0),
      vpn: whole('VPN subscriptions that run.', 5),
    }),
    stock: rows('By country and kind.', {
      country: text('The country.', 'DE'),
      ipv: whole('The kind.', 4),
      free: whole('Places that can be sold.', 200),
      leased: whole('Places that are sold.', 54),
      resting: whole('Places that rest.', 0),
      retired: whole('Places off sale.', 0),
    }),
    nodes: part('Machines that carry traffic.', {
      online: whole('Up.', 2),
      offline: whole('Not heard of.', 0),
      closed: whole('Shut out.', 0),
    }),
    made_at: moment('When this was counted.'),
  }),
})
