import { choice, flag, given, items, list, moment, named, part, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { day, yes } from '../fields.ts'

const operation = operationsOf({ tag: 'Pools and exits' })
const reader = operationsOf({ tag: 'Pools and exits', role: 'reader' })
const exampleExit = 'ext_01k73sf8000000000000000000'

export const listPools = reader('listPools', 'GET /pools', {
  summary: 'List the pools of premium proxies with prices and numbers of exits',
  answer: items('All pools.', {
    pool: text('Name of the pool.', 'residential'),
    sold: flag('Whether the pool is in the price list.'),
    from_rub_per_gb: roubles('Lowest price of a gigabyte.', 90),
    expires_days: whole('Days until bought traffic expires; null for never.').nullable(),
    exits: whole('Number of exits.', 6),
    serving: whole('Number of exits with the status `serving`.', 6),
  }),
})

const location = (description: string) => given(description, 80).optional()

export const addExit = operation('addExit', 'POST /exits', {
  creates: true,
  affectsNodes: true,
  summary: 'Add an exit to a pool: a local address of a gateway, or an upstream proxy',
  body: z.object({
    pool: given('Name of the pool.', 64, 'residential'),
    local: given('Local address of the gateway.', 64, '203.0.113.7').optional(),
    upstream: given('Upstream proxy: `http://host:port` or `socks5://host:port`.', 300).optional(),
    username: given('Login at the upstream proxy; may be a template.', 500).optional(),
    password: given('Password at the upstream proxy.', 255).optional(),
    node: given(
      'Name of the gateway that uses the exit. Default: the first gateway that reports a local address up; every ' +
        'gateway for an upstream proxy.',
      63,
    ).optional(),
    countries: given('Countries of a template: `any`, or country codes separated by commas.', 2000).optional(),
    country: location('ISO 3166-1 alpha-2 country code.'),
    state: location('State or region.'),
    city: location('City.'),
    zip: location('Postal code.'),
    asn: z.int().min(1).max(4_294_967_295).optional().openapi({ description: 'Autonomous system number.' }),
  }),
  exampleBody: { local: '203.0.113.7', country: 'DE' },
  answer: z.object({
    exit_id: text('The exit’s id.', exampleExit),
    pool: text('Name of the pool.', 'residential'),
    host: text('Local address, or host of the upstream proxy.', '203.0.113.7'),
  }),
  codes: ['not_found', 'conflict'],
})

const exit = named('Exit', {
  exit_id: text('The exit’s id.', exampleExit),
  pool: text('Name of the pool.', 'residential'),
  kind: text('`local`, `http` or `socks5`.', 'local'),
  host: text('Local address, or host of the upstream proxy.', '203.0.113.7'),
  port: whole('Port of the upstream proxy; null for a local address.').nullable(),
  country: text('ISO 3166-1 alpha-2 country code.', 'DE'),
  state: text('State or region.'),
  city: text('City.'),
  zip: text('Postal code.'),
  asn: whole('Autonomous system number.').nullable(),
  offers: part('Locations that a login template can select; null for an exit with a fixed location.', {
    countries: z.union([z.literal('any'), z.array(z.string())]).openapi({ description: 'Country codes, or `any`.' }),
    parts: list('Other parts of a location that can be selected.', z.string()),
  }).nullable(),
  node: text('Name of the gateway that uses the exit; null for every gateway.').nullable(),
  drained_at: moment('Time when the exit was taken out of service; null if it is in service.').nullable(),
  status: choice('Status by the reports of gateways; `untried`: no report yet.', [
    'serving',
    'down',
    'untried',
    'drained',
  ]),
  said: rows('Last report of each gateway.', {
    node: text('Name of the gateway.', 'gate-1'),
    up: flag('Whether the gateway can connect through the exit.'),
    since: moment('Time since which this is so.'),
    reason: text('Reason if it cannot.'),
    at: moment('Time of the report.'),
  }),
})

export const listExits = reader('listExits', 'GET /exits', {
  summary: 'List exits with their status and the last reports of gateways',
  query: z.object({ ...pageQuery, pool: given('Only exits of this pool.', 64).optional() }),
  answer: page({ items: list('One page of exits.', exit) }),
})

const exitParam = z.object({ exit_id: text('The exit’s id.', exampleExit) })

export const drainExit = operation('drainExit', 'POST /exits/{exit_id}/drain', {
  affectsNodes: true,
  summary: 'Take an exit out of service, or put it back',
  params: exitParam,
  body: z.object({ undo: yes('Put the exit back into service.') }),
  answer: z.object({
    exit_id: text('The exit’s id.', exampleExit),
    drained: flag('Whether the exit is out of service.'),
  }),
})

export const assignExit = operation('assignExit', 'POST /exits/{exit_id}/assign', {
  affectsNodes: true,
  summary: 'Assign an exit to a gateway, or to every gateway',
  params: exitParam,
  body: z.object({
    node: given('Name of the gateway that uses the exit.', 63, 'gate-1').optional(),
    any: yes('Every gateway uses the exit. A local address goes to the first gateway that reports it up.'),
  }),
  answer: z.object({
    exit_id: text('The exit’s id.', exampleExit),
    node: text('Name of the gateway that uses the exit; null for every gateway.', 'gate-1').nullable(),
  }),
})

export const removeExit = operation('removeExit', 'POST /exits/{exit_id}/remove', {
  affectsNodes: true,
  summary: 'Remove an exit that is out of service; the bytes through it stay in the books',
  params: exitParam,
  answer: z.object({ exit_id: text('The exit’s id.', exampleExit), removed: flag('Always true.') }),
  codes: ['not_found', 'conflict'],
})

export const compareExit = reader('compareExit', 'POST /exits/{exit_id}/compare', {
  summary: 'Compare the bytes counted by a supplier with the bytes relayed through its exit, by UTC day',
  isRead: true,
  params: exitParam,
  body: z.object({
    from: day('The first day.'),
    to: day('The last day, at most 400 days after `from`.'),
    supplied_bytes: z
      .int()
      .min(0)
      .optional()
      .openapi({ description: 'Total bytes counted by the supplier.', example: 1e9 }),
    days: z
      .array(z.object({ day: day('A day.'), bytes: z.int().min(0) }))
      .max(400)
      .optional()
      .openapi({ description: 'Bytes counted by the supplier by day, instead of `supplied_bytes`.' }),
  }),
  exampleBody: { to: '2026-01-31', supplied_bytes: 1_000_000_000 },
  answer: z.object({
    carried_bytes: whole('Bytes relayed through the exit.', 1_000_000_000),
    supplied_bytes: whole('Bytes counted by the supplier.', 1_000_000_000),
    difference_bytes: z.int().openapi({ description: '`supplied_bytes` minus `carried_bytes`.', example: 0 }),
    difference_percent: z.number().nullable().openapi({ description: 'The difference in percent.', example: 0 }),
    days: rows('Bytes by day.', {
      day: text('The day.', '2026-01-01'),
      carried_bytes: whole('Bytes relayed through the exit.'),
      supplied_bytes: whole('Bytes counted by the supplier; null if not given by day.').nullable(),
    }),
  }),
})

export const listQuarantined = reader('listQuarantined', 'GET /usage/quarantine', {
  summary: 'List usage that nodes reported beyond their leases or bandwidth; it is not billed',
  answer: items('Rejected reports, at most 10,000.', {
    node: text('The node’s id.', 'nod_01k73sf8000000000000000000'),
    boot: text('Id of the node’s process start.', '01k73sf8000000000000000000'),
    subject: text('Account or device that the usage was reported for.', 'sub_01k73sf8000000000000000000'),
    bytes: whole('Bytes; 9007199254740991 means that many or more.', 1_000_000),
    at: moment('Time of the last such report.'),
  }),
})
