import { readAddress } from '../../../core/address.ts'
import { problem } from '../../../core/messages/problems.ts'
import { toIso } from '../../../core/time.ts'
import type { Holders } from '../../../domains/privacy/rules.ts'
import { slotStates } from '../../../domains/stock/rules.ts'
import {
  bodyInteger,
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
import { countryText, note, prefixText, printableText, yes } from '../fields.ts'

const operation = operationsOf({ tag: 'Stock' })
const reader = operationsOf({ tag: 'Stock', role: 'reader' })

const ipv = () => z.union([z.literal(3), z.literal(4), z.literal(6)]).openapi({ description: '3, 4 or 6.', example: 4 })

const slot = named('Place', {
  place: whole("The place's number, in the order places are sold.", 1),
  address: text('The address.', '203.0.113.7'),
  slot: whole('Which of its places, of a shared one.', 0),
  country: text('Its country.', 'DE'),
  ipv: whole('Its kind.', 4),
  state: text(`${slotStates.join(', ')}.`, 'free'),
  rest_until: moment('Until when it rests.').nullable(),
  retiring: flag('Whether it goes off sale when it is free.', false),
  carrier: text('The node that carries it.').nullable(),
})

export const listPlaces = reader('listPlaces', 'GET /stock', {
  summary: 'List places in the order they are sold',
  query: z.object({
    ...pageQuery,
    country: countryText().optional(),
    ipv: queryInteger({ min: 3, max: 6, example: 4, description: '3, 4 or 6.' }).optional(),
    state: choice('Of one state.', [...slotStates] as [string, ...string[]]).optional(),
  }),
  answer: page({ items: list('One page.', slot) }),
})

export const countPlaces = reader('countPlaces', 'GET /stock/count', {
  summary: 'Count places by country, kind and state',
  answer: items('The states add up to all places.', {
    country: text('The country.', 'DE'),
    ipv: whole('The kind.', 4),
    state: text('The state.', 'free'),
    count: whole('How many places.', 254),
  }),
})

export const listBlocks = reader('listBlocks', 'GET /stock/blocks', {
  summary: 'List IPv6 blocks too large to write out; an address of theirs becomes a place when it is sold',
  answer: items('All of them.', {
    prefix: text('The block.', '2001:db8::/48'),
    country: text('Its country.', 'DE'),
    carrier: text('The node that carries it.').nullable(),
    added_at: moment('When it was added.'),
    retired_at: moment('When it was taken off sale.').nullable(),
  }),
})

const range = named('Range', {
  range: text('The prefix.', '203.0.113.0/24'),
  nodes: list('The gateways that it is on; any if empty.', z.string()),
  block: flag('Whether it is a block that is not written out.', false),
  places: whole('How many places it has.', 254),
  served: whole('How many of them are served now.', 254),
  served_by: list('By which gateways.', z.string()),
  problems: list('Why the rest is not served.', z.string()),
})

export const listRanges = reader('listRanges', 'GET /stock/ranges', {
  summary: 'List ranges: which gateways they are on, how much of each is served, and why the rest is not',
  answer: z.object({ items: list('All of them.', range) }),
})

const nodes = () =>
  z
    .array(z.string().max(63))
    .max(100)
    .openapi({ description: 'Names of gateways.', example: ['gate-1'] })

export const addStock = operation('addStock', 'POST /stock/add', {
  summary: 'Add a prefix, or a list of addresses of one kind',
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
    nodes: nodes()
      .default([])
      .openapi({ description: 'The gateways that it is on; any that can use it, unless said.' }),
  }),
  exampleBody: { prefix: '203.0.113.0/24' },
  answer: z.object({ added: whole('How many places are new.', 254) }),
  codes: ['not_found', 'conflict'],
})

export const assignRange = operation('assignRange', 'POST /stock/assign', {
  summary: 'Say which gateways addresses are on; an empty list is any that can use them',
  body: z.object({ prefix: prefixText(), nodes: nodes() }),
  answer: z.object({ prefix: text('Which.', '203.0.113.0/24'), ranges: whole('How many ranges that touches.', 1) }),
  codes: ['not_found', 'conflict'],
})

export const moveRange = operation('moveRange', 'POST /stock/move', {
  summary: 'Move addresses to other gateways, with what was sold of them',
  body: z.object({ prefix: prefixText(), nodes: nodes().min(1), dry_run: yes('Only say whom it would touch.') }),
  exampleBody: { dry_run: true },
  answer: z.object({
    dry_run: flag('Whether nothing was changed.'),
    ranges: whole('How many ranges were moved.', 1),
    proxies: list('The proxies that it touches.', z.int()),
    customers: whole('How many customers have them.', 1),
    away: list('Gateways that were not heard of lately.', z.string()),
  }),
  codes: ['not_found', 'conflict'],
})

const addressParam = z.object({
  address: checked('An address in stock.', (value) => readAddress(value) !== undefined, ['address'], '203.0.113.7'),
})

export const retireAddress = operation('retireAddress', 'POST /stock/addresses/{address}/retire', {
  summary: 'Take an address off sale; what is leased runs out',
  params: addressParam,
  body: z.object({ undo: yes('Put it back.') }),
  answer: z.object({ address: text('Which.', '203.0.113.7'), places: whole('How many places changed.', 1) }),
  codes: ['not_found', 'conflict'],
})

export const quarantineAddress = operation('quarantineAddress', 'POST /stock/addresses/{address}/quarantine', {
  summary: 'Keep a free address from sale for some days',
  params: addressParam,
  body: z.object({ days: bodyInteger({ min: 0, max: 3650, example: 7, description: 'How long.' }).default(7) }),
  answer: z.object({
    address: text('Which.', '203.0.113.7'),
    places: whole('How many places rest.', 1),
    days: whole('How long.', 7),
  }),
  codes: ['not_found', 'conflict'],
})

const kind = z.looseObject({}).openapi({ type: 'object', description: 'A country and kind, with counts by state.' })
const ids = (description: string) => list(description, z.int())

export const surveyRange = reader('surveyRange', 'GET /stock/survey', {
  summary: 'What is in a range now, and whom closing it would touch',
  query: z.object({ prefix: prefixText() }),
  answer: z.object({
    prefix: text('Which.', '203.0.113.0/24'),
    kinds: list('By country and kind; `replacements` is what is free elsewhere.', kind),
    blocks: list('Blocks within it.', z.string()),
    proxies: ids('Proxies that leave from it.'),
    customers: whole('How many customers have them.', 1),
    unused_rub: roubles('What would be given back if all of it ended now.', 420),
  }),
  codes: ['not_found', 'conflict'],
})

const closing = (verb: 'retire' | 'quarantine', summary: string, unless: string) =>
  operation(`${verb}Range`, `POST /stock/${verb}`, {
    summary,
    description: 'Long work: each step is done for itself, and asked again it goes on where it stopped.',
    body: z.object({
      prefix: prefixText(),
      undo: yes('Take it back.'),
      replace: yes('Give customers other addresses of the kind now.'),
      refund: yes('With replace: end what no address is left for, and give back what is unused.'),
      note: note(unless),
    }),
    exampleBody: { replace: true },
    answer: z.object({
      places: whole('How many places it has.', 254),
      interrupted: whole('How many proxies stand still.', 0),
      restored: whole('How many go on.', 0),
      replaced: ids('Proxies with another address.'),
      ended: ids('Proxies that were ended.'),
      waiting: ids('Proxies that no address is left for.'),
    }),
    codes: ['not_found', 'conflict'],
  })

export const retireRange = closing('retire', 'Take a whole range off sale', 'the range is retired')
export const quarantineRange = closing(
  'quarantine',
  'Neither sell nor serve a range until that is taken back',
  'the range is in quarantine',
)

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

export const findHolders = operation('findHolders', 'GET /addresses/{address}/holders', {
  role: 'support',
  summary: 'Who had an address at a time, for a report of abuse; the question itself is in the audit log',
  description:
    'A moment is taken as exactly as it is written: `2027-01-31T12:00:00Z` is that whole second, with a fraction it ' +
    'is one millisecond. Who held a dedicated address, or an address inside the VPN, is exact. Many leave through an ' +
    'exit of a pool at once: of that it is known who carried something in its pool in that hour, and to which host ' +
    'where the customer has that kept.',
  params: addressParam,
  codes: [],
  query: z.object({
    from: given('The moment, or the first of a span.', 40, toIso(exampleAt)),
    to: given('The last moment; the first one unless said.', 40).optional(),
    reason: printableText('Why it is asked: the number of the report, or of the letter.', 200, 'abuse report 4711'),
    host: given('A destination of connections through an exit, as far as that is kept.', 253, 'example.com').optional(),
  }),
  answer: z.object({
    items: rows('With dedicated proxies, the oldest first. A shared address has up to three at once.', {
      customer_id: text('Who.', 'cus_01k73sf8000000000000000000'),
      proxy: whole('With which proxy.', 7),
      order_id: text('Bought with which order.', 'ord_01k73sf8000000000000000000'),
      username: text('The login of that proxy.', 'u7abcd'),
      from: moment('Since when.'),
      until: moment('Until when, that moment not included; null if the customer has it still.').nullable(),
    }),
    devices: rows('With VPN devices, for an address inside the tunnel.', {
      customer_id: text('Who.', 'cus_01k73sf8000000000000000000'),
      device_id: text('With which device.', 'dev_01k73sf8000000000000000000'),
      uuid: text('Of which subscription.', '0190f0c2-6f6e-7c4e-9a57-3f1d2c4b5a60'),
      from: moment('Since when.'),
      until: moment('Until when, that moment not included; null if it has it still.').nullable(),
    }),
    is_exit: flag('Whether it is an exit of a pool too, which many customers leave from.', false),
    candidates: rows('Who may have left through that exit; 1,000 at most. One of them, or none.', {
      customer_id: text('Who.', 'cus_01k73sf8000000000000000000'),
      subuser_id: text('With which sub-user.', 'sub_01k73sf8000000000000000000'),
      login: text('Its login.', 'u7abcd'),
      pool: text('In which pool.', 'residential'),
      hour: moment('In which hour.'),
      rx_bytes: whole('What it received in that hour.', 1000),
      tx_bytes: whole('What it sent.', 100),
    }),
  }),
})
