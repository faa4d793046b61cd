import type { Database, Tx } from '../../db/transaction.ts'
import { contains, readAddress, readPrefix } from '../../kernel/address.ts'
import type { CustomerId, SubuserId } from '../../kernel/ids.ts'
import { readProxyLogin, writeProxyLogin } from '../../kernel/login.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Customers } from '../customers/index.ts'
import { ownerName } from '../customers/rules.ts'
import type { Traffic } from '../traffic/index.ts'
import * as access from './access/store.ts'
import { listEntriesOf, listPortsOf, type Port } from './access/store.ts'
import type { Exits } from './exits/service.ts'
import * as store from './subusers/store-nodes.ts'

/**
 * A sub-user as a node needs it: enough to let somebody in, and nothing of customers, prices or plain passwords. `ports` are the
 * logins that a port stands for. `left` is a hint whether it is worth asking for a lease; the lease itself is what counts.
 */
export type NodeSubuser = {
  readonly id: SubuserId
  readonly login: string
  readonly digest: Uint8Array
  readonly state: 'active' | 'blocked' | 'deleted'
  readonly tunnels: number | null
  readonly keepHosts: boolean
  readonly whitelist: readonly string[]
  readonly ports: readonly { readonly port: number; readonly login: string }[]
  readonly left: readonly { readonly pool: string; readonly bytes: bigint }[]
  /** Tells whose limits it shares. */
  readonly owner: string
  readonly changedAt: number
}

/** Where a reader of changes is: the moment and the id of the last one it was given. */
export type Position = { readonly changedAt: number; readonly id: string }

const most = 500

/** The desired state that gateways read. */
export function createNodeView(deps: {
  db: Database
  clock: Clock
  sha256: (text: string) => Uint8Array
  customers: Pick<Customers, 'blockedAmong'>
  traffic: { readonly accounts: Pick<Traffic['accounts'], 'list'> }
  exits: Exits
}) {
  const { db } = deps

  /** Customers are asked about after their sub-users were read: whoever is blocked in between is told of too early, never too late. */
  async function complete(rows: readonly store.NodeRow[]): Promise<NodeSubuser[]> {
    const ids = rows.map((row) => row.id)
    const [blocked, ...parts] = await Promise.all([
      deps.customers.blockedAmong(rows.map((row) => row.customer)),
      listEntriesOf(db, ids),
      listPortsOf(db, ids),
      deps.traffic.accounts.list(db, ids),
    ])
    const entries = Map.groupBy(parts[0], (each) => each.subuser)
    const ports = Map.groupBy(parts[1], (each) => each.subuser)
    const accounts = Map.groupBy(parts[2], (each) => each.subuser)
    return rows.map(({ customer, ...row }) => ({
      ...row,
      state: row.state === 'active' && blocked.has(customer) ? 'blocked' : row.state,
      whitelist: (entries.get(row.id) ?? []).map((each) => each.prefix),
      ports: (ports.get(row.id) ?? []).map((each) => ({ port: each.port, login: loginOfPort(each) })),
      left: (accounts.get(row.id) ?? []).map((each) => ({ pool: each.pool, bytes: each.balance + each.aside })),
      owner: ownerName(customer, deps.sha256),
    }))
  }

  return {
    /**
     * Sub-users that changed at or after `since`, oldest change first, a page at a time. Times are given before a commit, so a
     * change may become visible a little after a later one: a reader asks again from well before what it has seen, and taking the
     * same state twice changes nothing.
     */
    async changes(since: number, after: Position | undefined, limit = most, thereOnly = false): Promise<NodeSubuser[]> {
      const position = after ?? { changedAt: since, id: '' }
      return complete(await store.changedAfter(db, position, Math.min(limit, most), thereOnly))
    },

    exits: (since: number, after: Position | undefined, limit = most, servingOnly = false) =>
      deps.exits.changed(after ?? { changedAt: since, id: '' }, Math.min(limit, most), servingOnly),

    /** Another text whenever a sub-user or an exit changed at a moment or later. */
    changeMark: (since: number): Promise<string> => store.changeMark(db, since),

    /** Makes nodes look again at all sub-users of a customer. */
    touch: (tx: Tx, customer: CustomerId): void => store.touchSubusers(tx, customer, deps.clock()),

    /** Which of these sub-users there are, deleted ones too: their last bytes still count. */
    knownAmong: (ids: readonly string[]): Promise<Set<string>> => store.knownAmong(db, [...new Set(ids)]),

    /** One sub-user by the name before the first `-`, for a login that a node has not heard of yet. */
    async byLogin(login: string): Promise<NodeSubuser | undefined> {
      const row = await store.findByLogin(db, login)
      return row && (await complete([row]))[0]
    },

    /** Who comes from a source address to a port: the port's one sub-user, if that address is on its whitelist. */
    async bySource(source: string, port: number): Promise<{ subuser: NodeSubuser; login: string } | undefined> {
      const address = readAddress(source)
      const known = address && (await access.findPort(db, port))
      const row = known && (await store.findById(db, known.subuser))
      const [subuser] = row ? await complete([row]) : []
      if (!address || !known || !subuser) return undefined
      const isListed = subuser.whitelist.some((text) => {
        const prefix = readPrefix(text)
        return prefix !== undefined && contains(prefix, address)
      })
      return isListed ? { subuser, login: loginOfPort(known) } : undefined
    },
  }
}

/** The whole login that a port stands for. */
function loginOfPort(port: Port): string {
  const base = readProxyLogin(port.parameters)
  if (!base) throw new Error('a port stands for a login that cannot be read')
  return port.session === ''
    ? port.parameters
    : writeProxyLogin({ ...base, session: { name: port.session, ttlMinutes: port.ttlMinutes } })
}
