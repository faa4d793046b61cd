import { dlopen, ptr } from 'bun:ffi'
import { existsSync } from 'node:fs'
import manifest from '../../../package.json' with { type: 'json' }
import { findClosed, holdsShop, wayOutOf } from '../../db/closed.ts'
import { pending } from '../../db/migrate.ts'
import { isReachable } from '../../db/open.ts'
import { readServerSettings } from '../../db/server-settings.ts'
import type { Database } from '../../db/transaction.ts'
import { findTime } from '../../jobs/backups.ts'
import { listBackups } from '../backup/schedule.ts'
import { type Config, databaseAddress } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { openConfigured, openVault, readMigrations } from '../shop/database.ts'
import { createServices, realRuntime, shopConfigOf } from '../shop/services.ts'
import {
  type Advice,
  adviseBackups,
  adviseClock,
  adviseImport,
  adviseNode,
  advisePostgres,
  adviseUnproven,
  note,
  ok,
  wrong,
} from './advice.ts'

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Checks the shop of these settings, and the clock against the database's. */
export async function lookAtShop(config: Config): Promise<Advice[]> {
  const noClock = adviseClock(undefined, isClockSet(process.platform))
  if (config.databaseUrl === undefined && !existsSync(databaseAddress(config))) {
    return [
      noClock,
      note('shop', `there is none in ${config.folder}`, 'a node needs none; else "turnpike up" opens one'),
    ]
  }
  let db: Database
  try {
    db = openConfigured(config)
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    return [noClock, wrong('database', `${databaseAddress(config)} cannot be opened`, error.message)]
  }
  try {
    if (!(await isReachable(db))) {
      const toDo = 'see whether it runs, whether its address is right, and whether it has a connection left for this'
      return [noClock, wrong('database', 'it does not answer', toDo)]
    }
    return [...(await lookAtDatabase(db)), ...(await lookInside(config, db))]
  } finally {
    await db.close()
  }
}

async function lookAtDatabase(db: Database): Promise<Advice[]> {
  const askedAt = Date.now()
  const server = await readServerSettings(db)
  const isSet = isClockSet(process.platform)
  if (server.engine === 'postgres') {
    const skewMs = (askedAt + Date.now()) / 2 - server.nowMs
    return [adviseClock(skewMs, isSet), advisePostgres(server)]
  }
  const size = `${(server.bytes / 1e6).toFixed(0)} MB of SQLite`
  const log =
    server.journal === 'wal'
      ? ok('database settings', size)
      : note('database settings', `${size}, journal ${server.journal}`, 'the next start of the shop sets it')
  return [adviseClock(undefined, isSet), log]
}

async function lookInside(config: Config, db: Database): Promise<Advice[]> {
  const closed = await findClosed(db)
  if (closed) return [wrong('shop', `it is closed. ${closed.because}`, wayOutOf(closed))]
  try {
    const missing = await pending(db, readMigrations())
    if (missing.length > 0) {
      return [
        wrong('schema', `${missing.length} migrations are not applied`, 'start the shop, or run "turnpike migrate"'),
      ]
    }
  } catch (error) {
    return [wrong('schema', messageOf(error), 'run the version that the database was migrated with, or a later one')]
  }
  if (!(await holdsShop(db))) return [ok('schema', 'as this version wants it'), note('shop', 'it is empty', 'start it')]
  return [ok('schema', 'as this version wants it'), ...(await lookAtWares(config, db))]
}

async function lookAtWares(config: Config, db: Database): Promise<Advice[]> {
  let vault: Awaited<ReturnType<typeof openVault>>['vault']
  try {
    vault = (await openVault(config, db)).vault
  } catch (error) {
    return [wrong('secret key', messageOf(error), 'without it no password of a customer can be shown again')]
  }
  const services = createServices(db, realRuntime, shopConfigOf(config, vault))
  const nowMs = Date.now()
  const nodes = [...(await services.fleet.nodes('gateway')), ...(await services.fleet.nodes('vpn'))]
  const places = await services.reach.warnings()
  return [
    ok('secret key', 'it is the one that this shop was opened with'),
    ...places.map(({ setting, host }) =>
      wrong('reach', `${setting} is ${host}, where no customer gets to`, `set ${setting} to where customers reach it`),
    ),
    ...(nodes.length === 0
      ? [wrong('nodes', 'there is none, so nothing is sold', '"turnpike node add" adds one')]
      : []),
    ...(await services.stock.ranges.unfinished.underWay()).map(adviseImport),
    ...[...(await services.stock.ranges.unproven())].map(([id, ranges]) =>
      adviseUnproven(nodes.find((node) => node.id === id)?.name ?? id, ranges),
    ),
    ...nodes.map((node) => adviseNode(node, nowMs, manifest.version)),
    lookAtBackups(config, nowMs),
    ...(config.registration !== 'off' && config.smtpUrl === undefined
      ? [
          note(
            'registration',
            'the shop sends no mail, so it cannot confirm addresses, and a sign-up shows which are taken',
            'set TURNPIKE_SMTP_URL, or take customers in yourself (TURNPIKE_REGISTRATION=off)',
          ),
        ]
      : []),
    ...((await services.customers.mode()) === 'production' && !config.checkpointFile && !config.checkpointUrl
      ? [
          note(
            'checkpoints',
            'they are kept in the database alone',
            'set TURNPIKE_CHECKPOINT_FILE or _URL: see verify.md',
          ),
        ]
      : []),
  ]
}

function lookAtBackups(config: Config, nowMs: number): Advice {
  const folder = config.backupFolder
  const names = folder !== undefined && existsSync(folder) ? listBackups(folder) : []
  const times = names.flatMap((name) => findTime(name) ?? [])
  return adviseBackups(folder, times.length > 0 ? Math.max(...times) : undefined, config.backupHours * 3_600_000, nowMs)
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
