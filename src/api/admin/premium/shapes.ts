import { choice, flag, given, items, list, moment, named, part, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { day, yes } from '../fields.ts'

const operation = operationsOf({ tag: 'Pools and exits' })
const reader = operationsOf({ tag: 'Pools and exits', role: 'reader' })
const exampleExit = 'ext_01k73sf8000000000000000000'

export const listPools = reader('listPools', 'GET /pools', {
  summary: 'List the pools of premium proxies: their price and their exits',
  answer: items('All of them.', {
    pool: text('The pool.', 'residential'),
    sold: flag('Whether the price list has it.'),
    from_rub_per_gb: roubles('What a gigabyte costs at least.', 90),
    expires_days: whole('After how many days traffic of it expires; null for never.').nullable(),
    exits: whole('How many exits it has.', 6),
    serving: whole('How many of them serve.', 6),
  }),
})

const location = (description: string) => given(description, 80).optional()

export const addExit = operation('addExit', 'POST /exits', {
  summary: 'Add an exit to a pool: a local address to leave from, or an upstream proxy',
  body: z.object({
    pool: given('Which pool.', 64, 'residential'),
    local: given('An address of the gateway.', 64, '203.0.113.7').optional(),
    upstream: given('http://host:port or socks5://host:port.', 300).optional(),
    username: given('How to log in there; maybe a template.', 500).optional(),
    password: given('The password there.', 255).optional(),
    node: given('The gateway that leaves through it; each, unless said.', 63).optional(),
    countries: given('Of a template: any, or codes with commas.', 2000).optional(),
    country: location('Two letters.'),
    state: location('State or region.'),
    city: location('City.'),
    zip: location('Postal code.'),
    asn: z.int().min(1).max(4_294_967_295).optional().openapi({ description: 'Number of the network.' }),
  }),
  exampleBody: { local: '203.0.113.7', country: 'DE' },
  answer: z.object({
    exit_id: text('Its id.', exampleExit),
    pool: text('Its pool.', 'residential'),
    host: text('Where it leaves.', '203.0.113.7'),
  }),
  codes: ['not_found', 'conflict'],
})

const exit = named('Exit', {
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
  offers: part('What a template can be asked for; null for an exit with a place of its own.', {
    countries: z.union([z.literal('any'), z.array(z.string())]).openapi({ description: 'Which countries.' }),
    parts: list('Which other parts of a place.', z.string()),
  }).nullable(),
  node: text('The gateway that it belongs to; null for each.').nullable(),
  drained_at: moment('Since when it is out of service.').nullable(),
  status: choice('How it is.', ['serving', 'down', 'untried', 'drained']),
  said: rows('What gateways say of it.', {
    node: text('Which gateway.', 'gate-1'),
    up: flag('Whether it can leave.'),
    since: moment('Since when.'),
    reason: text('Why not.'),
    at: moment('When it said so.'),
  }),
})

export const listExits = reader('listExits', 'GET /exits', {
  summary: 'List exits, and whether gateways can leave through them',
  query: z.object({ ...pageQuery, pool: given('Of one pool.', 64).optional() }),
  answer: page({ items: list('One page.', exit) }),
})

const exitParam = z.object({ exit_id: text('Which exit.', exampleExit) })

export const drainExit = operation('drainExit', 'POST /exits/{exit_id}/drain', {
  summary: 'Take an exit out of service, or put it back',
  params: exitParam,
  body: z.object({ undo: yes('Serve again.') }),
  answer: z.object({ exit_id: text('Which.', exampleExit), drained: flag('Whether it is out of service.') }),
})

export const compareExit = reader('compareExit', 'POST /exits/{exit_id}/compare', {
  summary: 'Compare what a supplier counted with what went through its exit here, by days in UTC',
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
  exampleBody: { to: '2026-01-31', supplied_bytes: 1_000_000_000 },
  answer: z.object({
    carried_bytes: whole('What went through it here.', 1_000_000_000),
    supplied_bytes: whole('What the supplier counted.', 1_000_000_000),
    difference_bytes: z.int().openapi({ description: 'How much more that is.', example: 0 }),
    difference_percent: z.number().nullable().openapi({ description: 'The same in percent.', example: 0 }),
    days: rows('By days.', {
      day: text('The day.', '2026-01-01'),
      carried_bytes: whole('Here.'),
      supplied_bytes: whole('At the supplier.').nullable(),
    }),
  }),
})

export const listQuarantined = reader('listQuarantined', 'GET /usage/quarantine', {
  summary: 'List what nodes have claimed beyond their leases or beyond what their links carry; it is not billed',
  answer: items('At most 10000.', {
    node: text('Which node.', 'nod_01k73sf8000000000000000000'),
    boot: text('Which of its starts.', '01k73sf8000000000000000000'),
    subject: text('For whom.', 'sub_01k73sf8000000000000000000'),
    bytes: whole('How many bytes; 9007199254740991 for that many or more.', 1_000_000),
    at: moment('When it last said so.'),
  }),
})
