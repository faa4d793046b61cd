import { z } from '@hono/zod-openapi'
import { readAddress } from '../../../core/address.ts'
import { placeStates } from '../../../domains/stock/rules.ts'
import { bodyInteger, flag, moment, nextCursor, pageQuery, queryInteger, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { countryText, note, prefixText, yes } from '../fields.ts'

const tag = 'Stock'

const ipv = () => z.union([z.literal(3), z.literal(4), z.literal(6)]).openapi({ description: '3, 4 or 6.', example: 4 })

const place = z
  .object({
    place: whole("The place's number, in the order places are sold.", 1),
    address: text('The address.', '203.0.113.7'),
    slot: whole('Which of its places, of a shared one.', 0),
    country: text('Its country.', 'DE'),
    ipv: whole('Its kind.', 4),
    state: text(`${placeStates.join(', ')}.`, 'free'),
    rest_until: moment('Until when it rests.').nullable(),
    retiring: flag('Whether it goes off sale when it is free.'),
    carrier: text('The node that carries it.').nullable(),
  })
  .openapi('Place')

export const listPlaces = operation({
  id: 'listPlaces',
  method: 'GET',
  path: '/stock',
  tag,
  summary: 'List places in the order they are sold',
  role: 'reader',
  query: z.object({
    ...pageQuery,
    country: countryText().optional(),
    ipv: queryInteger({ min: 3, max: 6, example: 4, description: '3, 4 or 6.' }).optional(),
    state: z
      .enum([...placeStates] as [string, ...string[]])
      .optional()
      .openapi({ description: 'Of one state.' }),
  }),
  answer: z.object({ items: z.array(place).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: {
    items: [
      {
        place: 1,
        address: '203.0.113.7',
        slot: 0,
        country: 'DE',
        ipv: 4,
        state: 'free',
        rest_until: null,
        retiring: false,
        carrier: null,
      },
    ],
    next_cursor: null,
  },
})

export const countPlaces = operation({
  id: 'countPlaces',
  method: 'GET',
  path: '/stock/count',
  tag,
  summary: 'Count places by country, kind and state',
  role: 'reader',
  answer: z.object({
    items: z
      .array(
        z.object({
          country: text('The country.', 'DE'),
          ipv: whole('The kind.', 4),
          state: text('The state.', 'free'),
          count: whole('How many places.', 254),
        }),
      )
      .openapi({ description: 'The states add up to all places.' }),
  }),
  example: { items: [{ country: 'DE', ipv: 4, state: 'free', count: 254 }] },
})

export const listBlocks = operation({
  id: 'listBlocks',
  method: 'GET',
  path: '/stock/blocks',
  tag,
  summary: 'List IPv6 blocks too large to write out; an address of theirs becomes a place when it is sold',
  role: 'reader',
  answer: z.object({
    items: z
      .array(
        z.object({
          prefix: text('The block.', '2001:db8::/48'),
          country: text('Its country.', 'DE'),
          carrier: text('The node that carries it.').nullable(),
          added_at: moment('When it was added.'),
          retired_at: moment('When it was taken off sale.').nullable(),
        }),
      )
      .openapi({ description: 'All of them.' }),
  }),
  example: { items: [] },
})

const range = z
  .object({
    range: text('The prefix.', '203.0.113.0/24'),
    nodes: z.array(z.string()).openapi({ description: 'The gateways that it is on; any if empty.' }),
    block: flag('Whether it is a block that is not written out.'),
    places: whole('How many places it has.', 254),
    served: whole('How many of them are served now.', 254),
    served_by: z.array(z.string()).openapi({ description: 'By which gateways.' }),
    problems: z.array(z.string()).openapi({ description: 'Why the rest is not served.' }),
  })
  .openapi('Range')

export const listRanges = operation({
  id: 'listRanges',
  method: 'GET',
  path: '/stock/ranges',
  tag,
  summary: 'List ranges: which gateways they are on, how much of each is served, and why the rest is not',
  role: 'reader',
  answer: z.object({ items: z.array(range).openapi({ description: 'All of them.' }) }),
  example: { items: [] },
})

const nodes = () =>
  z
    .array(z.string().max(63))
    .max(100)
    .openapi({ description: 'Names of gateways.', example: ['gate-1'] })

export const addStock = operation({
  id: 'addStock',
  method: 'POST',
  path: '/stock/add',
  tag,
  summary: 'Add a prefix, or a list of addresses of one kind',
  role: 'owner',
  body: z.object({
    prefix: prefixText('A prefix, or one address.').optional(),
    addresses: z
      .array(z.string().refine((value) => readAddress(value) !== undefined, 'must be an address'))
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
  exampleBody: { prefix: '203.0.113.0/24', country: 'DE', ipv: 4 },
  answer: z.object({ added: whole('How many places are new.', 254) }),
  example: { added: 254 },
  codes: ['not_found', 'conflict'],
})

export const assignRange = operation({
  id: 'assignRange',
  method: 'POST',
  path: '/stock/assign',
  tag,
  summary: 'Say which gateways addresses are on; an empty list is any that can use them',
  role: 'owner',
  body: z.object({ prefix: prefixText(), nodes: nodes() }),
  exampleBody: { prefix: '203.0.113.0/24', nodes: ['gate-1'] },
  answer: z.object({ prefix: text('Which.'), ranges: whole('How many ranges that touches.', 1) }),
  example: { prefix: '203.0.113.0/24', ranges: 1 },
  codes: ['not_found', 'conflict'],
})

export const moveRange = operation({
  id: 'moveRange',
  method: 'POST',
  path: '/stock/move',
  tag,
  summary: 'Move addresses to other gateways, with what was sold of them',
  role: 'owner',
  body: z.object({
    prefix: prefixText(),
    nodes: nodes().min(1),
    dry_run: yes('Only say whom it would touch.'),
  }),
  exampleBody: { prefix: '203.0.113.0/24', nodes: ['gate-2'], dry_run: true },
  answer: z.object({
    dry_run: flag('Whether nothing was changed.'),
    ranges: whole('How many ranges were moved.', 1),
    proxies: z.array(z.int()).openapi({ description: 'The proxies that it touches.' }),
    customers: whole('How many customers have them.', 1),
    away: z.array(z.string()).openapi({ description: 'Gateways that were not heard of lately.' }),
  }),
  example: { dry_run: true, ranges: 0, proxies: [7], customers: 1, away: [] },
  codes: ['not_found', 'conflict'],
})

export const addressParam = z.object({
  address: z
    .string()
    .refine((value) => readAddress(value) !== undefined, 'must be an address')
    .openapi({ description: 'An address in stock.', example: '203.0.113.7' }),
})

export const retireAddress = operation({
  id: 'retireAddress',
  method: 'POST',
  path: '/stock/addresses/{address}/retire',
  tag,
  summary: 'Take an address off sale; what is leased runs out',
  role: 'owner',
  params: addressParam,
  body: z.object({ undo: yes('Put it back.') }),
  answer: z.object({ address: text('Which.'), places: whole('How many places changed.', 1) }),
  example: { address: '203.0.113.7', places: 1 },
  codes: ['not_found', 'conflict'],
})

export const quarantineAddress = operation({
  id: 'quarantineAddress',
  method: 'POST',
  path: '/stock/addresses/{address}/quarantine',
  tag,
  summary: 'Keep a free address from sale for some days',
  role: 'owner',
  params: addressParam,
  body: z.object({ days: bodyInteger({ min: 0, max: 3650, example: 7, description: 'How long.' }).default(7) }),
  answer: z.object({ address: text('Which.'), places: whole('How many places rest.', 1), days: whole('How long.', 7) }),
  example: { address: '203.0.113.7', places: 1, days: 7 },
  codes: ['not_found', 'conflict'],
})

const kind = z.looseObject({}).openapi({ type: 'object', description: 'A country and kind, with counts by state.' })
const ids = (description: string) => z.array(z.int()).openapi({ description })

export const surveyRange = operation({
  id: 'surveyRange',
  method: 'GET',
  path: '/stock/survey',
  tag,
  summary: 'What is in a range now, and whom closing it would touch',
  role: 'reader',
  query: z.object({ prefix: prefixText() }),
  answer: z.object({
    prefix: text('Which.'),
    kinds: z.array(kind).openapi({ description: 'By country and kind; `replacements` is what is free elsewhere.' }),
    blocks: z.array(z.string()).openapi({ description: 'Blocks within it.' }),
    proxies: ids('Proxies that leave from it.'),
    customers: whole('How many customers have them.', 1),
    unused_rub: roubles('What would be given back if all of it ended now.', 420),
  }),
  example: { prefix: '203.0.113.0/24', kinds: [], blocks: [], proxies: [], customers: 0, unused_rub: 0 },
  codes: ['not_found', 'conflict'],
})

const closing = (verb: 'retire' | 'quarantine', summary: string, unless: string) =>
  operation({
    id: `${verb}Range`,
    method: 'POST',
    path: `/stock/${verb}`,
    tag,
    summary,
    description: 'Long work: each step is done for itself, and asked again it goes on where it stopped.',
    role: 'owner',
    body: z.object({
      prefix: prefixText(),
      undo: yes('Take it back.'),
      replace: yes('Give customers other addresses of the kind now.'),
      refund: yes('With replace: end what no address is left for, and give back what is unused.'),
      note: note(unless),
    }),
    exampleBody: { prefix: '203.0.113.0/24', replace: true },
    answer: z.object({
      places: whole('How many places it has.', 254),
      interrupted: whole('How many proxies stand still.', 0),
      restored: whole('How many go on.', 0),
      replaced: ids('Proxies with another address.'),
      ended: ids('Proxies that were ended.'),
      waiting: ids('Proxies that no address is left for.'),
    }),
    example: { places: 254, interrupted: 0, restored: 0, replaced: [7], ended: [], waiting: [] },
    codes: ['not_found', 'conflict'],
  })

export const retireRange = closing('retire', 'Take a whole range off sale', 'the range is retired')
export const quarantineRange = closing(
  'quarantine',
  'Sell nothing of a range and serve nobody from it, until that is taken back',
  'the range is in quarantine',
)
