import { readAddress } from '../../../core/address.ts'
import { problem } from '../../../core/messages/problems.ts'
import { toIso } from '../../../core/time.ts'
import type { Holders } from '../../../domains/privacy/rules.ts'
import { slotStates } from '../../../domains/stock/rules.ts'
import {
  bodyInteger,
  bodyOneOf,
  checked,
  choice,
  exampleAt,
  flag,
  given,
  isoOrNull,
  items,
  list,
  moment,
  named,
  queryInteger,
  roubles,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { countryText, customerName, note, prefixText, printableText, yes } from '../fields.ts'

const operation = operationsOf({ tag: 'Stock' })
const reader = operationsOf({ tag: 'Stock', role: 'reader' })

const ipv = () =>
  bodyOneOf([3, 4, 6], {
    description: 'Kind of address: 3 (shared IPv4), 4 (dedicated IPv4) or 6 (IPv6).',
    example: 4,
  })

const slot = named('Place', {
  place: whole('Number of the slot. A gateway’s slots are sold in this order.', 1),
  address: text('The address.', '203.0.113.7'),
  slot: whole('Index of the slot on its address; above 0 only on a shared address.', 0),
  country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
  ipv: whole('Kind of address: 3, 4 or 6.', 4),
  state: text(`${slotStates.join(', ')}.`, 'free'),
  rest_until: moment('End of the rest before the next sale.').nullable(),
  retiring: flag('Whether the slot is retired when its lease ends.', false),
  carrier: text('Node that serves it.').nullable(),
})

export const listPlaces = reader('listPlaces', 'GET /stock', {
  summary: 'List stock slots by number',
  query: z.object({
    ...pageQuery,
    country: countryText().optional(),
    ipv: queryInteger({
      min: 3,
      max: 6,
      example: 4,
      description: 'Kind of address: 3 (shared IPv4), 4 (dedicated IPv4) or 6 (IPv6).',
    }).optional(),
    state: choice('Only slots in this state.', [...slotStates] as [string, ...string[]]).optional(),
  }),
  answer: page({ items: list('One page of slots.', slot) }),
})

export const countPlaces = reader('countPlaces', 'GET /stock/count', {
  summary: 'Count stock slots by country, kind and state',
  answer: items('One count per country, kind and state; together they cover all slots.', {
    country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
    ipv: whole('Kind of address: 3, 4 or 6.', 4),
    state: text('State of the slots.', 'free'),
    count: whole('Number of slots.', 254),
  }),
})

export const listBlocks = reader('listBlocks', 'GET /stock/blocks', {
  summary: 'List IPv6 blocks that are too large to list by address; an address gets a slot when it is sold',
  answer: items('All blocks.', {
    prefix: text('Prefix of the block.', '2001:db8::/48'),
    country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
    carrier: text('Node that serves it.').nullable(),
    added_at: moment('Time when the block was added.'),
    retired_at: moment('Time when the block was taken off sale; null if it is on sale.').nullable(),
  }),
})

const range = named('Range', {
  range: text('Prefix of the range.', '203.0.113.0/24'),
  nodes: list('Gateways that the range is assigned to; empty for any gateway.', z.string()),
  block: flag('Whether it is an IPv6 block without a slot for each address.', false),
  retired: flag('Whether all its addresses are retired.', false),
  places: whole('Number of slots in the range; of a block, the addresses that got a slot when they were sold.', 254),
  served: whole('Slots that a gateway serves now; of a block, 1 if a gateway serves it and otherwise 0.', 254),
  served_by: list('Gateways that serve the range.', z.string()),
  problems: list('Why the other slots are not served.', z.string()),
})

export const listRanges = reader('listRanges', 'GET /stock/ranges', {
  summary: 'List ranges with their gateways, the slots served now, and the problems with the others',
  query: z.object({
    all: z.enum(['true', 'false']).default('false').openapi({ description: 'Include retired ranges.' }),
  }),
  answer: z.object({ items: list('Ranges that are not retired, or all.', range) }),
})

const nodes = () =>
  z
    .array(z.string().max(63))
    .max(100)
    .openapi({ description: 'Names of gateways.', example: ['gate-1'] })

export const addStock = operation('addStock', 'POST /stock/add', {
  affectsNodes: true,
  summary: 'Add a prefix or a list of addresses of one kind to the stock',
  body: z.object({
    prefix: prefixText('A prefix, or one address.').optional(),
    addresses: z
      .array(z.string().refine((value) => readAddress(value) !== undefined, problem('address')))
      .min(1)
      .max(1000)
      .optional()
      .openapi({ description: 'Addresses, in place of a prefix.', example: ['203.0.113.7'] }),
    country: countryText(),
    ipv: ipv(),
    nodes: nodes().default([]).openapi({
      description: 'Names of the gateways that serve it. An empty list means any gateway that can use it.',
    }),
  }),
  exampleBody: { prefix: '203.0.113.0/24' },
  answer: z.object({ added: whole('Slots added.', 254) }),
  codes: ['not_found', 'conflict'],
})

export const assignRange = operation('assignRange', 'POST /stock/assign', {
  affectsNodes: true,
  summary: 'Assign addresses to gateways; an empty list means any gateway that can use them',
  body: z.object({ prefix: prefixText(), nodes: nodes() }),
  answer: z.object({ prefix: text('The prefix.', '203.0.113.0/24'), ranges: whole('Ranges changed.', 1) }),
  codes: ['not_found', 'conflict'],
})

export const moveRange = operation('moveRange', 'POST /stock/move', {
  affectsNodes: true,
  summary: 'Move addresses, with the proxies on them, to other gateways',
  body: z.object({
    prefix: prefixText(),
    nodes: nodes().min(1),
    dry_run: yes('Only list the affected proxies; change nothing.'),
  }),
  exampleBody: { dry_run: true },
  answer: z.object({
    dry_run: flag('True if this was a dry run that changed nothing.'),
    ranges: whole('Ranges moved.', 1),
    proxies: list('Numbers of the affected proxies.', z.int()),
    customers: whole('Customers who have these proxies.', 1),
    away: list('Target gateways that are not serving: no report within 10 s, closed or stopping.', z.string()),
  }),
  codes: ['not_found', 'conflict'],
})

const addressParam = z.object({
  address: checked('An address in stock.', (value) => readAddress(value) !== undefined, ['address'], '203.0.113.7'),
})

export const retireAddress = operation('retireAddress', 'POST /stock/addresses/{address}/retire', {
  affectsNodes: true,
  summary: 'Take an address off sale; current leases run until they end',
  params: addressParam,
  body: z.object({ undo: yes('Put the address back on sale.') }),
  answer: z.object({ address: text('The address.', '203.0.113.7'), places: whole('Slots changed.', 1) }),
  codes: ['not_found', 'conflict'],
})

export const quarantineAddress = operation('quarantineAddress', 'POST /stock/addresses/{address}/quarantine', {
  affectsNodes: true,
  summary: 'Keep a free address off sale for a number of days',
  params: addressParam,
  body: z.object({ days: bodyInteger({ min: 0, max: 3650, example: 7, description: 'Number of days.' }).default(7) }),
  answer: z.object({
    address: text('The address.', '203.0.113.7'),
    places: whole('Slots that are now resting.', 1),
    days: whole('Number of days.', 7),
  }),
  codes: ['not_found', 'conflict'],
})

const kind = z
  .looseObject({})
  .openapi({ type: 'object', description: 'Country and kind, with the number of slots by state.' })
const ids = (description: string) => list(description, z.int())

export const surveyRange = reader('surveyRange', 'GET /stock/survey', {
  summary: 'Show the slots of a range and the customers whose proxies closing it would affect',
  query: z.object({ prefix: prefixText() }),
  answer: z.object({
    prefix: text('The prefix.', '203.0.113.0/24'),
    kinds: list('Slots by country and kind; `replacements`: free slots of the kind outside the range.', kind),
    blocks: list('IPv6 blocks within the prefix.', z.string()),
    proxies: ids('Numbers of the proxies on these addresses.'),
    customers: whole('Customers who have these proxies.', 1),
    unused_rub: roubles('Refund if all these proxies ended now.', 420),
  }),
  codes: ['not_found', 'conflict'],
})

const closing = (verb: 'retire' | 'quarantine', summary: string, unless: string) =>
  operation(`${verb}Range`, `POST /stock/${verb}`, {
    affectsNodes: true,
    summary,
    description: 'May take long. It commits in steps: a repeated request continues where the first one stopped.',
    body: z.object({
      prefix: prefixText(),
      undo: yes('Undo: put the range back into service.'),
      replace: yes('Give customers other addresses of the same kind now.'),
      refund: yes('With `replace`: end proxies for which no address is left, and refund their unused time.'),
      note: note(unless),
    }),
    exampleBody: { replace: true },
    answer: z.object({
      places: whole('Number of slots in the range.', 254),
      interrupted: whole('Proxies interrupted.', 0),
      restored: whole('Proxies that work again.', 0),
      replaced: ids('Proxies that got another address.'),
      ended: ids('Proxies that were ended.'),
      waiting: ids('Proxies for which no address is left; they keep theirs.'),
    }),
    codes: ['not_found', 'conflict'],
  })

export const retireRange = closing('retire', 'Take a whole range off sale', 'the range is retired')
export const quarantineRange = closing(
  'quarantine',
  'Stop selling and serving a range until it is undone',
  'the range is in quarantine',
)

export const toHolders = ({ proxies, devices, isExit, candidates }: Holders, nameIn: (customer: string) => string) => ({
  items: proxies.map((each) => ({
    customer_id: each.customer,
    customer_name: nameIn(each.customer),
    proxy: each.proxy,
    order_id: each.order,
    username: each.username,
    from: toIso(each.startedAt),
    until: isoOrNull(each.endedAt),
  })),
  devices: devices.map((each) => ({
    customer_id: each.customer,
    customer_name: nameIn(each.customer),
    device_id: each.id,
    uuid: each.subscription,
    from: toIso(each.createdAt),
    until: isoOrNull(each.removedAt),
  })),
  is_exit: isExit,
  candidates: candidates.map(({ hour, received, sent, ...each }) => ({
    ...each,
    customer_name: nameIn(each.customer_id),
    hour: toIso(Number(hour)),
    rx_bytes: Number(received),
    tx_bytes: Number(sent),
  })),
})

export const findHolders = operation('findHolders', 'GET /addresses/{address}/holders', {
  role: 'support',
  summary: 'Find the customers who held an address at a time, for an abuse report; recorded in the audit log',
  description:
    'A time has the precision in which it is written: `2027-01-31T12:00:00Z` is that whole second, with a ' +
    'fraction it ' +
    'is one millisecond. The holder of a dedicated address, or of an address inside the VPN, is exact. An exit of a ' +
    'pool is shared: the answer lists sub-users with traffic in its pool in that hour, and can be narrowed by host ' +
    'where the customer has logging of destinations turned on.',
  params: addressParam,
  codes: [],
  query: z.object({
    from: given('The time, or the start of a period.', 40, toIso(exampleAt)),
    to: given('End of the period. Default: the same as `from`.', 40).optional(),
    reason: printableText('Reason for the search, such as the number of the abuse report.', 200, 'abuse report 4711'),
    host: given(
      'Destination host of connections through an exit; works only where destinations are logged.',
      253,
      'example.com',
    ).optional(),
  }),
  answer: z.object({
    items: rows('Holders with dedicated proxies, oldest first. A shared address has up to three at once.', {
      customer_id: text('The customer’s id.', 'cus_01k73sf8000000000000000000'),
      customer_name: customerName,
      proxy: whole('Number of the proxy.', 7),
      order_id: text('Order that bought the proxy.', 'ord_01k73sf8000000000000000000'),
      username: text('Login of the proxy.', 'u7abcd'),
      from: moment('Start.'),
      until: moment('End, exclusive; null if the customer still holds it.').nullable(),
    }),
    devices: rows('Holders with VPN devices, for an address inside the tunnel.', {
      customer_id: text('The customer’s id.', 'cus_01k73sf8000000000000000000'),
      customer_name: customerName,
      device_id: text('Id of the device.', 'dev_01k73sf8000000000000000000'),
      uuid: text('Id of the VPN subscription.', '0190f0c2-6f6e-7c4e-9a57-3f1d2c4b5a60'),
      from: moment('Start.'),
      until: moment('End, exclusive; null if the device still holds it.').nullable(),
    }),
    is_exit: flag('Whether the address is also an exit of a pool, which many customers share.', false),
    candidates: rows('Sub-users who may have used the exit, at most 1,000. Being listed proves nothing.', {
      customer_id: text('The customer’s id.', 'cus_01k73sf8000000000000000000'),
      customer_name: customerName,
      subuser_id: text('Id of the sub-user.', 'sub_01k73sf8000000000000000000'),
      login: text('Login of the sub-user.', 'u7abcd'),
      pool: text('The pool.', 'residential'),
      hour: moment('Start of the hour.'),
      rx_bytes: whole('Bytes received in that hour.', 1000),
      tx_bytes: whole('Bytes sent in that hour.', 100),
    }),
  }),
})
