import { problem } from '../../../core/messages/problems.ts'
import type { RunningSince } from '../../../core/stall-monitor.ts'
import { gatewayProtocols } from '../../../core/vpn-protocols.ts'
import {
  boundOf,
  type EarlierFigures,
  fingerprints,
  type HopPath,
  isLink,
  isLinkGroup,
  isLocationName,
  isNodeName,
  isOnline,
  linkAlpn,
  maxXmux,
  type Node,
  type VpnLinks,
} from '../../../domains/fleet/rules.ts'
import {
  bodyInteger,
  checked,
  choice,
  flag,
  isoOrNull,
  items,
  list,
  moment,
  named,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { countryText, instant, nodeParam, printableText, yes } from '../fields.ts'

export { usualLinkMegabits } from '../../../domains/fleet/rules.ts'

const operation = operationsOf({ tag: 'Nodes' })
const reader = operationsOf({ tag: 'Nodes', role: 'reader' })
const exampleNode = 'nod_01k73sf8000000000000000000'

const node = named('Node', {
  node_id: text('The node’s id.', exampleNode),
  name: text('The node’s name.', 'gate-1'),
  kind: choice('`gateway` relays proxy traffic, `vpn` terminates WireGuard.', ['gateway', 'vpn']),
  location: text('Location that customers choose.', 'frankfurt'),
  country_code: text('ISO 3166-1 alpha-2 country code of the node.', 'DE').nullable(),
  city: text('City of the node.', 'Frankfurt').nullable(),
  endpoint: z
    .object({ host: z.string(), port: z.int() })
    .nullable()
    .openapi({ description: 'Address and port for customers; null for the address from the settings.', example: null }),
  public_key: text('WireGuard public key of a VPN node; null for a gateway.').nullable(),
  state: choice('`online`: a gateway has reported within 10 s, a VPN node within 30 s, and it is not stopping.', [
    'online',
    'offline',
    'closed',
  ]),
  version: text('Turnpike version that the node reported.', '0.2.0').nullable(),
  joined_at: moment('Time of the last join; null while the node has no valid secret.').nullable(),
  last_seen_at: moment('Time of the last report from the node.').nullable(),
  lag_ms: whole('Event-loop delay of the node in milliseconds.', 1).nullable(),
  tunnels: whole('Open tunnels, with those of a replaced process that still drains.', 3).nullable(),
  carried_bytes: whole('Bytes that the node has reported as relayed, both directions.', 1_000_000).nullable(),
  relayed_bytes: whole('Part of `carried_bytes` that was relayed for other gateways.', 0).nullable(),
  refused_bytes: whole('Bytes that the node reported beyond its bandwidth; they were not billed.', 0),
  held_bytes: whole('Bytes of sub-users’ traffic that the node holds on leases.', 8_388_608),
  accounts_at_limit: whole('Accounts of which the node holds the largest lease that one node may have.', 0),
  most_ports: whole(
    'Whitelisting ports that the node can open; null for no limit. Every gateway opens all of them.',
    2000,
  ).nullable(),
  unproven_ranges: whole('Ranges without an assigned gateway that the node claims to serve without proof.', 0),
  link_mbit: whole(
    'Bandwidth in Mbit/s, both directions together, up to which bytes are billed. At the default of 10000 it is the ' +
      'speed of the node’s interfaces if that is higher.',
    25_000,
  ),
  interface_mbit: whole(
    'Summed speed of the node’s network interfaces in Mbit/s, as it reported, at most 800000; null if unknown.',
    25_000,
  ).nullable(),
  drained_at: moment('Start of draining; null if the node is not being drained.').nullable(),
  vpn_links: z
    .object({
      fingerprint: text('ClientHello that apps imitate; null for firefox.', 'edge').nullable(),
      alpn: list('Protocols over TLS that apps offer; null for http/1.1.', z.string()).nullable(),
      port: whole('Port in links; null for the one that the gateway reports.', 443).nullable(),
      protocols: list('Protocols that VPN devices can use here; null for all.', z.string()).nullable(),
      group: text('Group of nodes with a part of the traffic, as in `vpn.groups` of the price list.', 'far').nullable(),
      xmux: whole('Connections that apps open for XHTTP; null leaves it to the app.', 1).nullable(),
    })
    .openapi({ description: 'How links of VPN apps name this gateway, and which protocols it serves them.' }),
  is_entry: flag('Whether customers of other gateways’ addresses can enter at this gateway.'),
  paths: rows('Paths that begin or end at this gateway.', {
    entry: text('Gateway where customers enter.', 'gate-1'),
    exit: text('Gateway that their connections leave from.', 'gate-2'),
    over: choice('`tls`: streams of one TLS connection; `plain`: a connection to the proxy port for each tunnel.', [
      'tls',
      'plain',
    ]),
    state: choice('`up` or `down` as the entry reports it; `unknown` without a report, as over `plain`.', [
      'up',
      'down',
      'unknown',
    ]),
    reason: text('Why the path is down.', 'it does not answer').nullable(),
    since: moment('Time of the last change of the state.').nullable(),
  }),
})

/** The bytes that a node claims, beside its own report. */
export type NodeClaims = {
  readonly refused: bigint
  readonly held: { readonly bytes: bigint; readonly accountsAtLimit: number } | undefined
  readonly unprovenRanges: number
  /** Of its processes before the latest one. */
  readonly earlier: Omit<EarlierFigures, 'node'>
  readonly paths: readonly HopPath[]
}

function toPath({ entry, exit, over, report }: HopPath, since: RunningSince) {
  const known = over === 'tls' && isOnline(entry, since) ? report : undefined
  const state: 'up' | 'down' | 'unknown' = known ? (known.isUp ? 'up' : 'down') : 'unknown'
  const reason = known?.isUp === false ? known.reason : null
  return { entry: entry.name, exit: exit.name, over, state, reason, since: isoOrNull(known?.sinceAt ?? null) }
}

export const toNode = (
  of: Node,
  { refused, held, unprovenRanges, earlier, paths }: NodeClaims,
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
  state: of.state === 'closed' ? 'closed' : isOnline(of, since) ? 'online' : 'offline',
  version: of.version,
  joined_at: isoOrNull(of.joinedAt),
  last_seen_at: isoOrNull(of.lastSeenAt),
  lag_ms: of.health?.lagMs ?? null,
  tunnels: of.health && of.health.tunnels + earlier.tunnels,
  carried_bytes: of.health && of.health.totalBytes + earlier.totalBytes,
  relayed_bytes: of.health && of.health.hopBytes + earlier.hopBytes,
  refused_bytes: Number(refused),
  held_bytes: Number(held?.bytes ?? 0n),
  accounts_at_limit: held?.accountsAtLimit ?? 0,
  most_ports: of.health?.maxPorts ?? null,
  unproven_ranges: unprovenRanges,
  link_mbit: boundOf(of.linkMegabits, of.health?.interfaceMegabits),
  interface_mbit: of.health?.interfaceMegabits ?? null,
  drained_at: isoOrNull(of.drainedAt),
  vpn_links: {
    ...of.vpnLinks,
    alpn: of.vpnLinks.alpn && [...of.vpnLinks.alpn],
    protocols: of.vpnLinks.protocols && [...of.vpnLinks.protocols],
  },
  is_entry: of.entry === of.id,
  paths: paths.map((each) => toPath(each, since)),
})

export const listNodes = reader('listNodes', 'GET /nodes', {
  summary: 'List gateways and VPN nodes with their state',
  answer: z.object({ items: list('All nodes.', node) }),
})

export const showNode = reader('showNode', 'GET /nodes/{name}', {
  summary: 'Show a node, the addresses that it can use, and the problems with the others',
  params: nodeParam,
  answer: z.object({
    node,
    settings_host: text(
      'Host from the settings, at which customers reach a node without an `endpoint`; null if unknown.',
      'gate.example.net',
    ).nullable(),
    serves: flag('Whether the gateway has reported within 10 s and is not stopping; false for a VPN node.'),
    ranges: rows('Results of the egress check, by range.', {
      range: text('Prefix of the range.', '203.0.113.0/24'),
      can_use: whole('Addresses that the gateway can use.', 254),
      problems: list(
        'Problems with the other addresses.',
        text('Number of addresses and the problem.', '2 cannot be bound'),
      ),
      seen_as: text('Source address that the shop saw.', '203.0.113.1').nullable(),
      since: moment('Time of the last change of this result.'),
    }),
  }),
})

export const getNodeHistory = reader('getNodeHistory', 'GET /nodes/{name}/history', {
  summary: 'Show tunnels, bytes, processor use and errors of a node over the last day or month',
  description: 'A day has a point for every 5 minutes, a month one for every hour, while the node reported.',
  params: nodeParam,
  query: z.object({
    span: z.enum(['day', 'month']).default('day').openapi({ description: 'Length of the history.', default: 'day' }),
  }),
  answer: items('All points, oldest first. Rates are of the time since the point before.', {
    at: moment('Time of the report.'),
    tunnels: whole('Open tunnels.', 3),
    lag_ms: whole('Event-loop delay in milliseconds.', 1),
    bytes_per_second: z.number().openapi({ description: 'Bytes relayed per second, both directions.', example: 1000 }),
    cpu_percent: z
      .number()
      .nullable()
      .openapi({ description: 'Processor time in percent of one processor; null if not reported.', example: 7.5 }),
    errors_per_minute: z.number().nullable().openapi({
      description: 'Connections refused for lack of room, and failed DNS lookups; null for a VPN node.',
      example: 0,
    }),
  }),
})

const key = named('JoinKey', {
  node_id: text('The node’s id.', exampleNode),
  name: text('The node’s name.', 'gate-1'),
  kind: text('`gateway` or `vpn`.', 'gateway'),
  key: text('Join key, valid for one join. It is shown only in this answer.', 'tpj_…'),
  expires_at: moment('Expiry of the key.').nullable(),
  joined_at: moment('When the node joined; null if it has not. It needs no key to continue.').nullable(),
  command: text(
    'Command that runs the node on its machine until the terminal closes.',
    'TURNPIKE_SHOP_URL=https://shop.example TURNPIKE_NODE_KEY=tpj_… turnpike gateway',
  ),
  service_commands: list('Commands that run the node as a service of the Debian package, for root.', z.string()),
})

const link = () =>
  bodyInteger({
    min: 1,
    max: 1_000_000,
    example: 10_000,
    description: 'Bandwidth in Mbit/s, both directions together.',
  }).refine(isLink, problem('between', { from: 1, to: 1_000_000 }))

const nodeName = (description: string) =>
  checked(
    description,
    isNodeName,
    ['made_of', { from: 1, to: 63, of: ['small_letters', 'digits', 'dots', 'dashes'] }],
    'gate-1',
  )

const endpoint = () =>
  z.object({
    host: checked('Host for customers.', /^[A-Za-z0-9.:_-]{1,255}$/, ['host'], 'gate-1.example.net'),
    port: z.int().min(1).max(65_535).openapi({ description: 'Port for customers.', example: 10_800 }),
  })

export const addNode = operation('addNode', 'POST /nodes', {
  creates: true,
  affectsNodes: true,
  summary: 'Add a gateway or VPN node and create its join key, which is shown once',
  body: z.object({
    name: nodeName('Name of the node.'),
    kind: z
      .enum(['gateway', 'vpn'])
      .default('gateway')
      .openapi({ description: '`gateway` relays proxy traffic, `vpn` terminates WireGuard.' }),
    location: z
      .string()
      .refine(isLocationName, problem('made_of', { from: 1, to: 32, of: ['small_letters', 'digits', 'dashes'] }))
      .default('local')
      .openapi({ description: 'Location that customers choose.', example: 'frankfurt' }),
    country: countryText().optional(),
    city: printableText('City, shown with the location.', 80, 'Frankfurt').optional(),
    endpoint: endpoint()
      .optional()
      .openapi({ description: 'Address and port for customers. Default: the address from the settings.' }),
    link_mbit: link().optional(),
  }),
  answer: key,
  codes: ['conflict'],
})

export const keyNode = operation('keyNode', 'POST /nodes/{name}/key', {
  creates: true,
  summary: 'Create a join key for a node, valid for one join within 24 hours and shown once',
  params: nodeParam,
  answer: key,
  codes: ['not_found', 'conflict'],
})

export const linkNode = operation('linkNode', 'POST /nodes/{name}/link', {
  summary: "Set a node's bandwidth; usage that the node reports beyond it is rejected. 10000 follows its interfaces",
  params: nodeParam,
  body: z.object({ link_mbit: link() }),
  answer: node,
})

/** A list with commas, or `default`. */
const choices = <Item extends string>(description: string, all: readonly Item[], none: readonly string[] = []) =>
  z
    .string()
    .refine(
      (given) =>
        given === 'default' || none.includes(given) || given.split(',').every((each) => all.includes(each as Item)),
      problem('one_of', { allowed: [...all, ...none, 'default'] }),
    )
    .transform((given): Item[] | null =>
      given === 'default' ? null : all.filter((each) => given.split(',').includes(each)),
    )
    .openapi({ type: 'string', description, example: 'default' })
    .optional()

export const vpnNode = operation('vpnNode', 'POST /nodes/{name}/vpn', {
  affectsNodes: true,
  summary: 'Set the protocols that a gateway serves to VPN devices, and how links of VPN apps name it',
  description:
    'A protocol that is off is not in links any more. Within 2 seconds the gateway answers its clients like clients ' +
    'without a key, and closes their open connections. Apps take the other settings with their next refresh.',
  params: nodeParam,
  body: z.object({
    fingerprint: z
      .enum([...fingerprints, 'default'])
      .optional()
      .openapi({ description: 'ClientHello that apps imitate. `default` is firefox.' }),
    alpn: choices('Protocols over TLS that apps offer, with commas: h2, http/1.1; or none, or default.', linkAlpn, [
      'none',
    ]),
    port: z.int().min(0).max(65_535).optional().openapi({
      description: 'Port in links, such as that of a forwarding rule; 0 for the one that the gateway reports.',
    }),
    protocols: choices(
      'Protocols that are on, with commas: vless, xhttp, websocket, trojan, http, naive, trusttunnel; or none, or ' +
        'default for all.',
      gatewayProtocols,
      ['none'],
    ),
    group: checked(
      'Group in `vpn.groups` of the price list: a subscription may use that part of its traffic at its nodes. ' +
        '`default` for none.',
      isLinkGroup,
      ['made_of', { from: 1, to: 32, of: ['small_letters', 'digits', 'dashes'] }],
      'far',
    ).optional(),
    xmux: z.int().min(0).max(maxXmux).optional().openapi({
      description: 'Connections that apps open for XHTTP, where a network counts them; 0 leaves it to the app.',
    }),
  }),
  exampleBody: { fingerprint: 'edge' },
  answer: node,
})

/** The settings that a request names. */
export const readLinks = ({
  fingerprint,
  alpn,
  port,
  protocols,
  group,
  xmux,
}: z.output<typeof vpnNode.body>): Partial<VpnLinks> => ({
  ...(fingerprint !== undefined && { fingerprint: fingerprint === 'default' ? null : fingerprint }),
  ...(alpn !== undefined && { alpn }),
  ...(port !== undefined && { port: port === 0 ? null : port }),
  ...(protocols !== undefined && { protocols }),
  ...(group !== undefined && { group: group === 'default' ? null : group }),
  ...(xmux !== undefined && { xmux: xmux === 0 ? null : xmux }),
})

export const endpointNode = operation('endpointNode', 'POST /nodes/{name}/endpoint', {
  affectsNodes: true,
  summary: 'Set the host and port at which customers and other gateways reach a node',
  params: nodeParam,
  body: endpoint(),
  answer: node,
})

export const entryNode = operation('entryNode', 'POST /nodes/{name}/entry', {
  affectsNodes: true,
  summary: 'Let customers of other gateways’ addresses enter at a gateway, or end that',
  params: nodeParam,
  body: z.object({ undo: yes('End it. Refused while another gateway has this entry.') }),
  answer: node,
  codes: ['not_found', 'conflict'],
})

export const exitNode = operation('exitNode', 'POST /nodes/{name}/exit', {
  affectsNodes: true,
  summary: 'Set the entry where customers of a gateway’s addresses connect; without one they connect to the gateway',
  params: nodeParam,
  body: z.object({
    via: nodeName('Name of the entry. Without it, customers connect to the gateway itself.').optional(),
  }),
  answer: node,
  codes: ['not_found', 'conflict'],
})

export const renameNode = operation('renameNode', 'POST /nodes/{name}/rename', {
  affectsNodes: true,
  summary: 'Rename a node',
  params: nodeParam,
  body: z.object({ new_name: nodeName('New name of the node.') }),
  answer: node,
  codes: ['not_found', 'conflict'],
})

const changing = (verb: 'revoke' | 'close' | 'open', summary: string) =>
  operation(`${verb}Node`, `POST /nodes/{name}/${verb}`, {
    affectsNodes: true,
    summary,
    params: nodeParam,
    answer: node,
    codes: ['not_found', 'conflict'],
  })

export const revokeNode = changing(
  'revoke',
  'Close a node within a second and delete its secret; after reopening it needs a new join key',
)
export const closeNode = changing('close', 'Close a node within a second; it keeps its secret and can be reopened')
export const openNode = changing('open', 'Reopen a closed node')

export const removeNode = operation('removeNode', 'POST /nodes/{name}/remove', {
  affectsNodes: true,
  summary: 'Remove a closed node that serves nothing; what it relayed stays in the books, and its name becomes free',
  params: nodeParam,
  answer: z.object({
    node_id: text('The node’s id.', exampleNode),
    name: text('The name that the node had.', 'gate-1'),
    removed: flag('Always true.'),
  }),
  codes: ['not_found', 'conflict'],
})

export const drainNode = operation('drainNode', 'POST /nodes/{name}/drain', {
  affectsNodes: true,
  summary:
    'Drain a node: its free addresses are not sold, and VPN devices get another node with their next configuration; ' +
    'proxies and devices in use work until the node is closed',
  params: nodeParam,
  body: z.object({ undo: yes('End draining.') }),
  answer: node,
})

export const seeLostGoods = operation('seeLostGoods', 'POST /lost-goods/seen', {
  summary: 'Mark the goods that a database has lost as seen',
  description:
    'After a database went back in time, `turnpike doctor` names the goods that nodes served and the database has ' +
    'lost. Do this when their customers have others: goods that are listed later are named again.',
  body: z.object({}),
  answer: z.object({ seen: whole('Reports of nodes that were not seen before.', 3) }),
})

export const forgetUsage = operation('forgetUsage', 'POST /nodes/{name}/forget-usage', {
  affectsNodes: true,
  summary: 'Return the traffic that a closed node has billed to customers',
  params: nodeParam,
  body: z.object({
    since: instant('Only traffic since this time.').optional(),
    dry_run: yes('Only compute the result; change nothing.'),
  }),
  exampleBody: { dry_run: true },
  answer: z.object({
    name: text('The node’s name.', 'gate-1'),
    dry_run: flag('True if this was a dry run that changed nothing.'),
    things: whole('Devices and traffic accounts that get traffic back.', 3),
    bytes: whole('Bytes returned.', 1_000_000),
  }),
  codes: ['not_found', 'conflict'],
})
