import { problem } from '../../../core/messages/problems.ts'
import type { RunningSince } from '../../../core/stall-monitor.ts'
import { isLink, isLive, isLocationName, isNodeName, type Node } from '../../../domains/fleet/rules.ts'
import { isServing } from '../../../domains/stock/ranges/rules.ts'
import { bodyInteger, checked, choice, flag, isoOrNull, list, moment, named, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { countryText, instant, nodeParam, printableText, yes } from '../fields.ts'

const operation = operationsOf({ tag: 'Nodes' })
const reader = operationsOf({ tag: 'Nodes', role: 'reader' })
const exampleNode = 'nod_01k73sf8000000000000000000'

const node = named('Node', {
  node_id: text('The id.', exampleNode),
  name: text('The name.', 'gate-1'),
  kind: choice('What it carries.', ['gateway', 'vpn']),
  location: text('Where it stands, as customers choose it.', 'frankfurt'),
  country_code: text('Its country.', 'DE').nullable(),
  city: text('Its city.', 'Frankfurt').nullable(),
  endpoint: z
    .object({ host: z.string(), port: z.int() })
    .nullable()
    .openapi({ description: 'Where customers reach it, if not where the settings say.', example: null }),
  public_key: text('The WireGuard key of a VPN node.').nullable(),
  state: choice('Whether it is there.', ['online', 'offline', 'closed']),
  version: text('What it runs.', '0.1.0').nullable(),
  joined_at: moment('When it joined.').nullable(),
  last_seen_at: moment('When it was last heard of.').nullable(),
  lag_ms: whole('How late its loop is.', 1).nullable(),
  tunnels: whole('How many tunnels are open.', 3).nullable(),
  carried_bytes: whole('What it has carried since it started.', 1_000_000).nullable(),
  relayed_bytes: whole('What it has relayed for other gateways since it started.', 0).nullable(),
  refused_bytes: whole('What it has claimed and was not believed.', 0),
  held_bytes: whole('What it holds of the traffic of sub-users, on leases.', 8_388_608),
  accounts_at_limit: whole('Of how many accounts it holds as much as one node may.', 0),
  most_ports: whole('How many whitelisting ports it has room for; all gateways open every one.', 2000).nullable(),
  unproven_ranges: whole('How many ranges on no named gateway it claims and has not proven.', 0),
  link_mbit: whole('What its network carries at most.', 10_000),
  drained_at: moment('Since when nothing new comes to it.').nullable(),
})

/** The bytes that a node claims, beside its own report. */
export type NodeClaims = {
  readonly refused: bigint
  readonly held: { readonly bytes: bigint; readonly accountsAtLimit: number } | undefined
  readonly unprovenRanges: number
}

/** A gateway by the rule that sales follow, a VPN node by the one that its customers see. */
const isThere = (of: Node, since: RunningSince): boolean =>
  of.kind === 'gateway' ? isServing(of, since) : isLive(of, since)

export const toNode = (
  of: Node,
  { refused, held, unprovenRanges }: NodeClaims,
  since: RunningSince,
): z.input<typeof node> => ({
  node_id: of.id,
  name: of.name,
  kind: of.kind,
  location: of.location,
  country_code: of.countryCode,
  city: of.city,
  endpoint: of.endpoint,
  public_key: of.publicKey,
  state: of.state === 'closed' ? 'closed' : isThere(of, since) ? 'online' : 'offline',
  version: of.version,
  joined_at: isoOrNull(of.joinedAt),
  last_seen_at: isoOrNull(of.lastSeenAt),
  lag_ms: of.health?.lagMs ?? null,
  tunnels: of.health?.tunnels ?? null,
  carried_bytes: of.health?.totalBytes ?? null,
  relayed_bytes: of.health?.hopBytes ?? null,
  refused_bytes: Number(refused),
  held_bytes: Number(held?.bytes ?? 0n),
  accounts_at_limit: held?.accountsAtLimit ?? 0,
  most_ports: of.health?.maxPorts ?? null,
  unproven_ranges: unprovenRanges,
  link_mbit: of.linkMegabits,
  drained_at: isoOrNull(of.drainedAt),
})

export const listNodes = reader('listNodes', 'GET /nodes', {
  summary: 'List the machines that carry traffic, and whether they are up',
  answer: z.object({ items: list('All of them.', node) }),
})

export const showNode = reader('showNode', 'GET /nodes/{name}', {
  summary: 'What a gateway can use of the addresses that it was told to try, and what is in the way',
  params: nodeParam,
  answer: z.object({
    node,
    serves: flag('Whether it is there now.'),
    ranges: rows('What it has tried.', {
      range: text('The range.', '203.0.113.0/24'),
      can_use: whole('How many addresses it can use.', 254),
      problems: list('What is in the way of the rest.', text('A problem.', 'cannot be bound')),
      seen_as: text('The address that the shop saw it come from.', '203.0.113.1').nullable(),
      since: moment('Since when that is so.'),
    }),
  }),
})

const key = named('JoinKey', {
  node_id: text('The id.', exampleNode),
  name: text('The name.', 'gate-1'),
  kind: text('What it carries.', 'gateway'),
  key: text('What lets it join, once; shown this once.', 'tpj_…'),
  expires_at: moment('Until when.').nullable(),
  command: text(
    'What to run on that machine.',
    'TURNPIKE_SHOP_URL=https://shop.example TURNPIKE_NODE_KEY=tpj_… turnpike gateway',
  ),
})

const link = () =>
  bodyInteger({ min: 1, max: 1_000_000, example: 10_000, description: 'Mbit/s, both directions together.' }).refine(
    isLink,
    problem('between', { from: 1, to: 1_000_000 }),
  )

export const addNode = operation('addNode', 'POST /nodes', {
  summary: 'Add a machine that carries traffic, and see the key that lets it join, this once',
  body: z.object({
    name: checked(
      'How you call it.',
      isNodeName,
      ['made_of', { from: 1, to: 63, of: ['small_letters', 'digits', 'dots', 'dashes'] }],
      'gate-1',
    ),
    kind: z.enum(['gateway', 'vpn']).default('gateway').openapi({ description: 'What it carries.' }),
    location: z
      .string()
      .refine(isLocationName, problem('made_of', { from: 1, to: 32, of: ['small_letters', 'digits', 'dashes'] }))
      .default('local')
      .openapi({ description: 'Where it stands.', example: 'frankfurt' }),
    country: countryText().optional(),
    city: printableText('Shown with the location.', 80, 'Frankfurt').optional(),
    endpoint: z
      .object({
        host: z.string().regex(/^[A-Za-z0-9.:_-]{1,255}$/, problem('host')),
        port: z.int().min(1).max(65_535),
      })
      .optional()
      .openapi({ description: 'Where customers reach it, if not where the settings say.' }),
    link_mbit: link().optional(),
  }),
  answer: key,
  codes: ['conflict'],
})

export const keyNode = operation('keyNode', 'POST /nodes/{name}/key', {
  summary: 'Make a new key that lets a node join, once and within a day, and see it this once',
  params: nodeParam,
  answer: key,
  codes: ['not_found', 'conflict'],
})

export const linkNode = operation('linkNode', 'POST /nodes/{name}/link', {
  summary: "Say what a node's network carries at most; what it claims beyond that is not believed",
  params: nodeParam,
  body: z.object({ link_mbit: link() }),
  answer: node,
})

const changing = (verb: 'revoke' | 'close' | 'open', summary: string) =>
  operation(`${verb}Node`, `POST /nodes/{name}/${verb}`, {
    summary,
    params: nodeParam,
    answer: node,
    codes: ['not_found', 'conflict'],
  })

export const revokeNode = changing(
  'revoke',
  'Shut a node out within a second, for good: opened again it needs a new key',
)
export const closeNode = changing('close', 'Shut a node out within a second, until it is opened')
export const openNode = changing('open', 'Let a closed node serve again')

export const drainNode = operation('drainNode', 'POST /nodes/{name}/drain', {
  summary: 'Empty a node by and by: nothing new comes to it; or use it again',
  params: nodeParam,
  body: z.object({ undo: yes('Use it again.') }),
  answer: node,
})

export const forgetUsage = operation('forgetUsage', 'POST /nodes/{name}/forget-usage', {
  summary: 'Give customers back all that a node, which is shut out, has claimed to have carried for them',
  params: nodeParam,
  body: z.object({
    since: instant('Only from then on.').optional(),
    dry_run: yes('Only tell what would be given back.'),
  }),
  exampleBody: { dry_run: true },
  answer: z.object({
    name: text('Which.', 'gate-1'),
    dry_run: flag('Whether nothing was changed.'),
    things: whole('How many devices or accounts get something back.', 3),
    bytes: whole('How many bytes.', 1_000_000),
  }),
  codes: ['not_found', 'conflict'],
})
