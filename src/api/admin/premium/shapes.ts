import { z } from '@hono/zod-openapi'
import { flag, moment, nextCursor, pageQuery, roubles, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { day, yes } from '../fields.ts'

const tag = 'Pools and exits'
const exampleExit = 'ext_01k73sf8000000000000000000'

export const listPools = operation({
  id: 'listPools',
  method: 'GET',
  path: '/pools',
  tag,
  summary: 'List the pools of premium proxies: their price and their exits',
  role: 'reader',
  answer: z.object({
    items: z
      .array(
        z.object({
          pool: text('The pool.', 'residential'),
          sold: flag('Whether the price list has it.'),
          from_rub_per_gb: roubles('What a gigabyte costs at least.', 90),
          expires_days: whole('After how many days traffic of it expires; null for never.').nullable(),
          exits: whole('How many exits it has.', 6),
          serving: whole('How many of them serve.', 6),
        }),
      )
      .openapi({ description: 'All of them.' }),
  }),
  example: {
    items: [{ pool: 'residential', sold: true, from_rub_per_gb: 90, expires_days: null, exits: 6, serving: 6 }],
  },
})

const place = (description: string) => z.string().max(80).optional().openapi({ description })

export const addExit = operation({
  id: 'addExit',
  method: 'POST',
  path: '/exits',
  tag,
  summary: 'Add an exit to a pool: a local address to leave from, or an upstream proxy',
  role: 'owner',
  body: z.object({
    pool: z.string().max(64).openapi({ description: 'Which pool.', example: 'residential' }),
    local: z.string().max(64).optional().openapi({ description: 'An address of the gateway.', example: '203.0.113.7' }),
    upstream: z.string().max(300).optional().openapi({ description: 'http://host:port or socks5://host:port.' }),
    username: z.string().max(500).optional().openapi({ description: 'How to log in there; maybe a template.' }),
    password: z.string().max(255).optional().openapi({ description: 'The password there.' }),
    node: z
      .string()
      .max(63)
      .optional()
      .openapi({ description: 'The gateway that leaves through it; each, unless said.' }),
    countries: z.string().max(2000).optional().openapi({ description: 'Of a template: any, or codes with commas.' }),
    country: place('Two letters.'),
    state: place('State or region.'),
    city: place('City.'),
    zip: place('Postal code.'),
    asn: z.int().min(1).max(4_294_967_295).optional().openapi({ description: 'Number of the network.' }),
  }),
  exampleBody: { pool: 'residential', local: '203.0.113.7', country: 'DE' },
  answer: z.object({ exit_id: text('Its id.', exampleExit), pool: text('Its pool.'), host: text('Where it leaves.') }),
  example: { exit_id: exampleExit, pool: 'residential', host: '203.0.113.7' },
  codes: ['not_found', 'conflict'],
})

const exit = z
  .object({
    exit_id: text('The id.', exampleExit),
    pool: text('The pool.', 'residential'),
    kind: text('`local`, `http` or `socks5`.', 'local'),
    host: text('Where it leaves.', '203.0.113.7'),
    port: whole('On which port.').nullable(),
    country: text('The country.', 'DE'),
    state: text('State or region.'),
    city: text('City.'),
    zip: text('Postal code.'),
    asn: whole('Number of the network.').nullable(),
    offers: z
      .object({
        countries: z.union([z.literal('any'), z.array(z.string())]).openapi({ description: 'Which countries.' }),
        parts: z.array(z.string()).openapi({ description: 'Which other parts of a place.' }),
      })
      .nullable()
      .openapi({ description: 'What a template can be asked for; null for an exit with a place of its own.' }),
    node: text('The gateway that it belongs to; null for each.').nullable(),
    drained_at: moment('Since when it is out of service.').nullable(),
    status: z.enum(['serving', 'down', 'untried', 'drained']).openapi({ description: 'How it is.' }),
    said: z
      .array(
        z.object({
          node: text('Which gateway.', 'gate-1'),
          up: flag('Whether it can leave.'),
          since: moment('Since when.'),
          reason: text('Why not.'),
          at: moment('When it said so.'),
        }),
      )
      .openapi({ description: 'What gateways say of it.' }),
  })
  .openapi('Exit')

export const listExits = operation({
  id: 'listExits',
  method: 'GET',
  path: '/exits',
  tag,
  summary: 'List exits, and whether gateways can leave through them',
  role: 'reader',
  query: z.object({ ...pageQuery, pool: z.string().max(64).optional().openapi({ description: 'Of one pool.' }) }),
  answer: z.object({ items: z.array(exit).openapi({ description: 'One page.' }), next_cursor: nextCursor() }),
  example: { items: [], next_cursor: null },
})

const exitParam = z.object({ exit_id: z.string().openapi({ description: 'Which exit.', example: exampleExit }) })

export const drainExit = operation({
  id: 'drainExit',
  method: 'POST',
  path: '/exits/{exit_id}/drain',
  tag,
  summary: 'Take an exit out of service, or put it back',
  role: 'owner',
  params: exitParam,
  body: z.object({ undo: yes('Serve again.') }),
  answer: z.object({ exit_id: text('Which.', exampleExit), drained: flag('Whether it is out of service.') }),
  example: { exit_id: exampleExit, drained: true },
  codes: ['not_found'],
})

export const compareExit = operation({
  id: 'compareExit',
  method: 'POST',
  path: '/exits/{exit_id}/compare',
  tag,
  summary: 'Compare what a supplier counted with what went through its exit here, by days in UTC',
  role: 'reader',
  isRead: true,
  params: exitParam,
  body: z.object({
    from: day('The first day.'),
    to: day('The last day, at most 400 later.'),
    supplied_bytes: z
      .int()
      .min(0)
      .optional()
      .openapi({ description: 'What the supplier counted in all.', example: 1e9 }),
    days: z
      .array(z.object({ day: day('A day.'), bytes: z.int().min(0) }))
      .max(400)
      .optional()
      .openapi({ description: 'The same by days, in place of it.' }),
  }),
  exampleBody: { from: '2026-01-01', to: '2026-01-31', supplied_bytes: 1_000_000_000 },
  answer: z.object({
    carried_bytes: whole('What went through it here.', 1_000_000_000),
    supplied_bytes: whole('What the supplier counted.', 1_000_000_000),
    difference_bytes: z.int().openapi({ description: 'How much more that is.', example: 0 }),
    difference_percent: z.number().nullable().openapi({ description: 'The same in percent.', example: 0 }),
    days: z
      .array(
        z.object({
          day: text('The day.', '2026-01-01'),
          carried_bytes: whole('Here.'),
          supplied_bytes: whole('At the supplier.').nullable(),
        }),
      )
      .openapi({ description: 'By days.' }),
  }),
  example: {
    carried_bytes: 1_000_000_000,
    supplied_bytes: 1_000_000_000,
    difference_bytes: 0,
    difference_percent: 0,
    days: [],
  },
  codes: ['not_found'],
})

export const listQuarantined = operation({
  id: 'listQuarantined',
  method: 'GET',
  path: '/usage/quarantine',
  tag,
  summary: 'List what nodes have claimed beyond their leases or beyond what their links carry; it is not billed',
  role: 'reader',
  answer: z.object({
    items: z
      .array(
        z.object({
          node: text('Which node.', 'nod_01k73sf8000000000000000000'),
          boot: text('Which of its starts.'),
          subject: text('For whom.'),
          bytes: whole('How many bytes; 9007199254740991 for that many or more.', 1_000_000),
          at: moment('When it last said so.'),
        }),
      )
      .openapi({ description: 'At most 10000.' }),
  }),
  example: { items: [] },
})
