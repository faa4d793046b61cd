import { contains, readAddress, readPrefix } from '../../core/address.ts'
import { readId } from '../../core/ids.ts'
import { maxLoginLength, readProxyLogin, writeProxyLogin } from '../../core/login.ts'
import type { ReportBody } from '../../node-protocol/report.ts'
import { type FindBody, type NodeExit, type NodeSubuser, toLeft } from '../../node-protocol/state.ts'
import { ownerName } from '../customers/rules.ts'
import type { NodeSide, StateRow } from '../fleet/index.ts'
import type { PremiumDeps } from './deps.ts'
import { assertNoExits, changed, type ExitDeps, takeCounts, takeReports } from './exits/exits.ts'
import type { GatewayPort, Subuser } from './subusers/rules.ts'
import * as store from './subusers/store.ts'
import { forgetUsage, type MeteringDeps, takeReport } from './usage/metering.ts'

const poolPattern = /^[a-z][a-z0-9_]{0,30}$/

/** The state that gateways get and the reports that they send: nothing of customers, prices or plain passwords. */
export function createPremiumNodes(deps: ExitDeps & MeteringDeps): NodeSide & Required<Pick<NodeSide, 'find'>> {
  const { db } = deps
  return {
    kind: 'gateway',

    tables: [
      {
        name: 'exits',
        read: async (after, limit, thereOnly) => (await changed(deps, after, limit, thereOnly)).map(toExitRow),
        forNode: withoutOthersPassword,
      },
      {
        name: 'subusers',
        read: async (after, limit, thereOnly) => toRows(deps, await store.changedAfter(db, after, limit, thereOnly)),
      },
    ],

    mark: (sinceAt) => store.changeMark(db, sinceAt),

    async find(query) {
      const subuser = await findSubuser(deps, query)
      return subuser && { proxy: null, subuser: subuser.state === 'deleted' ? null : subuser }
    },

    async knownAmong(items) {
      const subusers = items.filter(({ kind }) => kind === 'subuser')
      const known = await store.knownAmong(db, [...new Set(subusers.map(({ id }) => id))])
      return subusers.filter(({ id }) => known.has(id))
    },

    parts: ['subusers', 'lease_requests', 'hosts', 'sources'],

    async report(node, body) {
      const exitReports = body.exit_reports ?? []
      const reports = exitReports.map(({ id, up, since, reason }) => ({ exit: id, isUp: up, sinceAt: since, reason }))
      await takeReports(deps, node, reports)
      const counts = (body.exits ?? []).map(({ id, ...count }) => ({ exit: id, ...toCounts(count) }))
      await takeCounts(deps, node, body.boot, counts)
      const { replaced, allowances } = await takeReport(deps, await readReport(deps, node, body))
      return {
        replaced,
        allowances: allowances.map((each) => ({ id: each.subuser, pool: each.pool, upto: Number(each.upto) })),
      }
    },

    forgetUsage: (node, sinceAt, dryRun) => forgetUsage(deps, node, sinceAt, dryRun),

    leave: (node) => assertNoExits(deps, node),
    assertLeft: (tx, node) => assertNoExits(deps, node, tx),

    touch: (tx, customer) => store.touchSubusers(tx, customer, deps.clock()),
  }
}

/**
 * Sub-users as gateways get them. The bytes left only tell whether to ask for a lease. Blocked customers are read
 * after their sub-users, so a block that happens in between is sent too early, never too late.
 */
async function toRows(deps: PremiumDeps, rows: readonly store.NodeSubuserRow[]): Promise<StateRow<NodeSubuser>[]> {
  const { db } = deps
  const ids = rows.map((row) => row.id)
  const [blocked, ...parts] = await Promise.all([
    deps.customers.blockedAmong(rows.map((row) => row.customer)),
    store.listEntriesOf(db, ids),
    store.listPortsOf(db, ids),
    deps.traffic.accounts.list(db, ids),
  ])
  const entries = Map.groupBy(parts[0], (each) => each.subuser)
  const ports = Map.groupBy(parts[1], (each) => each.subuser)
  const accounts = Map.groupBy(parts[2], (each) => each.subuser)
  return rows.map((row) => ({
    id: row.id,
    changedAt: row.changedAt,
    shape: {
      id: row.id,
      login: row.login,
      digest: row.digest.toHex(),
      state: stateOf(row, blocked.has(row.customer)),
      tunnels: row.limits.tunnels,
      keep_hosts: row.keepHosts,
      whitelist: (entries.get(row.id) ?? []).map((each) => each.prefix),
      ports: (ports.get(row.id) ?? []).flatMap(tellPort),
      pools: (accounts.get(row.id) ?? []).map(({ pool, ...of }) => ({ pool, left: toLeft(of.balance + of.aside) })),
      owner: ownerName(row.customer, deps.sha256),
    },
  }))
}

/** Finds a sub-user by the login's name before its first `-`, or by a whitelisted source address and a port. */
async function findSubuser(deps: PremiumDeps, query: FindBody): Promise<NodeSubuser | undefined> {
  const { db } = deps
  if ('username' in query) {
    const row = await store.findForNodes(db, 'login', query.username.split('-')[0] ?? '')
    return row && (await toRows(deps, [row]))[0]?.shape
  }
  const address = readAddress(query.source)
  const port = address && (await store.findPort(db, query.port))
  const row = port && (await store.findForNodes(db, 'id', port.subuser))
  const subuser = row && (await toRows(deps, [row]))[0]?.shape
  const isListed = subuser?.whitelist.some((text) => {
    const prefix = readPrefix(text)
    return prefix !== undefined && address !== undefined && contains(prefix, address)
  })
  return isListed ? subuser : undefined
}

/** Drops parts about unknown sub-users: they may be of a database that was restored since. */
async function readReport({ db }: PremiumDeps, node: string, body: ReportBody) {
  const parts = [body.subusers, body.lease_requests, body.hosts, body.sources]
  const named = parts.flatMap((part) => part.flatMap((each) => readId('subuser', each.id) ?? []))
  const known = await store.ownersOf(db, [...new Set(named)])
  const ofKnown = <Of extends { id: string; pool?: string }>(part: readonly Of[]) =>
    part.flatMap((each) => {
      const { id, ...rest } = each
      const subuser = readId('subuser', id)
      const isPool = each.pool === undefined || poolPattern.test(each.pool)
      return subuser && known.has(subuser) && isPool ? [{ ...rest, subuser }] : []
    })
  return {
    node,
    boot: body.boot,
    beside: body.beside,
    counts: ofKnown(body.subusers).map(toCounts),
    leaseRequests: ofKnown(body.lease_requests).map(({ moving = 0, pace = 0, ...of }) => ({
      ...of,
      moving: BigInt(moving),
      pace: BigInt(pace),
    })),
    hosts: ofKnown(body.hosts).map(toCounts),
    sources: ofKnown(body.sources),
  }
}

const toCounts = <Of extends { received: number; sent: number }>(each: Of) => ({
  ...each,
  received: BigInt(each.received),
  sent: BigInt(each.sent),
})

function stateOf({ deletedAt, blockedAt }: Subuser, isCustomerBlocked: boolean): NodeSubuser['state'] {
  if (deletedAt !== null) return 'deleted'
  return blockedAt !== null || isCustomerBlocked ? 'blocked' : 'active'
}

const toExitRow = (of: Awaited<ReturnType<typeof changed>>[number]): StateRow<NodeExit> => ({
  id: of.id,
  changedAt: of.changedAt,
  shape: {
    id: of.id,
    pool: of.pool,
    kind: of.kind,
    host: of.host,
    port: of.port,
    credentials: of.credentials,
    country: of.slugs.countries,
    state: of.slugs.states,
    city: of.slugs.cities,
    zip: of.slugs.zips,
    asn: of.asn,
    offers: of.offers && toOffered(of.offers.countries),
    node: of.node,
    drained: of.drainedAt !== null,
  },
})

/**
 * A supplier's password goes only to gateways that dial the supplier: the one that the exit belongs to, or all if it
 * belongs to none. The others reach it through that gateway without credentials.
 */
const withoutOthersPassword = (exit: NodeExit, { id: node }: { readonly id: string }): NodeExit =>
  exit.node === null || exit.node === node ? exit : { ...exit, credentials: null }

const toOffered = (countries: 'any' | readonly string[]): string[] =>
  countries === 'any' ? ['any'] : countries.map((code) => code.toLowerCase())

/** A port with its whole login. A login that no gateway can read is left out. */
function tellPort({ port, parameters, session, ttlMinutes }: GatewayPort): { port: number; login: string }[] {
  const base = readProxyLogin(parameters)
  if (!base) return []
  const login = session === '' ? parameters : writeProxyLogin({ ...base, session: { name: session, ttlMinutes } })
  return login.length > maxLoginLength ? [] : [{ port, login }]
}
