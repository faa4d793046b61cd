import { randomBase32 } from '../../core/base32.ts'
import type { NodeId } from '../../core/ids.ts'
import type { RunningSince } from '../../core/stall-monitor.ts'

export type NodeKind = 'gateway' | 'vpn'

export type Endpoint = { readonly host: string; readonly port: number }

/** A machine that carries traffic. Without an endpoint of its own it is reached where the operator's settings say. */
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
  /** When it last joined; null while no secret opens anything for it. */
  readonly joinedAt: number | null
  /** The key that it may join with, whose text nobody keeps. */
  readonly key: { readonly expiresAt: number; readonly usedAt: number | null } | null
  readonly health: Health | null
  /** What its network carries at most, in both directions together. What it claims beyond is not believed. */
  readonly linkMegabits: number
  /** Since when nothing new comes to it. */
  readonly drainedAt: number | null
}

/** Ten gigabits a second, unless the operator says otherwise. */
export const usualLinkMegabits = 10_000
export const isLink = (megabits: number): boolean =>
  Number.isSafeInteger(megabits) && megabits >= 1 && megabits <= 1_000_000

/** What a node last said of itself. `carried` is bytes in both directions since that boot. */
export type Health = {
  readonly boot: string
  readonly tunnels: number
  readonly lagMs: number
  readonly carried: number
  /** Of these, what was for other gateways. */
  readonly relayed: number
  /** How many ports that stand for customers it has room for; null for any number. */
  readonly mostPorts: number | null
  /** It was told to stop, and says so until its end. */
  readonly isStopping: boolean
}

/** A place that a customer may choose, with the nodes that stand there. */
export type Location = {
  readonly name: string
  readonly countryCode: string | null
  readonly city: string | null
  readonly nodes: readonly Node[]
}

/** A node is offline after this much silence. Silence excludes time in which the shop's own process did not run. */
const liveWithinMs = 90_000

export const isLive = (node: Node, since: RunningSince): boolean =>
  node.state === 'open' && node.lastSeenAt !== null && since(node.lastSeenAt) <= liveWithinMs

/** After this much silence nothing new is sold on a node. */
const servingWithinMs = 30_000

/** Whether something new may be sold on a node: it is open, not being drained, and was heard of a moment ago. */
export const isServing = (node: Node, since: RunningSince): boolean =>
  node.state === 'open' &&
  node.drainedAt === null &&
  node.lastSeenAt !== null &&
  since(node.lastSeenAt) <= servingWithinMs

/** One customer holds so many ports for things of a kind, and a quarter at most of what a gateway has room for. */
const mostPorts = 1000
const leastPorts = 2
export const mostPortsOfCustomer = (room: number): number =>
  Math.min(mostPorts, Math.max(leastPorts, Math.floor(room / 4)))

/**
 * How many ports may be sold, of what each gateway reports that it has room for; null is any number. Every gateway
 * opens every port. Of three or more it is the second smallest number, so no single report changes what the others have
 * room for, however small or large it is. Of two it is the smaller: a port that is sold must open.
 */
export function commonPortRoom(reported: readonly (number | null)[]): number {
  const rooms = reported.map((each) => each ?? Number.POSITIVE_INFINITY).toSorted((a, b) => a - b)
  return rooms[rooms.length > 2 ? 1 : 0] ?? Number.POSITIVE_INFINITY
}

/** Small letters, digits and dashes: it travels in addresses and file names. */
export const isLocationName = (text: string): boolean => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text) && text.length <= 32

/** As a host is named: it stands in commands and logs. */
export const isNodeName = (text: string): boolean => /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(text)

/** How long a key lets a node join. */
export const keyLastsMs = 24 * 3_600_000

/** How many random bytes a key is made of: 40 characters of 5 bits, 200 in all. */
export const keyRandomBytes = 40

export function makeKeyText(random: Uint8Array): string {
  if (random.length !== keyRandomBytes) throw new RangeError('a key is made of 40 random bytes')
  return `tpj_${randomBase32(random)}`
}

/** Whether a text can be a node's secret at all. It costs no look-up to turn away what is not. */
export const isSecretText = (text: string): boolean => /^tpn_[0-9a-f]{64}$/.test(text)

/** The places of nodes that are open, by name. */
export function locationsOf(nodes: readonly Node[]): Location[] {
  const byName = new Map<string, Node[]>()
  for (const node of nodes) {
    if (node.state === 'open') byName.set(node.location, [...(byName.get(node.location) ?? []), node])
  }
  return [...byName]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, there]) => ({
      name,
      countryCode: there[0]?.countryCode ?? null,
      city: there[0]?.city ?? null,
      nodes: there,
    }))
}

/**
 * The node that serves a subject. Each node draws a number from the subject and itself, and the largest wins: subjects
 * spread evenly, and when a node goes only its own subjects move. A live node is preferred to any that is not, and of
 * these one that is not being drained.
 */
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

/** FNV-1a, with its bits mixed once more: ids differ mostly at their ends. It spreads; it guards nothing. */
function draw(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** What binds a sealed private key to its node: in another row it does not open. */
export const contextOf = (id: NodeId): string => `node ${id} private key`
