import { dlopen, ptr } from 'bun:ffi'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import type { Vault } from '../../core/vault.ts'
import { findClosed, holdsShop, wayOutOf } from '../../db/closed.ts'
import { pending } from '../../db/migrate.ts'
import { isReachable } from '../../db/open.ts'
import { readReplication } from '../../db/replication.ts'
import { countUnstamped } from '../../db/row-history.ts'
import { readServerSettings } from '../../db/server-settings.ts'
import { findLatestMarkAt, listRewinds } from '../../db/timeline.ts'
import type { Database } from '../../db/transaction.ts'
import { boundOf, bytesPerMegabit, type Node, pathsOf } from '../../domains/fleet/rules.ts'
import { statusOf } from '../../domains/premium/exits/rules.ts'
import { lookAtRanges } from '../../domains/stock/index.ts'
import { findLastBackup } from '../backup/backup.ts'
import { findUserName } from '../backup/readable.ts'
import { lookForBackups } from '../backup/schedule.ts'
import { type Config, databaseAddress, shopSocket, shopUrl } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { openConfigured, openVault, readMigrations } from '../shop/database.ts'
import { maxMarkAheadMs, movedNote } from '../shop/history.ts'
import { createServices, realRuntime, type Services, shopConfigOf } from '../shop/services.ts'
import {
  type Advice,
  adviseBackups,
  adviseClock,
  adviseExits,
  adviseHistory,
  adviseImport,
  adviseLink,
  adviseMarkClock,
  adviseNode,
  advisePath,
  advisePostgres,
  adviseRanges,
  adviseReplication,
  adviseRewinds,
  adviseUnproven,
  note,
  ok,
  wrong,
} from './advice.ts'
import { subject } from './subjects.ts'
import { lookAtWaysIn } from './ways-in/gateways.ts'

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The machine's clock, as the kernel knows it. */
export const lookAtClock = (): Advice => adviseClock(undefined, isClockSet(process.platform))

/** Checks the shop of these settings, and the clock against the database's. */
export async function lookAtShop(config: Config): Promise<Advice[]> {
  const noClock = lookAtClock()
  if (config.databaseUrl === undefined && !existsSync(databaseAddress(config))) {
    return [noClock, wrong(subject.shop, 'shop_none', { folder: config.folder })]
  }
  let db: Database
  try {
    db = openConfigured(config)
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    return [
      noClock,
      wrong(subject.database, 'database_unopened', { address: databaseAddress(config), error: error.message }),
    ]
  }
  try {
    if (!(await isReachable(db))) return [noClock, wrong(subject.database, 'database_silent')]
    // The file in place is not the one that the shop uses: what it says of nodes and goods is of another database.
    if (existsSync(join(config.folder, movedNote)))
      return [noClock, wrong(subject.database, 'database_moved', { path: databaseAddress(config) })]
    return [...(await lookAtDatabase(db)), ...(await lookInside(config, db))]
  } finally {
    await db.close()
  }
}

async function lookAtDatabase(db: Database): Promise<Advice[]> {
  const requestedAt = Date.now()
  const server = await readServerSettings(db)
  const isSet = isClockSet(process.platform)
  const skewMs = server.engine === 'postgres' ? (requestedAt + Date.now()) / 2 - server.nowMs : undefined
  const clock = adviseClock(skewMs, isSet)
  if (server.engine === 'postgres')
    return [clock, ...advisePostgres(server), ...adviseReplication(await readReplication(db))]
  const megabytes = Math.round(server.bytes / 1e6)
  if (server.journal === 'wal') return [clock, ok(subject.databaseSettings, 'sqlite', { megabytes })]
  return [clock, note(subject.databaseSettings, 'sqlite_journal', { megabytes, journal: server.journal })]
}

async function lookInside(config: Config, db: Database): Promise<Advice[]> {
  const closed = await findClosed(db)
  if (closed) return [wrong(subject.shop, 'shop_closed', { because: closed.because, way_out: wayOutOf(closed) })]
  try {
    const { length: count } = await pending(db, readMigrations())
    if (count > 0) return [wrong(subject.schema, 'migrations_pending', { count })]
  } catch (error) {
    return [wrong(subject.schema, 'schema_wrong', { error: messageOf(error) })]
  }
  if (!(await holdsShop(db))) return [ok(subject.schema, 'schema_right'), wrong(subject.shop, 'shop_empty')]
  return [ok(subject.schema, 'schema_right'), ...(await lookAtWares(config, db))]
}

const usualSpotOf = ({ gatewayHost: host, gatewayPort: port }: Config) => ({ host, port })

async function lookAtWares(config: Config, db: Database): Promise<Advice[]> {
  let vault: Vault
  try {
    vault = (await openVault(config, db)).vault
  } catch (error) {
    return [wrong(subject.key, 'key_wrong', { error: messageOf(error) })]
  }
  const services = createServices(db, realRuntime, shopConfigOf(config, vault))
  const nowMs = Date.now()
  const nodes = [...(await services.fleet.nodes('gateway')), ...(await services.fleet.nodes('vpn'))]
  const hasGateway = nodes.length === 0 || nodes.some((node) => node.kind === 'gateway')
  const warnings = (await services.reach.warnings()).filter(({ service }) => service !== 'gateway' || hasGateway)
  return [
    ok(subject.key, 'key_right'),
    ...warnings.map(({ setting, host }) => wrong(subject.reach, 'reach', { setting, host })),
    ...(nodes.length === 0 ? [wrong(subject.nodes, 'nodes_none')] : []),
    ...((await services.pricing.find()) ? [] : [wrong(subject.prices, 'prices_none')]),
    ...adviseRanges(await lookAtRanges(services, (at) => nowMs - at)),
    ...adviseExits(await findExits(services, nowMs)),
    ...(await services.stock.ranges.unfinished.underWay()).map(adviseImport),
    ...[...(await services.stock.ranges.unproven())].map(([id, ranges]) =>
      adviseUnproven(nodes.find((node) => node.id === id)?.name ?? id, ranges),
    ),
    ...nodes.map((node) => adviseNode(node, nowMs, manifest.version)),
    ...(await lookAtLinks(services, nodes, nowMs)),
    ...pathsOf(nodes).map(advisePath),
    ...(await lookAtWaysIn(services, nodes, nowMs, usualSpotOf(config), new URL(shopUrl(config)))),
    ...nodes
      .filter((node) => node.awaitsState && node.joinedAt !== null)
      .map(({ kind, name }) => wrong(subject.node(kind, name), 'node_awaits_state', { name })),
    ...adviseMarkClock((await findLatestMarkAt(db)) - nowMs, maxMarkAheadMs),
    ...(await lookAtRewinds(services, nowMs, nodes)),
    lookAtBackups(config, nowMs),
    ...adviseHistory(await countUnstamped(db)),
    ...(config.registration !== 'off' && config.smtpUrl === undefined
      ? [note(subject.registration, 'registration_unconfirmed')]
      : []),
    ...((await services.customers.mode()) === 'production' && !config.checkpointFile && !config.checkpointUrl
      ? [note(subject.checkpoints, 'checkpoints_inside')]
      : []),
  ]
}

const historyMs = 30 * 86_400_000
const maxLost = 200
/** A node that lists many hides no other. */
const maxLostOfNode = 50

/** Rewinds of the last 30 days, and the goods that nodes lost with them. */
async function lookAtRewinds(services: Services, nowMs: number, nodes: readonly Node[]): Promise<Advice[]> {
  const rewinds = await listRewinds(services.db, nowMs - historyMs)
  const lost = await services.fleet.lostGoods(nowMs - historyMs, maxLost, maxLostOfNode)
  const owners = await services.customers.findOwners(new Set(lost.map(({ owner }) => owner)))
  const all = await services.fleet.countLostGoods(nowMs - historyMs)
  const nameOf = (owner: string): string => {
    const found = owners.get(owner)
    return found ? `${found.name} (${found.id})` : 'a customer that it has lost, too'
  }
  return adviseRewinds(
    rewinds,
    lost.map((each) => ({ ...each, customer: nameOf(each.owner) })),
    all - lost.length,
    (id) => nodes.find((node) => node.id === id)?.name ?? id,
  )
}

const dayMs = 86_400_000

/** Compares what nodes relay with their bandwidths, and finds bytes that were not billed in the last day. */
async function lookAtLinks({ fleet, traffic }: Services, nodes: readonly Node[], nowMs: number): Promise<Advice[]> {
  const refused = new Map((await traffic.counts.refusals(nowMs - dayMs)).map((each) => [each.node, each.bytes]))
  const advice = nodes.map(async (node) => {
    const bytes = await fleet.recentBytesPerSecond(node)
    const used = bytes === undefined ? undefined : bytes / bytesPerMegabit
    return adviseLink(
      node,
      boundOf(node.linkMegabits, node.health?.interfaceMegabits),
      used,
      refused.get(node.id) ?? 0n,
    )
  })
  return (await Promise.all(advice)).flat()
}

const maxExits = 10_000

async function findExits({ premium }: Services, nowMs: number) {
  const exits = await premium.exits.list(undefined, '', maxExits)
  const reports = Map.groupBy(await premium.exits.reports(exits.map((each) => each.id)), (report) => report.exit)
  return exits.map((exit) => ({
    host: exit.host,
    status: statusOf(exit, reports.get(exit.id) ?? [], (at) => nowMs - at),
  }))
}

function lookAtBackups(config: Config, nowMs: number): Advice {
  const folder = config.backupFolder
  const { times, denied } = folder === undefined ? { times: [] } : lookForBackups(folder)
  const newestAt = times.length > 0 ? Math.max(...times) : undefined
  const advice = adviseBackups(
    folder,
    newestAt,
    config.backupHours * 3_600_000,
    nowMs,
    findLastBackup(config),
    // The shop makes its socket when it opens.
    statSync(shopSocket(config.folder), { throwIfNoEntry: false })?.mtimeMs,
  )
  if (denied === undefined || advice.reason === 'backups_fresh') return advice
  return wrong(subject.backups, 'backups_denied', { path: denied, user: findUserName() })
}

/** Larger than `struct timex` is anywhere. */
const timexBytes = 512
/** What adjtimex(2) returns while the clock is not synchronised. */
const unsynchronised = 5

/** Whether something keeps the machine's clock set, as the kernel knows it; undefined where it does not say. */
function isClockSet(platform: NodeJS.Platform): boolean | undefined {
  if (platform !== 'linux') return undefined
  try {
    const libc = dlopen('libc.so.6', { adjtimex: { args: ['ptr'], returns: 'i32' } })
    const state = libc.symbols.adjtimex(ptr(new Uint8Array(timexBytes)))
    libc.close()
    return state < 0 ? undefined : state !== unsynchronised
  } catch {
    return undefined
  }
}
