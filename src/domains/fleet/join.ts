import { makeId, type NodeId, type RandomBytes } from '../../core/ids.ts'
import type { Hmac } from '../../core/password-mac.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import { makeKeyPair, type PublicKeyOf } from '../../core/wireguard.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { invalidJoinKey, invalidNodeSecret, noSuchNode } from './errors.ts'
import { rotatePasswordKeys } from './password-keys.ts'
import {
  contextOf,
  type EarlierFigures,
  type Endpoint,
  type HealthReport,
  isLocationName,
  isNodeName,
  isSecretText,
  keyLastsMs,
  keyRandomBytes,
  localNames,
  makeKeyText,
  type Node,
  type NodeKind,
  onlineWithinMs,
  type PasswordKey,
  secretCachedMs,
  usualLinkMegabits,
} from './rules.ts'
import { usualLinks, type VpnLinks } from './rules-links.ts'
import { type SampledSlots, sample } from './samples.ts'
import * as store from './store.ts'

export type NewNode = {
  readonly kind: NodeKind
  readonly name: string
  readonly location: string
  readonly countryCode?: string
  readonly city?: string
  readonly endpoint?: Endpoint
  readonly linkMegabits?: number
}

type Given = {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Vault
  publicKeyOf: PublicKeyOf
  hmac: Hmac
}

type FleetDeps = ReturnType<typeof withCaches>

export function withCaches(given: Given) {
  // A revocation in another process takes effect after `ttlMs` at most.
  const cached = { clock: given.clock, ttlMs: secretCachedMs, maxEntries: 10_000 }
  const sampled: SampledSlots = new Map()
  const cachedKeys: { read?: { readonly keys: readonly PasswordKey[]; readonly at: number } | undefined } = {}
  return {
    ...given,
    sampled,
    cachedKeys,
    lists: createTtlCache({ ...cached, load: (kind: NodeKind) => store.listNodes(given.db, kind) }),
    secrets: createTtlCache({
      ...cached,
      load: (text: string) => store.findBySecret(given.db, given.sha256(text)),
      shouldKeep: (found) => found !== undefined,
    }),
  }
}

/** Drops what was read of nodes: it may be of another state of the database. */
export function forget(deps: FleetDeps): void {
  deps.secrets.clear()
  deps.lists.clear()
  deps.cachedKeys.read = undefined
}

async function change(deps: FleetDeps, name: string, work: (tx: Tx, node: Node) => Promise<void>): Promise<Node> {
  const node = await deps.db.transact(async (tx) => {
    const found = await store.lockByName(tx, name)
    if (!found) throw noSuchNode()
    await work(tx, found)
    return (await store.findById(tx, found.id)) ?? found
  })
  forget(deps)
  return node
}

/** Adds a node. The shop makes the key pair of a VPN node and keeps the private key sealed until it is fetched. */
export async function add(deps: FleetDeps, tx: Tx, newNode: NewNode): Promise<Node> {
  if (!isLocationName(newNode.location)) throw new RangeError('a location is small letters, digits and dashes')
  if (!isNodeName(newNode.name)) throw new RangeError('a node is named like a host')
  if (await store.findByName(tx, newNode.name)) throw new Refusal('node_name_taken')
  const nowMs = deps.clock()
  const pair = newNode.kind === 'vpn' ? makeKeyPair(deps.random, deps.publicKeyOf) : undefined
  const node: Node = {
    countryCode: null,
    city: null,
    endpoint: null,
    linkMegabits: usualLinkMegabits,
    ...newNode,
    id: makeId('node', nowMs, deps.random),
    publicKey: pair?.publicKey ?? null,
    state: 'open',
    version: null,
    lastSeenAt: null,
    createdAt: nowMs,
    joinedAt: null,
    key: null,
    health: null,
    drainedAt: null,
    entry: null,
    hopTls: null,
    hops: [],
    vpnLinks: usualLinks,
    awaitsState: false,
  }
  await store.insertNode(tx, node, pair ? deps.vault.seal(pair.privateKey, contextOf(node.id)) : null)
  deps.lists.clear()
  return node
}

/** All nodes of a kind, at most half a second old. */
export const nodes = (deps: FleetDeps, kind: NodeKind): Promise<Node[]> => deps.lists.get(kind)

/** Records a node's call and its report of itself. `joinedAt`: refuses a call from before the node's last join. */
export async function seen(
  deps: FleetDeps,
  id: NodeId,
  report: { readonly version: string; readonly health?: HealthReport | undefined },
  joinedAt: number | null = null,
): Promise<void> {
  const slot = await deps.db.transact(async (tx) => {
    if (!(await store.markSeen(tx, id, deps.clock(), report.version, joinedAt))) throw noSuchNode()
    if (!report.health) return undefined
    store.writeHealth(tx, id, report.health)
    return sample(tx, deps.sampled, id, report.health, deps.clock())
    // The next call repeats it.
  }, 'unreplicated')
  if (slot !== undefined) deps.sampled.set(id, slot)
  deps.lists.clear()
}

/** Records the report of a process that drains after a takeover. It accepts no tunnels, so it is no sign of life. */
export const noteDraining = (deps: FleetDeps, id: NodeId, health: HealthReport): Promise<void> =>
  deps.db.transact(async (tx) => store.writeDraining(tx, id, health, deps.clock()), 'unreplicated')

/** The figures of each node's earlier processes, by node. A draining process reports every 2 s, as a gateway does. */
export async function earlierFigures(deps: FleetDeps): Promise<ReadonlyMap<string, EarlierFigures>> {
  const rows = await store.sumEarlier(deps.db, deps.clock() - onlineWithinMs.gateway)
  return new Map(rows.map((each) => [each.node, each]))
}

/** Sells nothing of a node until it has taken the whole state. */
export async function awaitState(deps: FleetDeps, id: NodeId): Promise<void> {
  await deps.db.transact(async (tx) => store.setAwaitsState(tx, id, true))
  forget(deps)
}

/** A node has taken the whole state of a life of the database. It changes nothing if that life is over. */
export async function noteStateTaken(deps: FleetDeps, id: NodeId, life: number): Promise<void> {
  await deps.db.transact((tx) => store.endAwaiting(tx, id, life))
  forget(deps)
}

/** The private key that the shop has made for a node, for that node alone. */
export async function privateKey(deps: FleetDeps, id: NodeId): Promise<string | undefined> {
  const found = await store.findSealedKey(deps.db, id)
  if (!found) throw noSuchNode()
  return found.sealed === null ? undefined : deps.vault.open(found.sealed, contextOf(id))
}

/** A join key: valid once, for a day; only this answer has its text. An earlier secret stays valid until a join. */
export async function issueKey(deps: FleetDeps, name: string): Promise<{ text: string; node: Node }> {
  const text = makeKeyText(deps.random(keyRandomBytes))
  const node = await change(deps, name, async (tx, found) => {
    if (found.state === 'closed') throw new Refusal('node_closed')
    await store.writeKey(tx, found.id, deps.sha256(text), deps.clock() + keyLastsMs)
  })
  return { text, node }
}

/**
 * Lets a node in with a join key and the secret that it will authenticate with, and forgets the reports under the
 * secret before, which may have been stolen. The same key with the same secret
 * may be repeated until the key expires, after a lost answer; with another secret it is refused.
 */
export async function join(deps: FleetDeps, key: string, secret: string, version: string): Promise<Node> {
  if (!isSecretText(secret)) throw invalidJoinKey()
  const node = await deps.db.transact(async (tx) => {
    const nowMs = deps.clock()
    const found = await store.lockByKey(tx, deps.sha256(key))
    if (!found?.node.key || found.node.key.expiresAt <= nowMs || found.node.state === 'closed') {
      throw invalidJoinKey()
    }
    const digest = deps.sha256(secret)
    if (found.node.key.usedAt !== null) {
      if (!found.digest || !sameBytes(found.digest, digest)) throw invalidJoinKey()
      return found.node
    }
    const owner = await store.findBySecret(tx, digest)
    if (owner && owner.node.id !== found.node.id) throw invalidJoinKey()
    await store.writeJoin(tx, found.node.id, digest, nowMs)
    await store.markSeen(tx, found.node.id, nowMs, version, null)
    return found.node
  })
  forget(deps)
  return node
}

/** The node of a secret. A malformed secret costs no look-up. */
export async function authenticate(deps: FleetDeps, secret: string | undefined): Promise<Node> {
  if (secret === undefined || !isSecretText(secret)) throw invalidNodeSecret()
  const known = await deps.secrets.get(secret)
  if (!known?.digest || !sameBytes(known.digest, deps.sha256(secret)) || known.node.state === 'closed') {
    throw invalidNodeSecret()
  }
  return known.node
}

/**
 * Closes a node and deletes its secret and its join key: if it is opened again, it needs a new one. The node may be
 * stolen and has the password keys, so they are rotated.
 */
export const revoke = (deps: FleetDeps, name: string): Promise<Node> =>
  change(deps, name, async (tx, node) => {
    await store.setState(tx, node.id, 'closed', deps.clock())
    await store.forgetSecrets(tx, node.id)
    if (node.kind === 'gateway') await rotatePasswordKeys(deps, tx)
  })

export async function loadClosed(deps: FleetDeps, name: string): Promise<Node> {
  const node = await store.findByName(deps.db, name)
  if (!node) throw noSuchNode()
  assertClosed(node)
  return node
}

function assertClosed({ state, name }: Node): void {
  if (state !== 'closed') throw new Refusal('node_open', { name })
}

/** Hides a closed node for good. `assertLeft` checks, with the node locked, that nothing refers to it any more. */
export const remove = (deps: FleetDeps, name: string, assertLeft: (tx: Tx) => Promise<void>): Promise<Node> =>
  change(deps, name, async (tx, node) => {
    assertClosed(node)
    await assertLeft(tx)
    await store.setRemoved(tx, node.id, deps.clock())
  })

/** Sets a node's bandwidth; the default follows its interfaces. It applies to claims from now on. */
export const setLink = (deps: FleetDeps, name: string, megabits: number): Promise<Node> =>
  change(deps, name, (tx, node) => store.setLink(tx, node.id, megabits))

/** Sets how links of VPN apps name a gateway, and which protocols it serves them. Omitted settings stay. */
export const setVpnLinks = (deps: FleetDeps, name: string, links: Partial<VpnLinks>): Promise<Node> =>
  change(deps, name, (tx, node) => store.setVpnLinks(tx, node.id, { ...node.vpnLinks, ...links }, deps.clock()))

/** Sets where customers and other gateways reach a node. A VPN node listens at a new port after its next start. */
export const setEndpoint = (
  deps: FleetDeps,
  name: string,
  endpoint: Endpoint,
  onChanged: (tx: Tx, node: Node) => Promise<void> = async () => {},
): Promise<Node> =>
  change(deps, name, async (tx, node) => {
    if (node.endpoint?.host === endpoint.host && node.endpoint.port === endpoint.port) return
    await store.setEndpoint(tx, node.id, endpoint, deps.clock())
    await onChanged(tx, node)
  })

function assertGateway({ kind }: Node): void {
  if (kind !== 'gateway') throw new Refusal('node_not_gateway')
}

/** Lets customers of other gateways' addresses enter at a gateway, or ends that. */
export const setEntry = (deps: FleetDeps, name: string, isEntry: boolean): Promise<Node> =>
  change(deps, name, async (tx, node) => {
    assertGateway(node)
    if (node.entry !== null && node.entry !== node.id) throw new Refusal('node_is_exit', { name })
    const count = isEntry ? 0 : await store.countEntering(tx, node.id)
    if (count > 0) throw new Refusal('entry_in_use', { count })
    await store.setEntry(tx, node.id, isEntry ? node.id : null, deps.clock())
  })

/** Sets the entry where customers of a gateway's addresses connect, or null for the gateway itself. */
export const setExit = (
  deps: FleetDeps,
  name: string,
  entryName: string | null,
  onChanged: (tx: Tx, node: Node) => Promise<void> = async () => {},
): Promise<Node> =>
  change(deps, name, async (tx, node) => {
    assertGateway(node)
    if (node.entry === node.id) throw new Refusal('node_is_entry', { name })
    const entry = entryName === null ? undefined : await store.lockByName(tx, entryName)
    if (entryName !== null && !entry) throw noSuchNode()
    if (entry && entry.entry !== entry.id) throw new Refusal('node_not_entry', { name: entry.name })
    if (node.entry === (entry?.id ?? null)) return
    await store.setEntry(tx, node.id, entry?.id ?? null, deps.clock())
    await onChanged(tx, node)
  })

/** Everything else refers to nodes by id. */
export const rename = (deps: FleetDeps, name: string, to: string): Promise<Node> =>
  change(deps, name, async (tx, node) => {
    if (!isNodeName(to)) throw new RangeError('a node is named like a host')
    const local = Object.values(localNames).find((each) => each === name || each === to)
    if (local !== undefined) throw new Refusal('node_name_local', { name: local })
    if (await store.findByName(tx, to)) throw new Refusal('node_name_taken')
    await store.setName(tx, node.id, to, deps.clock())
  })

/** Keeps a node out until it is opened; its secret stays. */
export const close = (deps: FleetDeps, name: string): Promise<Node> =>
  change(deps, name, (tx, node) => store.setState(tx, node.id, 'closed', deps.clock()))

export const open = (deps: FleetDeps, name: string): Promise<Node> =>
  change(deps, name, (tx, node) => store.setState(tx, node.id, 'open', deps.clock()))

/** Drains a node, or ends that: it gets nothing new and its goods move elsewhere, but it keeps serving them. */
export const drain = (deps: FleetDeps, name: string, drained: boolean): Promise<Node> =>
  change(deps, name, (tx, node) => store.setDrained(tx, node.id, drained ? deps.clock() : null))
