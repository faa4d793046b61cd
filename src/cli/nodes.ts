import type { createForgetting, Fleet, NewNode } from '../domains/fleet/index.ts'
import { isLink, isLive, isLocationName, isNodeName, type Node, type NodeKind } from '../domains/fleet/rules.ts'
import type { Stock } from '../domains/stock/index.ts'
import { isServing } from '../domains/stock/ranges/rules.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import { readCountry } from '../kernel/country.ts'
import { ageAt } from '../kernel/stall-monitor.ts'
import { readIso, toIso } from '../kernel/time.ts'
import { type Command, type Given, mistyped, type Outcome, table } from './command.ts'
import type { Opened } from './typed.ts'

type Deps = {
  fleet: Fleet
  now: () => number
  /** Where nodes reach the shop. */
  shopUrl: string
  addNode: (wish: NewNode) => Promise<Node>
  traffic: {
    readonly counts: Pick<Traffic['counts'], 'refusals'>
    readonly leases: Pick<Traffic['leases'], 'held'>
  }
  stock: { readonly ranges: Pick<Stock['ranges'], 'unproven'> }
  forgetUsage: ReturnType<typeof createForgetting>
}

/** The command that runs a node of each kind. */
const roleOf: Readonly<Record<NodeKind, string>> = { gateway: 'gateway', vpn: 'vpn-node' }

const nameWord = { name: 'NAME', meaning: 'the node\'s name, as "node list" shows it' }

export function nodeCommands(open: Opened<Deps>): readonly Command[] {
  return [
    listCommand(open),
    addCommand(open),
    keyCommand(open),
    linkCommand(open),
    ...stateCommands(open),
    drainCommand(open),
    forgetCommand(open),
  ]
}

function listCommand(open: Opened<Deps>): Command {
  return {
    name: 'node list',
    operation: 'listNodes',
    summary: 'Lists the machines that carry traffic, and whether they are up.',
    takes: [],
    options: [],
    run: (given) =>
      open(given, async ({ fleet, stock, traffic, now }) => {
        const nodes = [...(await fleet.nodes('gateway')), ...(await fleet.nodes('vpn'))]
        const refused = new Map((await traffic.counts.refusals()).map((each) => [each.node, each]))
        const held = await traffic.leases.held()
        const unproven = await stock.ranges.unproven()
        const refusedOf = (node: Node): bigint => refused.get(node.id)?.bytes ?? 0n
        return {
          json: nodes.map((node) => ({
            ...toJson(node, now()),
            refused_bytes: Number(refusedOf(node)),
            held_bytes: Number(held.get(node.id)?.bytes ?? 0n),
            accounts_at_limit: held.get(node.id)?.accountsAtLimit ?? 0,
            unproven_ranges: unproven.get(node.id) ?? 0,
          })),
          lines: table(
            [
              'NAME',
              'KIND',
              'LOCATION',
              'STATE',
              'VERSION',
              'LAG',
              'TUNNELS',
              'CARRIED',
              'NOT BELIEVED',
              'HOLDS',
              'AT LIMIT',
              'NOT PROVEN',
              'PORTS',
              'LAST SEEN',
              'NODE',
            ],
            nodes.map((node) => [
              node.name,
              node.kind,
              node.location,
              stateOf(node, now()),
              node.version ?? '',
              node.health ? `${node.health.lagMs} ms` : '',
              node.health ? String(node.health.tunnels) : '',
              node.health ? toMegabytes(node.health.carried) : '',
              refused.has(node.id) ? toMegabytes(Number(refusedOf(node))) : '',
              held.has(node.id) ? toMegabytes(Number(held.get(node.id)?.bytes)) : '',
              String(held.get(node.id)?.accountsAtLimit || ''),
              unproven.has(node.id) ? `${unproven.get(node.id)} ranges` : '',
              String(node.health?.mostPorts ?? ''),
              node.lastSeenAt === null ? 'never' : toIso(node.lastSeenAt),
              node.id,
            ]),
          ),
        }
      }),
  }
}

function addCommand(open: Opened<Deps>): Command {
  return {
    name: 'node add',
    operation: 'addNode',
    summary: 'Adds a machine that carries traffic, and shows the key that lets it join, this once.',
    takes: [{ name: 'NAME', meaning: 'how you call it: small letters, digits, dots and dashes' }],
    options: [
      { flag: 'kind', value: 'gateway|vpn', meaning: 'what it carries: proxies, or the VPN; gateway unless said' },
      { flag: 'location', value: 'NAME', meaning: 'where it stands, as customers choose it; local unless said' },
      { flag: 'country', value: 'CODE', meaning: 'two letters' },
      { flag: 'city', value: 'NAME', meaning: 'shown with the location' },
      { flag: 'endpoint-host', value: 'ADDRESS', meaning: 'where customers reach it, if not where the settings say' },
      { flag: 'endpoint-port', value: 'PORT', meaning: 'on which port' },
      { flag: 'link-mbit', value: 'NUMBER', meaning: 'what its network carries at most, in Mbit/s; 10000 unless said' },
    ],
    run: (given) =>
      open(given, async ({ fleet, addNode, shopUrl }) => {
        const { name } = await addNode(readWish(given))
        return toKeyOutcome(await fleet.issueKey(name), shopUrl)
      }),
  }
}

function keyCommand(open: Opened<Deps>): Command {
  return {
    name: 'node key',
    operation: 'keyNode',
    summary: 'Makes a new key that lets a node join, once and within a day, and shows it this once.',
    takes: [nameWord],
    options: [],
    run: (given) =>
      open(given, async ({ fleet, shopUrl }) => toKeyOutcome(await fleet.issueKey(given.words[0] ?? ''), shopUrl)),
  }
}

function linkCommand(open: Opened<Deps>): Command {
  return {
    name: 'node link',
    operation: 'linkNode',
    summary: "Says what a node's network carries at most. What the node claims beyond that is not believed.",
    takes: [nameWord, { name: 'MBIT', meaning: 'megabits a second, both directions together' }],
    options: [],
    run: (given) =>
      open(given, async ({ fleet, now }) => {
        const node = await fleet.setLink(given.words[0] ?? '', readLink(given.words[1] ?? ''))
        return { json: toJson(node, now()), lines: [`${node.name} carries at most ${node.linkMegabits} Mbit/s.`] }
      }),
  }
}

function forgetCommand(open: Opened<Deps>): Command {
  return {
    name: 'node forget-usage',
    operation: 'forgetUsage',
    summary: 'Gives customers back all that a node, which is shut out, has claimed to have carried for them.',
    takes: [nameWord],
    options: [
      {
        flag: 'since',
        value: 'TIME',
        meaning: 'only from then on, like 2026-01-31T12:00Z; of a VPN node the boots heard of since',
      },
      { flag: 'dry-run', meaning: 'only tell what would be given back' },
    ],
    run: (given) =>
      open(given, async ({ forgetUsage }) => {
        const text = given.flags['since']
        const since = text === undefined ? 0 : readIso(text)
        if (since === undefined) throw mistyped('--since is a date or a moment, like 2026-01-31 or 2026-01-31T12:00Z.')
        const dryRun = given.has('dry-run')
        const { node, things, bytes } = await forgetUsage(given.words[0] ?? '', since, dryRun)
        const verb = dryRun ? 'would be given back' : 'were given back'
        return {
          json: { node: node.id, name: node.name, dry_run: dryRun, things, bytes: Number(bytes) },
          lines: [`${bytes} bytes ${verb} to ${things} ${node.kind === 'vpn' ? 'devices' : 'accounts of sub-users'}.`],
        }
      }),
  }
}

const verbs = [
  {
    verb: 'revoke',
    summary: 'Shuts a node out within a second, for good: opened again, it needs a new key.',
    done: 'is revoked and closed.',
  },
  { verb: 'close', summary: 'Shuts a node out within a second, until it is opened.', done: 'is closed.' },
  { verb: 'open', summary: 'Lets a closed node serve again.', done: 'is open.' },
] as const

function stateCommands(open: Opened<Deps>): readonly Command[] {
  return verbs.map(({ verb, summary, done }) => ({
    name: `node ${verb}`,
    operation: `${verb}Node`,
    summary,
    takes: [nameWord],
    options: [],
    run: (given) =>
      open(given, async ({ fleet, now }) => {
        const node = await fleet[verb](given.words[0] ?? '')
        const needsKey = verb === 'open' && node.joinedAt === null && node.key === null
        return {
          json: toJson(node, now()),
          lines: [`${node.name} ${done}${needsKey ? ` "turnpike node key ${node.name}" lets it join.` : ''}`],
        }
      }),
  }))
}

function drainCommand(open: Opened<Deps>): Command {
  return {
    name: 'node drain',
    operation: 'drainNode',
    summary: 'Empties a node by and by: nothing new comes to it, and new configurations name others; --undo ends that.',
    takes: [nameWord],
    options: [{ flag: 'undo', meaning: 'use it again' }],
    run: (given) =>
      open(given, async ({ fleet, now }) => {
        const node = await fleet.drain(given.words[0] ?? '', !given.has('undo'))
        const done =
          node.drainedAt === null ? 'is used again' : 'is being drained; what is on it goes on until it is closed'
        return { json: toJson(node, now()), lines: [`${node.name} ${done}.`] }
      }),
  }
}

/** The key stands alone on its line, so that a script can take it. */
function toKeyOutcome({ text, node }: { text: string; node: Node }, shopUrl: string): Outcome {
  const command = `TURNPIKE_SHOP_URL=${shopUrl} TURNPIKE_NODE_KEY=${text} turnpike ${roleOf[node.kind]}`
  const expiresAt = node.key === null ? null : toIso(node.key.expiresAt)
  return {
    json: { id: node.id, name: node.name, kind: node.kind, key: text, expires_at: expiresAt, command },
    lines: [
      text,
      `This is the only time it is shown. It lets ${node.name} join once, until ${expiresAt}. On that machine:`,
      '',
      `  ${command}`,
    ],
  }
}

function readWish(given: Given): NewNode {
  const name = given.words[0] ?? ''
  if (!isNodeName(name)) throw mistyped('NAME is up to 63 small letters, digits, dots and dashes.')
  const kind = given.flags['kind'] ?? 'gateway'
  if (kind !== 'gateway' && kind !== 'vpn') throw mistyped('--kind is gateway or vpn.')
  const location = given.flags['location'] ?? 'local'
  if (!isLocationName(location)) throw mistyped('--location is up to 32 small letters, digits and dashes.')
  const country = given.flags['country']
  const countryCode = country === undefined ? undefined : readCountry(country)
  if (country !== undefined && !countryCode) throw mistyped('--country is two letters, like DE.')
  const city = given.flags['city']
  if (city !== undefined && !/^[^\p{Cc}\p{Cs}]{1,80}$/u.test(city)) {
    throw mistyped('--city is 1 to 80 printable characters.')
  }
  return {
    kind: kind satisfies NodeKind,
    name,
    location,
    ...(countryCode !== undefined && { countryCode }),
    ...(city !== undefined && { city }),
    ...readEndpoint(given),
    ...(given.flags['link-mbit'] !== undefined && { linkMegabits: readLink(given.flags['link-mbit']) }),
  }
}

function readLink(text: string): number {
  const megabits = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (!isLink(megabits)) throw mistyped('A link is 1 to 1000000 Mbit/s.')
  return megabits
}

function readEndpoint(given: Given): Pick<NewNode, 'endpoint'> {
  const host = given.flags['endpoint-host']
  const port = given.flags['endpoint-port']
  if (host === undefined && port === undefined) return {}
  if (host === undefined || port === undefined) throw mistyped('--endpoint-host and --endpoint-port go together.')
  if (!/^[A-Za-z0-9.:_-]{1,255}$/.test(host)) throw mistyped('--endpoint-host is an address or a host name.')
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0
  if (number < 1 || number > 65_535) throw mistyped('--endpoint-port is a port from 1 to 65535.')
  return { endpoint: { host, port: number } }
}

const toMegabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

/** A gateway is there by the rule that sales go by, as `stock ranges` has it; a VPN node as its customers are told. */
const isThere = (node: Node, nowMs: number): boolean =>
  node.kind === 'gateway' ? isServing(node, ageAt(nowMs)) : isLive(node, ageAt(nowMs))

const stateOf = (node: Node, nowMs: number): string =>
  node.state === 'closed' ? 'closed' : isThere(node, nowMs) ? 'online' : 'offline'

const toJson = (node: Node, nowMs: number) => ({
  id: node.id,
  kind: node.kind,
  name: node.name,
  location: node.location,
  country_code: node.countryCode,
  city: node.city,
  endpoint: node.endpoint,
  public_key: node.publicKey,
  state: stateOf(node, nowMs),
  version: node.version,
  joined_at: node.joinedAt === null ? null : toIso(node.joinedAt),
  last_seen_at: node.lastSeenAt === null ? null : toIso(node.lastSeenAt),
  boot: node.health?.boot ?? null,
  lag_ms: node.health?.lagMs ?? null,
  tunnels: node.health?.tunnels ?? null,
  carried_bytes: node.health?.carried ?? null,
  relayed_bytes: node.health?.relayed ?? null,
  most_ports: node.health?.mostPorts ?? null,
  link_mbit: node.linkMegabits,
  drained_at: node.drainedAt === null ? null : toIso(node.drainedAt),
})
