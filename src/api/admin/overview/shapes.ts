import { choice, exampleOrder, flag, moment, part, queryInteger, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { customerName, exampleCustomer } from '../fields.ts'

const operation = operationsOf({ tag: 'At a glance', role: 'reader' })

const business = (when: string) =>
  part(`Figures of ${when}.`, {
    revenue_rub: roubles('Orders minus refunds.', 1800),
    orders: whole('Number of orders.', 3),
    customers: whole('New customers.', 2),
    relayed_bytes: whole(
      'Bytes that all nodes relayed; null if a node is older than the kept reports.',
      5_000_000_000,
    ).nullable(),
  })

export const getOverview = operation('getOverview', 'GET /overview', {
  summary: 'Show revenue by day, active services, stock by country, and nodes by state',
  description: 'The figures are at most 10 s old, those of `compared` at most 60 s.',
  query: z.object({
    days: queryInteger({ min: 1, max: 366, example: 30, description: 'Number of days, including today.' }).default(30),
  }),
  answer: z.object({
    days: rows('All days, oldest first.', {
      day: text('The day, in UTC.', '2026-01-01'),
      sold_rub: roubles('Sum of the orders of that day.', 1800),
      refunded_rub: roubles('Refunds made on that day.', 0),
      revenue_rub: roubles('`sold_rub` minus `refunded_rub`.', 1800),
      orders: whole('Number of orders.', 3),
      products: z
        .record(z.string(), z.number())
        .openapi({ description: 'Sum of orders by product, in roubles.', example: { dedicated: 1800 } }),
    }),
    customers: whole('Number of customers.', 17),
    active: part('Active services.', {
      proxies: whole('Active dedicated proxies.', 40),
      interrupted: whole('Active dedicated proxies that are interrupted now.', 0),
      vpn: whole('Active VPN subscriptions.', 5),
    }),
    stock: rows('Stock slots by country and kind.', {
      country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
      ipv: whole('Kind of address: 3, 4 or 6.', 4),
      free: whole('Free slots.', 200),
      leased: whole('Leased slots.', 54),
      resting: whole('Slots that rest before the next sale.', 0),
      retired: whole('Slots taken off sale.', 0),
    }),
    nodes: part('Gateways and VPN nodes.', {
      online: whole('Online nodes, by the rule of `listNodes`.', 2),
      offline: whole('Open nodes that are not online. Nodes that have never reported are not counted.', 0),
      closed: whole('Closed nodes.', 0),
    }),
    compared: part('The days of this answer, and the same time as many days before.', {
      now: business('the days of this answer, until now'),
      before: business('the days before, until the same time of their last day'),
      before_from: moment('Beginning of the days before.'),
      before_to: moment('End of the days before.'),
    }),
    made_at: moment('Time of the count.'),
  }),
})

export const getUpcoming = operation('getUpcoming', 'GET /upcoming', {
  summary: 'Show what is about to happen: renewals, ends of services, stock that runs out, certificates that end',
  description: 'The figures are at most 60 s old.',
  query: z.object({
    days: queryInteger({ min: 1, max: 90, example: 14, description: 'Number of days, including today.' }).default(14),
  }),
  answer: z.object({
    days: rows('All days, today first.', {
      day: text('The day, in UTC.', '2026-01-01'),
      proxies_renew: whole('Dedicated proxies that renew automatically.', 12),
      proxies_end: whole('Dedicated proxies that end.', 3),
      vpn_renew: whole('VPN subscriptions that renew automatically.', 2),
      vpn_end: whole('VPN subscriptions that end.', 1),
    }),
    stock: rows(
      'Kinds of addresses that run out within a year at the rate of the last 24 hours, the first one first.',
      {
        country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
        ipv: whole('Kind of address: 3, 4 or 6.', 4),
        free: whole('Free slots.', 20),
        sold_per_day: whole('Slots sold in the last 24 hours. Slots that come back are not subtracted.', 10),
        runs_out_at: moment('When the last free slot is sold at this rate.'),
      },
    ),
    certificates: rows('Certificates that this shop serves.', {
      of: choice('Whose certificate it is.', ['shop']),
      ends_at: moment('End of the certificate.'),
    }),
    made_at: moment('Time of the count.'),
  }),
})

export const getLiveNetwork = operation('getLiveNetwork', 'GET /network', {
  summary: 'Show open tunnels and Mbit/s of each node, and in which countries customers have proxies',
  description: 'The shop does not look up where customers are: it counts the countries of their dedicated proxies.',
  answer: z.object({
    nodes: rows('Gateways and VPN nodes that have reported, without closed ones.', {
      name: text('The node’s name.', 'gate-1'),
      kind: choice('Kind of the node.', ['gateway', 'vpn']),
      country_code: text('ISO 3166-1 alpha-2 country code of the node; null if it has none.', 'DE').nullable(),
      state: choice('As in `listNodes`.', ['online', 'offline']),
      tunnels: whole('Open tunnels, as last reported; null without a report.', 3).nullable(),
      mbit_per_second: z.number().nullable().openapi({
        description: 'Mean of the last 1 to 6 minutes, both directions together; null if the node runs for less.',
        example: 12.5,
      }),
    }),
    countries: rows('Countries in which customers have active dedicated proxies.', {
      country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
      proxies: whole('Active proxies.', 40),
      customers: whole('Customers who have them.', 7),
    }),
  }),
})

/** In the order in which a new shop needs them. */
export const setupSteps = ['address', 'prices', 'node', 'stock', 'payment', 'customer', 'purchase'] as const

export const getSetup = operation('getSetup', 'GET /setup', {
  summary: 'Show which steps of the first setup are done, as the shop finds them now',
  answer: z.object({
    mode: choice('Kind of the shop.', ['sandbox', 'production']),
    steps: rows('All steps, in their order.', {
      step: choice(
        '`address`: customers reach the shop by https; `prices`: something has a price; `node`: a node is online; ' +
          '`stock`: a node serves an address or an exit, or a VPN node is online; `payment`: customers can pay; ' +
          '`customer`: there is a customer; `purchase`: there is an order.',
        setupSteps,
      ),
      done: flag('Whether the step is done.'),
    }),
    last_order: part('The newest order of all customers; null before the first.', {
      order_id: text("The order's id.", exampleOrder),
      product: text('Product: `dedicated`, `premium` or `vpn`.', 'dedicated'),
      action: text('Action, such as `buy`, `prolong` or `renew`.', 'buy'),
      price_rub: roubles('Price charged.', 1658.7),
      customer_id: text("The customer's id.", exampleCustomer),
      customer_name: customerName,
      created_at: moment('When the order was placed.'),
    }).nullable(),
  }),
})
