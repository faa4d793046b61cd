import { bytes } from '../../core/bytes.ts'
import type { Tx } from '../../db/transaction.ts'
import type { ReportBody, VanishedItem } from '../../node-protocol/report.ts'
import type { NodeProxy } from '../../node-protocol/state.ts'
import { ownerName } from '../customers/rules.ts'
import type { DomainEvent } from '../events/rules.ts'
import { type NodeSide, numberOf, type StateRow } from '../fleet/index.ts'
import { sumRefused } from '../traffic/counts/rules.ts'
import * as days from './days/days.ts'
import { movedEvent } from './outages/rules.ts'
import type { DedicatedDeps } from './proxies.ts'
import { idOf, isHeld, type Proxy, readUsername, subjectOf } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

/** For this long the credentials of an ended proxy are refused as expired and not as wrong. */
const endedShownMs = 30 * 86_400_000

/** The state that gateways read of proxies, and the counts that they report: no password, price or customer. */
export function createDedicatedNodes(deps: DedicatedDeps): NodeSide & Required<Pick<NodeSide, 'find'>> {
  const { db, clock } = deps

  return {
    kind: 'gateway',

    tables: [
      {
        name: 'proxies',
        async read(after, limit, thereOnly) {
          const position = { changedAt: after.changedAt, id: numberOf(after) }
          return toRows(deps, await store.changedAfter(db, position, limit, thereOnly ? clock() : undefined))
        },
      },
    ],

    mark: (sinceAt) => store.changeMark(db, sinceAt),

    async find(query) {
      const proxy =
        'username' in query ? await findNamed(deps, query.username) : await store.findByEntryPort(db, query.port)
      if (!proxy) return undefined
      const [row] = await toRows(deps, [proxy])
      const isForgotten = row?.shape.state === 'gone' && (proxy.endedAt ?? proxy.expiresAt) < clock() - endedShownMs
      return { proxy: row && !isForgotten ? row.shape : null, subuser: null }
    },

    knownAmong: (items) => knownAmong(deps, items),

    parts: ['proxies'],

    report: (node, body) => takeReport(deps, node, body),

    /** Proxies are not sold by the byte: there is nothing to give back. */
    forgetUsage: async () => ({ things: 0, bytes: 0n }),

    endpointChanged: (tx, node) => noteEndpoint(deps, tx, node),

    touch: (tx, customer) => store.touchProxies(tx, customer, clock()),
  }
}

/** Counts are cumulative since the node's boot, so a repeat adds nothing; an unknown proxy is ignored. */
async function takeReport(deps: DedicatedDeps, node: string, { boot, proxies }: ReportBody): Promise<undefined> {
  if (proxies.length === 0) return
  await deps.db.transact(async (tx) => {
    const known = await store.statesAmong(tx, [...new Set(proxies.map((each) => each.id))])
    const counts = proxies
      .filter((each) => known.has(each.id))
      .map(({ id, received, sent }) => ({
        subject: subjectOf(id),
        received: bytes(BigInt(received)),
        sent: bytes(BigInt(sent)),
      }))
    const added = await deps.traffic.counts.take(tx, { node, boot, counts })
    const byProxy = added.map(({ subject, received, sent }) => ({ proxy: idOf(subject), received, sent }))
    days.note(
      deps,
      tx,
      byProxy.filter(({ proxy, received, sent }) => known.get(proxy) === 'held' && received + sent > 0n),
    )
    deps.traffic.counts.refuse(tx, node, sumRefused(added))
  })
}

/** A proxy is known by its id and its name: another one may have its id. */
async function knownAmong({ db }: DedicatedDeps, items: readonly VanishedItem[]): Promise<VanishedItem[]> {
  const proxies = items.filter(({ kind, id }) => kind === 'proxy' && /^\d{1,15}$/.test(id))
  const ids = [...new Set(proxies.map(({ id }) => Number(id)))]
  const names = new Set((await store.findMany(db, ids)).map(({ username }) => username))
  return proxies.filter(({ login }) => names.has(login))
}

/** Customers find the new host and port in their lists. */
async function noteEndpoint(deps: DedicatedDeps, tx: Tx, node: string): Promise<void> {
  const events: DomainEvent[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page = await deps.stock.served.leasedBy(tx, node, after, pageSize)
    const ids = page.map((each) => each.proxy)
    events.push(...(await store.findMany(tx, ids)).map(movedEvent))
    store.touch(tx, ids, deps.clock())
    after = page.length < pageSize ? undefined : page.at(-1)?.slot
  }
  await deps.events.note(tx, events)
}

// Blocks are read after the proxies, so that a block in between is applied early and never late.
async function toRows(deps: DedicatedDeps, proxies: readonly Proxy[]): Promise<StateRow<NodeProxy>[]> {
  const blocked = await deps.customers.blockedAmong(proxies.map((proxy) => proxy.customer))
  const slots = proxies.map((proxy) => proxy.slot)
  const nodes = await deps.stock.served.servingNodesOf(deps.db, slots)
  const isWithdrawn = (proxy: Proxy): boolean => !blocked.has(proxy.customer) && proxy.interruptedBy === 'quarantine'
  const isWithheld = (proxy: Proxy): boolean => blocked.has(proxy.customer) || isWithdrawn(proxy)
  return proxies.map((proxy) => ({
    id: String(proxy.id),
    changedAt: proxy.changedAt,
    shape: {
      id: proxy.id,
      username: proxy.username,
      digest: proxy.passwordDigest.toHex(),
      port_type: proxy.portType,
      leave_from: proxy.address,
      node: nodes.get(proxy.slot) ?? null,
      sources: [...proxy.sources],
      entry_port: proxy.entryPort,
      expires_at: proxy.expiresAt,
      state: !isHeld(proxy, deps.clock()) ? 'gone' : isWithheld(proxy) ? 'blocked' : 'active',
      withdrawn: isWithdrawn(proxy),
      owner: ownerName(proxy.customer, deps.sha256),
    },
  }))
}

async function findNamed(deps: DedicatedDeps, username: string): Promise<Proxy | undefined> {
  const id = readUsername(username)
  const proxy = id === undefined ? undefined : await store.findProxy(deps.db, id)
  return proxy?.username === username ? proxy : undefined
}
