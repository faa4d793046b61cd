import { readAddress } from '../../core/address.ts'
import { randomBase32 } from '../../core/base32.ts'
import type { NodeId } from '../../core/ids.ts'
import type { RunningSince } from '../../core/stall-monitor.ts'
import type { VpnLinks } from './rules-links.ts'

export type NodeKind = 'gateway' | 'vpn'

export type Endpoint = { readonly host: string; readonly port: number }
/** `browserHost` is the name under which the port asks for a login with 407; null if it never asks. */
export type TlsEndpoint = Endpoint & {
  readonly browserHost: string | null
  /** SHA-256 of a certificate that no authority has signed, in hex. */
  readonly pin?: string | null | undefined
}

/** A machine that relays traffic. Without an endpoint of its own it is reached where the operator's settings say. */
export type Node = {
  readonly id: NodeId
  readonly kind: NodeKind
  readonly name: string
  readonly location: string
  readonly countryCode: string | null
  readonly city: string | null
  readonly endpoint: Endpoint | null
  readonly publicKey: string | null
  readonly state: 'open' | 'closed'
  readonly version: string | null
  readonly lastSeenAt: number | null
  readonly createdAt: number
  /** When it last joined; null while it has no valid secret. */
  readonly joinedAt: number | null
  /** The join key, of which only the digest is kept. */
  readonly key: { readonly expiresAt: number; readonly usedAt: number | null } | null
  readonly health: Health | null
  /** The operator's setting of its bandwidth, both directions together; `boundOf` follows it. */
  readonly linkMegabits: number
  /** Since when it is being drained. */
  readonly drainedAt: number | null
  /** How links of VPN apps name a gateway. */
  readonly vpnLinks: VpnLinks
  /** The gateway where the customers of its addresses enter; its own id if it is an entry itself. */
  readonly entry: string | null
  readonly hopTls: HopTls | null
  readonly hops: readonly HopReport[]
  /** It may serve things that the books do not know, until it has taken the whole state of this life. */
  readonly awaitsState: boolean
}

/** Where a gateway accepts hops over TLS, a name in its certificate, and SHA-256 of the certificate's public key. */
export type HopTls = { readonly port: number; readonly name: string | null; readonly key: string }

/** A gateway's report of its connection to another one. */
export type HopReport = {
  readonly id: string
  readonly isUp: boolean
  readonly sinceAt: number
  readonly reason: string
}

/** The reports from their stored form, JSON; none from another text. */
export function readHops(text: string | null): readonly HopReport[] {
  const value: unknown = text === null ? [] : JSON.parse(text)
  return Array.isArray(value) ? value.flatMap((each: unknown) => readHop(each) ?? []) : []
}

function readHop(value: unknown): HopReport | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const fields = new Map<string, unknown>(Object.entries(value))
  const [id, isUp, sinceAt, reason] = ['id', 'isUp', 'sinceAt', 'reason'].map((name) => fields.get(name))
  const isRead = typeof id === 'string' && typeof isUp === 'boolean' && typeof sinceAt === 'number'
  return isRead && typeof reason === 'string' ? { id, isUp, sinceAt, reason } : undefined
}

/** The path of a gateway's customers: where they enter, and what the entry says of its connection. */
export type HopPath = {
  readonly entry: Node
  readonly exit: Node
  readonly over: 'tls' | 'plain'
  readonly report: HopReport | undefined
}

export const pathsOf = (gateways: readonly Node[]): HopPath[] =>
  gateways.flatMap((exit) => {
    const entry = exit.entry === exit.id ? undefined : gateways.find((each) => each.id === exit.entry)
    if (!entry) return []
    const report = entry.hops.find((each) => each.id === exit.id)
    return [{ entry, exit, over: exit.hopTls ? 'tls' : 'plain', report }]
  })

/** Ten gigabits a second, unless the operator says otherwise or the node has faster interfaces. */
export const usualLinkMegabits = 10_000

/**
 * The bandwidth beyond which a node's claims are rejected: the operator's setting, or at the default the speed of its
 * interfaces. A report only raises the default: drivers may report too little, and a liar would not.
 */
export const boundOf = (linkMegabits: number, interfaceMegabits: number | null | undefined): number =>
  linkMegabits === usualLinkMegabits ? Math.max(usualLinkMegabits, interfaceMegabits ?? 0) : linkMegabits

export const bytesPerMegabit = 125_000

export const isLink = (megabits: number): boolean =>
  Number.isSafeInteger(megabits) && megabits >= 1 && megabits <= 1_000_000

/** A node's last report of itself. `totalBytes` is bytes in both directions since that boot. */
export type Health = {
  readonly boot: string
  readonly tunnels: number
  readonly lagMs: number
  readonly totalBytes: number
  /** The part of `totalBytes` that was for other gateways. */
  readonly hopBytes: number
  /** Processor time and failed or refused connections since that boot; a node of an earlier version reports none. */
  readonly cpuMs?: number | undefined
  readonly errors?: number | undefined
  /** How many leased ports it can open; null for any number. */
  readonly maxPorts: number | null
  /** Summed speed of its network interfaces; null if it reports none. */
  readonly interfaceMegabits?: number | null | undefined
  readonly isStopping: boolean
  /** Where it accepts proxies over TLS; null if it does not. */
  readonly tls: TlsEndpoint | null
  /** It serves VPN devices there. */
  readonly isForVpn?: boolean | undefined
}

/** A report of a node about itself; `unchanged` keeps the TLS endpoint of an earlier report. */
export type HealthReport = Omit<Health, 'tls'> & { readonly tls: TlsEndpoint | null | 'unchanged' }

/** Where customers reach a node: at its own endpoint, or where the operator's settings say; and over TLS. */
export type NodeReach = {
  readonly endpoint: Endpoint | null
  readonly https: TlsEndpoint | null
  /** They enter at another gateway than the one with the address. */
  readonly isEntered: boolean
}

export function reachOf(node: Node | undefined, gateways: readonly Node[]): NodeReach {
  const entry = node && node.entry !== node.id ? gateways.find((each) => each.id === node.entry) : undefined
  const at = entry ?? node
  return { endpoint: at?.endpoint ?? null, https: at?.health?.tls ?? null, isEntered: entry !== undefined }
}

/** Whether a host is one of these or a name below one of them. Nothing is below an IP address. */
export const isAtOrBelow = (host: string, hosts: readonly string[]): boolean =>
  hosts.some((each) => host === each || (readAddress(each) === undefined && host.endsWith(`.${each}`)))

/** A sum of reported figures as an exact JSON number, also together with one figure more. Larger sums are cut off. */
export const toFigure = (sum: bigint): number => Math.min(Number(sum), 2 ** 52 - 1)

/** What the processes of a node before its latest one have reported. `tunnels` are of those that still drain. */
export type EarlierFigures = { readonly node: string } & Pick<Health, 'tunnels' | 'totalBytes' | 'hopBytes'>

/** A node's report at a time. Counts are cumulative since the boot; null if the node does not report them. */
export type NodeSample = {
  readonly at: number
  readonly boot: string
  readonly tunnels: number
  readonly lagMs: number
  readonly totalBytes: number
  readonly cpuMs: number | null
  readonly errors: number | null
}

/** A sample from its stored figures, JSON; undefined for a text that is none. */
export function readSample(at: number, text: string): NodeSample | undefined {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) return undefined
  const figures = new Map<string, unknown>(Object.entries(value))
  const numberOf = (name: keyof NodeSample): number | null => {
    const figure = figures.get(name)
    return typeof figure === 'number' ? figure : null
  }
  const boot = figures.get('boot')
  return {
    at,
    boot: typeof boot === 'string' ? boot : '',
    tunnels: numberOf('tunnels') ?? 0,
    lagMs: numberOf('lagMs') ?? 0,
    totalBytes: numberOf('totalBytes') ?? 0,
    cpuMs: numberOf('cpuMs'),
    errors: numberOf('errors'),
  }
}

/** A thing that a node served until a whole state did not have it. `owner` is the digest of the customer's id. */
export type LostItem = {
  readonly kind: 'proxy' | 'subuser' | 'peer'
  readonly id: string
  readonly login: string
  readonly address: string
  readonly owner: string
}
/** Such a thing that the books do not know in any state: the database has lost it. */
export type LostGood = LostItem & { readonly node: string; readonly reportedAt: number }

/** A location that a customer may choose, with its nodes. */
export type Location = ReturnType<typeof locationsOf>[number]

/** A node is offline after this much silence. Silence excludes time in which the shop's own process did not run. */
const liveWithinMs = 90_000

export const isLive = (node: Node, since: RunningSince): boolean =>
  node.state === 'open' && node.lastSeenAt !== null && since(node.lastSeenAt) <= liveWithinMs

/** After this silence nothing new is sold on a node. A gateway reports every 2 s, a VPN node at least every 20 s. */
export const onlineWithinMs: Readonly<Record<NodeKind, number>> = { gateway: 10_000, vpn: 30_000 }

/** A node as its last report shows it. */
export type ReportingNode = Pick<Node, 'kind' | 'state' | 'lastSeenAt'> & {
  readonly health: Pick<Health, 'isStopping'> | null
}

/** Whether an operator sees a node as online: the rule that sales follow. */
export const isOnline = (node: ReportingNode, since: RunningSince): boolean =>
  node.state === 'open' &&
  node.health?.isStopping !== true &&
  node.lastSeenAt !== null &&
  since(node.lastSeenAt) <= onlineWithinMs[node.kind]

export const isServing = (node: Node, since: RunningSince): boolean => node.drainedAt === null && isOnline(node, since)

/** A customer leases at most 1000 ports for things of a kind, and a quarter of the ports that gateways can open. */
const maxPorts = 1000
const minPorts = 2
export const maxPortsOfCustomer = (room: number): number => Math.min(maxPorts, Math.max(minPorts, Math.floor(room / 4)))

/**
 * How many ports may be sold, from the number that each gateway reports; null is any number. Every gateway opens every
 * port. Of three or more reports the second smallest counts, so that no single gateway decides; of two, the smaller.
 */
export function commonPortRoom(reported: readonly (number | null)[]): number {
  const rooms = reported.map((each) => each ?? Number.POSITIVE_INFINITY).toSorted((a, b) => a - b)
  return rooms[rooms.length > 2 ? 1 : 0] ?? Number.POSITIVE_INFINITY
}

/** It is used in addresses and file names. */
export const isLocationName = (text: string): boolean => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text) && text.length <= 32

/** A host name. */
export const isNodeName = (text: string): boolean => /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(text)

/** The nodes of the shop's own machine. The shop finds them by these names and lets them join by itself. */
export const localNames: Readonly<Record<NodeKind, string>> = { gateway: 'local-gateway', vpn: 'local' }

/** How long another shop may still accept a secret that was replaced or revoked. */
export const secretCachedMs = 500

/** How long a key lets a node join. */
export const keyLastsMs = 24 * 3_600_000

/** 40 characters of 5 bits: 200 bits. */
export const keyRandomBytes = 40

export function makeKeyText(random: Uint8Array): string {
  if (random.length !== keyRandomBytes) throw new RangeError('a key is made of 40 random bytes')
  return `tpj_${randomBase32(random)}`
}

/** Whether a text has the form of a node's secret. */
export const isSecretText = (text: string): boolean => /^tpn_[0-9a-f]{64}$/.test(text)

/** The locations of open nodes, by name. */
export function locationsOf(nodes: readonly Node[]) {
  const open = nodes.filter((node) => node.state === 'open')
  return [...Map.groupBy(open, (node) => node.location)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, there]) => ({
      name,
      countryCode: there[0]?.countryCode ?? null,
      city: there[0]?.city ?? null,
      nodes: there,
    }))
}

/** Rendezvous hashing: when a node goes, only its own subjects move. Live nodes are preferred, then undrained ones. */
export function chooseNode(nodes: readonly Node[], subject: string, since: RunningSince): Node | undefined {
  const open = nodes.filter((node) => node.state === 'open')
  const live = open.filter((node) => isLive(node, since))
  const staying = live.filter((node) => node.drainedAt === null)
  let best: { node: Node; drawn: number } | undefined
  for (const node of staying.length > 0 ? staying : live.length > 0 ? live : open) {
    const drawn = draw(`${subject} ${node.id}`)
    if (!best || drawn > best.drawn || (drawn === best.drawn && node.id > best.node.id)) best = { node, drawn }
  }
  return best?.node
}

/** FNV-1a with its bits mixed once more, because ids differ mostly at their ends. Not cryptographic. */
function draw(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A key of the MACs in proxy passwords. */
export type PasswordKey = { readonly id: number; readonly key: Uint8Array; readonly signsFrom: number }
export type SealedPasswordKey = Omit<PasswordKey, 'key'> & { readonly sealed: Uint8Array }

/** Binds a sealed password key to its row. */
export const passwordKeyContext = (id: number): string => `password key ${id}`

/** Binds a sealed private key to its node's row. */
export const contextOf = (id: NodeId): string => `node ${id} private key`

export { fingerprints, isLinkGroup, linkAlpn, maxXmux, usualLinks, type VpnLinks } from './rules-links.ts'
