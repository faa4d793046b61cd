import { contains, readAddress, readPrefix } from '../../core/address.ts'
import type { Sha256 } from '../../core/chain.ts'
import { readId, type SubuserId } from '../../core/ids.ts'
import { maxLoginLength, readProxyLogin, writeProxyLogin } from '../../core/login.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { ReportBody } from '../../node-protocol/report.ts'
import { type FindBody, type NodeExit, type NodeSubuser, toLeft } from '../../node-protocol/state.ts'
import type { Customers } from '../customers/index.ts'
import { ownerName } from '../customers/rules.ts'
import type { NodeSide, Told } from '../fleet/index.ts'
import type { Traffic } from '../traffic/index.ts'
import * as access from './access/store.ts'
import type { Exits } from './exits/service.ts'
import * as store from './store-nodes.ts'
import type { Intake } from './usage/service-intake.ts'

const poolPattern = /^[a-z][a-z0-9_]{0,30}$/

/**
 * What gateways are told of sub-users and exits, and what they report: nothing of customers, prices or plain passwords.
 */
export function createPremiumNodes(deps: {
  db: Database
  clock: Clock
  sha256: Sha256
  customers: Pick<Customers, 'blockedAmong'>
  traffic: { readonly accounts: Pick<Traffic['accounts'], 'list'> }
  exits: Exits
  intake: Pick<Intake, 'report' | 'forgetUsage'>
}): NodeSide & Required<Pick<NodeSide, 'find'>> {
  const { db } = deps

  /**
   * Sub-users with what hangs on them. What is left is a hint whether it is worth asking for a lease; the lease itself
   * is what counts. Customers are asked about after their sub-users were read: whoever is blocked in between is told of
   * too early, never too late.
   */
  async function tell(rows: readonly store.NodeRow[]): Promise<Told<NodeSubuser>[]> {
    const ids = rows.map((row) => row.id)
    const [blocked, ...parts] = await Promise.all([
      deps.customers.blockedAmong(rows.map((row) => row.customer)),
      access.listEntriesOf(db, ids),
      access.listPortsOf(db, ids),
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
        state: row.state === 'active' && blocked.has(row.customer) ? 'blocked' : row.state,
        tunnels: row.tunnels,
        keep_hosts: row.keepHosts,
        whitelist: (entries.get(row.id) ?? []).map((each) => each.prefix),
        ports: (ports.get(row.id) ?? []).flatMap(tellPort),
        pools: (accounts.get(row.id) ?? []).map((each) => ({
          pool: each.pool,
          left: toLeft(each.balance + each.aside),
        })),
        owner: ownerName(row.customer, deps.sha256),
      },
    }))
  }

  /** By the name before the first `-` of a login, or by who may come from a source address to a port. */
  async function findSubuser(asked: FindBody): Promise<NodeSubuser | undefined> {
    const address = 'source' in asked ? readAddress(asked.source) : undefined
    const port = address && 'source' in asked ? await access.findPort(db, asked.port) : undefined
    const row =
      'username' in asked
        ? await store.findByLogin(db, asked.username.split('-')[0] ?? '')
        : port && (await store.findById(db, port.subuser))
    const subuser = row && (await tell([row]))[0]?.shape
    if (!subuser || 'username' in asked) return subuser
    const isListed = subuser.whitelist.some((text) => {
      const prefix = readPrefix(text)
      return prefix !== undefined && address !== undefined && contains(prefix, address)
    })
    return isListed ? subuser : undefined
  }

  /** Keeps what is said of sub-users that were ever there; the rest may be of a database that was put back since. */
  async function readReport(node: string, body: ReportBody) {
    const named = [body.subusers, body.wishes, body.hosts, body.sources].flatMap((part) => part.map((each) => each.id))
    const ids = named.filter((id) => readId('subuser', id) !== undefined)
    const known = await store.knownAmong(db, [...new Set(ids)])
    const ofKnown = <Of extends { id: string; pool?: string }>(part: readonly Of[]) =>
      part
        .filter((each) => known.has(each.id) && (each.pool === undefined || poolPattern.test(each.pool)))
        .map(({ id, ...rest }) => ({ ...rest, subuser: id as SubuserId }))
    const toCounts = <Of extends { received: number; sent: number }>(each: Of) => ({
      ...each,
      received: BigInt(each.received),
      sent: BigInt(each.sent),
    })
    return {
      node,
      boot: body.boot,
      beside: body.beside,
      counts: ofKnown(body.subusers).map(toCounts),
      wishes: ofKnown(body.wishes).map((wish) => ({
        ...wish,
        moving: BigInt(wish.moving ?? 0),
        pace: BigInt(wish.pace ?? 0),
      })),
      hosts: ofKnown(body.hosts).map(toCounts),
      sources: ofKnown(body.sources),
    }
  }

  return {
    kind: 'gateway',

    tables: [
      {
        name: 'exits',
        read: async (after, limit, thereOnly) => (await deps.exits.changed(after, limit, thereOnly)).map(tellExit),
        forNode: withoutOthersPassword,
      },
      {
        name: 'subusers',
        read: async (after, limit, thereOnly) => tell(await store.changedAfter(db, after, limit, thereOnly)),
      },
    ],

    mark: (sinceAt) => store.changeMark(db, sinceAt),

    async find(asked) {
      const subuser = await findSubuser(asked)
      return subuser && { proxy: null, subuser: subuser.state === 'deleted' ? null : subuser }
    },

    parts: ['subusers', 'wishes', 'hosts', 'sources'],

    async report(node, body) {
      await deps.exits.takeWords(node, (body.exit_words ?? []).map(readWord))
      await deps.exits.takeCounts(node, body.boot, (body.exits ?? []).map(readExitCount))
      const { replaced, allowances } = await deps.intake.report(await readReport(node, body))
      return {
        replaced,
        allowances: allowances.map((each) => ({ id: each.subuser, pool: each.pool, upto: Number(each.upto) })),
      }
    },

    forgetUsage: deps.intake.forgetUsage,

    touch: (tx, customer) => store.touchSubusers(tx, customer, deps.clock()),
  }
}

const readWord = ({ id, up, since, reason }: NonNullable<ReportBody['exit_words']>[number]) => ({
  exit: id,
  isUp: up,
  sinceAt: since,
  reason,
})

const readExitCount = ({ id, received, sent }: NonNullable<ReportBody['exits']>[number]) => ({
  exit: id,
  received: BigInt(received),
  sent: BigInt(sent),
})

const tellExit = (of: Awaited<ReturnType<Exits['changed']>>[number]): Told<NodeExit> => ({
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
 * A supplier's password goes only to gateways that dial the supplier: all of them where the exit belongs to none, else
 * the one that it belongs to. The others reach it over a hop, and need no credentials for that.
 */
const withoutOthersPassword = (exit: NodeExit, node: string): NodeExit =>
  exit.node === null || exit.node === node ? exit : { ...exit, credentials: null }

const toOffered = (countries: 'any' | readonly string[]): string[] =>
  countries === 'any' ? ['any'] : countries.map((code) => code.toLowerCase())

/**
 * A port with the whole login that it stands for. One that no gateway could read is left out, and all others are heard.
 */
function tellPort({ port, parameters, session, ttlMinutes }: access.Port): { port: number; login: string }[] {
  const base = readProxyLogin(parameters)
  if (!base) return []
  const login = session === '' ? parameters : writeProxyLogin({ ...base, session: { name: session, ttlMinutes } })
  return login.length > maxLoginLength ? [] : [{ port, login }]
}
