import type { CustomerId, RandomBytes } from '../../core/ids.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, IdCounter, Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { EntryPorts, Fleet } from '../fleet/index.ts'
import { type NodeReach, reachOf } from '../fleet/rules.ts'
import type { Ledger } from '../ledger/index.ts'
import { metadataOf } from '../metadata/index.ts'
import { type Metadata, noMetadata } from '../metadata/rules.ts'
import type { Once, Orders } from '../orders/index.ts'
import type { Pricing } from '../pricing/index.ts'
import type { Stock, StockOperator } from '../stock/index.ts'
import type { Traffic } from '../traffic/index.ts'
import { noSuchProxy } from './errors.ts'
import { isHeld, maxExported, type PortType, type Proxy, subjectOf, vaultContext } from './rules.ts'
import * as store from './store.ts'

export const product = 'dedicated'

export type DedicatedDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly stalls: Stalls
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  readonly proxyIds: IdCounter
  /** The next number of a counter, for `verify`. */
  readonly numbers: (reader: Reader, counter: string) => Promise<number>
  readonly ledger: Ledger
  readonly customers: Customers
  readonly ports: EntryPorts
  readonly fleet: Fleet
  readonly traffic: Pick<Traffic, 'counts'>
  readonly orders: Orders
  readonly once: Once
  readonly events: Pick<Events, 'note' | 'announce'>
  readonly pricing: Pricing
  readonly stock: Stock
  readonly stockOperator: StockOperator
}

/** A proxy as its customer sees it, with its password, where to reach it, and the customer's own pairs. */
export type OpenProxy = Proxy & NodeReach & { readonly password: string; readonly metadata: Metadata }

/** Bytes that went to the customer, and that came from the customer. */
export type ProxyTraffic = { readonly received: bigint; readonly sent: bigint }

const pageSize = 250

export const openProxy = (
  { vault }: DedicatedDeps,
  proxy: Proxy,
  reach: NodeReach,
  metadata: Metadata = noMetadata,
): OpenProxy => ({
  ...proxy,
  ...reach,
  metadata,
  password: vault.open(proxy.sealedPassword, vaultContext(proxy.id)),
})

export async function openAll(deps: DedicatedDeps, proxies: readonly Proxy[]): Promise<OpenProxy[]> {
  const reaches = await deps.stock.ranges.reachesOf(proxies.map((proxy) => proxy.slot))
  const pairs = await metadataOfProxies(deps.db, proxies)
  return proxies.map((proxy) =>
    openProxy(deps, proxy, reaches.get(proxy.slot) ?? reachOf(undefined, []), pairs.get(String(proxy.id))),
  )
}

/** The pairs of one customer's proxies. */
export const metadataOfProxies = async (reader: Reader, proxies: readonly Proxy[]) =>
  proxies[0]
    ? metadataOf(
        reader,
        proxies[0].customer,
        'proxy',
        proxies.map((proxy) => proxy.id),
      )
    : new Map<string, Metadata>()

/** The number of a proxy that the customer has; others are refused. */
export async function findOwned(deps: DedicatedDeps, tx: Tx, customer: CustomerId, text: string): Promise<string> {
  const id = /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0
  await lockAll(deps, tx, customer, [id])
  return text
}

/** Refuses if one of these ids is not among the found proxies that the customer still has. */
function assertAll(ids: readonly number[], found: readonly Proxy[], nowMs: number): readonly Proxy[] {
  const held = new Set(found.filter((proxy) => isHeld(proxy, nowMs)).map((proxy) => proxy.id))
  const missing = ids.filter((id) => !held.has(id))
  if (missing.length > 0) throw noSuchProxy(missing)
  return found
}

export const loadAll = async ({ db, clock }: DedicatedDeps, customer: CustomerId, ids: readonly number[]) =>
  assertAll(ids, await store.findProxies(db, customer, ids), clock())

export const lockAll = async ({ clock }: DedicatedDeps, tx: Tx, customer: CustomerId, ids: readonly number[]) =>
  assertAll(ids, await store.lockProxies(tx, customer, ids), clock())

/** A page of a customer's proxies, newest first. */
export const list = async (deps: DedicatedDeps, customer: CustomerId, filter: Omit<store.ListFilter, 'nowMs'>) =>
  openAll(deps, await store.listProxies(deps.db, customer, { ...filter, nowMs: deps.clock() }))

/** Comments that one request for a part of them reads, so that a customer with many proxies delays no other. */
const maxCompared = 10_000

/** A page of the customer's proxies whose comment contains a text in any case, and where the next page begins. */
export async function listByComment(
  deps: DedicatedDeps,
  customer: CustomerId,
  filter: Omit<store.ListFilter, 'nowMs'>,
  part: string,
): Promise<{ readonly proxies: readonly OpenProxy[]; readonly next: number | undefined }> {
  const { db } = deps
  const nowMs = deps.clock()
  const read = (before: number) => store.listComments(db, customer, { ...filter, nowMs, before, limit: pageSize })
  const { ids, next } = await findContaining(read, part, filter)
  if (ids.length === 0) return { proxies: [], next }
  return { proxies: await openAll(deps, (await store.findProxies(db, customer, ids)).toReversed()), next }
}

/**
 * Ids of the first `limit` comments that contain a text. They are compared here and not by SQL, whose LOWER changes
 * Latin letters only. A search that ends at `maxCompared` has a `next` although its page is not full.
 */
export async function findContaining(
  read: (before: number) => Promise<readonly store.Commented[]>,
  part: string,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<{ readonly ids: readonly number[]; readonly next: number | undefined }> {
  const sought = foldCase(part)
  const ids: number[] = []
  let last = before
  for (let compared = 0; compared < maxCompared; ) {
    const page = await read(last)
    ids.push(...page.filter(({ comment }) => foldCase(comment).includes(sought)).map(({ id }) => id))
    // One more than a page holds shows that there is a next page.
    if (ids.length > limit) return { ids: ids.slice(0, limit), next: ids[limit - 1] }
    if (page.length < pageSize) return { ids, next: undefined }
    compared += page.length
    last = page.at(-1)?.id ?? last
  }
  return { ids, next: last }
}

const foldCase = (text: string): string => text.normalize('NFC').toLowerCase()

/** Pages of the named proxies, or of all active ones, newest first, up to `maxExported`. */
export async function* pagesOf(deps: DedicatedDeps, customer: CustomerId, ids: readonly number[] | undefined) {
  if (ids) {
    const named = await loadAll(deps, customer, ids)
    for (let at = 0; at < named.length; at += pageSize) yield openAll(deps, named.slice(at, at + pageSize))
    return
  }
  let before = Number.MAX_SAFE_INTEGER
  for (let count = 0; count < maxExported; count += pageSize) {
    const page = await list(deps, customer, {
      country: '',
      ipv: 0,
      expiresBefore: Number.MAX_SAFE_INTEGER,
      comment: '',
      status: 'active',
      before,
      limit: pageSize,
    })
    yield page
    if (page.length < pageSize) return
    before = page.at(-1)?.id ?? 0
  }
}

export async function load(deps: DedicatedDeps, customer: CustomerId, id: number): Promise<OpenProxy> {
  const [opened] = await openAll(deps, await loadAll(deps, customer, [id]))
  if (!opened) throw noSuchProxy([id])
  return opened
}

/** The traffic of each proxy, as far as nodes have reported it. */
export async function trafficOf(
  { db, traffic }: DedicatedDeps,
  proxies: readonly { readonly id: number }[],
): Promise<ReadonlyMap<number, ProxyTraffic>> {
  const subjects = proxies.map((proxy) => subjectOf(proxy.id))
  const totals = await traffic.counts.totals(db, subjects)
  return new Map(proxies.map(({ id }) => [id, totals.get(subjectOf(id)) ?? { received: 0n, sent: 0n }]))
}

export const setProtocol = (deps: DedicatedDeps, customer: CustomerId, ids: readonly number[], portType: PortType) =>
  deps.db.transact(async (tx) => {
    await lockAll(deps, tx, customer, ids)
    store.setPortType(tx, ids, portType, deps.clock())
  })

export const setComment = (deps: DedicatedDeps, customer: CustomerId, ids: readonly number[], comment: string) =>
  deps.db.transact(async (tx) => {
    await lockAll(deps, tx, customer, ids)
    store.setComment(tx, ids, comment)
  })
