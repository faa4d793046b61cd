import { toIso } from '../../core/time.ts'
import { filesFor, roomWithin } from '../../dataplane/gateway/access/limits.ts'
import type { PostgresSettings } from '../../db/server-settings.ts'
import type { UnknownSetting } from '../settings/unknown.ts'

/** One result of the doctor. `wrong` needs the operator, `note` is information. */
export type Advice = {
  readonly of: string
  readonly state: 'ok' | 'note' | 'wrong'
  readonly says: string
  readonly todo: string
}

export const ok = (of: string, says: string): Advice => ({ of, state: 'ok', says, todo: '' })
export const note = (of: string, says: string, todo: string): Advice => ({ of, state: 'note', says, todo })
export const wrong = (of: string, says: string, todo: string): Advice => ({ of, state: 'wrong', says, todo })

const gigabyte = 1e9
const toGigabytes = (bytes: number): string => `${(bytes / gigabyte).toFixed(1)} GB`

export function adviseDisk(of: string, disk: { free: number; size: number } | undefined): Advice {
  if (!disk) return note(of, 'the system does not say how much room there is', 'look at it yourself (df)')
  const says = `${toGigabytes(disk.free)} of ${toGigabytes(disk.size)} are free`
  const isLow = disk.free < gigabyte || disk.free / disk.size < 0.1
  return isLow ? wrong(of, says, 'make room, or move it to a larger disk: a full disk sells nothing') : ok(of, says)
}

/** Whether the file limit suffices for the configured connections, by the gateway's own formula. */
export function adviseFiles(limit: number | undefined, connections: number, isTls: boolean): Advice {
  const of = 'open files'
  if (limit === undefined) return note(of, 'the system does not say how many there may be', 'look at ulimit -n')
  const carried = roomWithin(connections, limit, isTls).connections
  if (carried >= connections) return ok(of, `${limit} at most, enough for ${connections} connections`)
  return note(
    of,
    `${limit} at most, enough for ${carried} connections of the ${connections} asked for`,
    `raise it: LimitNOFILE=${filesFor(connections, isTls)} in the unit, or ulimit -n; ` +
      'or lower TURNPIKE_GATEWAY_CONNECTIONS',
  )
}

const maxSkewMs = 2_000

/** The machine's clock, compared with the database server's. */
export function adviseClock(skewMs: number | undefined, isSet: boolean | undefined): Advice {
  const of = 'clock'
  if (skewMs !== undefined && Math.abs(skewMs) > maxSkewMs) {
    return wrong(of, `it is ${Math.round(skewMs)} ms off the database server's`, 'run an NTP client on both machines')
  }
  if (isSet === false) {
    return note(of, 'nothing keeps it set, as far as the kernel knows', 'run an NTP client (chrony, systemd-timesyncd)')
  }
  return ok(of, skewMs === undefined ? 'no problem is known' : 'it agrees with the database server’s')
}

/** A folder or file that other users may read. */
export function adviseMode(path: string, mode: number | undefined, isOwn: boolean): Advice {
  const of = `rights of ${path}`
  if (mode === undefined) return note(of, 'it is not there', 'the shop makes it when it first starts')
  if (!isOwn) return wrong(of, 'it belongs to another user', 'chown it to the user that runs Turnpike')
  if ((mode & 0o077) === 0) return ok(of, `only its owner may use it (${(mode & 0o777).toString(8)})`)
  return wrong(of, `others may use it (${(mode & 0o777).toString(8)})`, `chmod go= ${path}`)
}

/** A misspelt setting is ignored and the default applies, so it is only a note. */
export const adviseSetting = ({ name, meant }: UnknownSetting): Advice =>
  meant === undefined
    ? note('settings', `${name} is not known and was ignored`, 'see "turnpike up --help" for those that there are')
    : wrong('settings', `${name} is not known and was ignored`, `set ${meant} instead, if that was meant`)

/** An import of addresses that has not finished. */
export const adviseImport = (each: { begunAt: number; places: number; prefix: string }): Advice =>
  wrong(
    'stock',
    `an import that began at ${toIso(each.begunAt)} is not finished: of ${each.prefix} and what came with it, ` +
      `${each.places} places are there, and none is sold`,
    'unless a "turnpike stock add" still runs, give the same one again, and it is finished; ' +
      'a shop that runs sells what is there by itself after two minutes',
  )

/** Ranges that a gateway claims and has not proven by a call from them. */
export const adviseUnproven = (name: string, ranges: number): Advice =>
  wrong(
    'stock',
    `${name} claims ${ranges} ranges that it has not proven: sales of them on it wait`,
    `"turnpike node show ${name}" names them; where the shop cannot see its calls (NAT), ` +
      `"turnpike stock assign PREFIX --node ${name}" needs no proof`,
  )

const oldestPostgres = 130_000

/** Settings that an answered purchase depends on. */
export function advisePostgres(server: Omit<PostgresSettings, 'engine' | 'nowMs'>): Advice {
  const of = 'database settings'
  const bad = [
    ...(server.version < oldestPostgres ? ['it is older than PostgreSQL 13: upgrade it'] : []),
    ...(server.encoding === 'UTF8' ? [] : [`its encoding is ${server.encoding}: make a database with UTF8`]),
    ...(server.fsync ? [] : ['fsync is off, so a crash of its machine loses the shop: turn it on']),
    ...(server.fullPages ? [] : ['full_page_writes is off, so a crash can tear pages: turn it on']),
    ...(server.waitsForDisk ? [] : ['synchronous_commit is off, so a crash loses answered purchases: turn it on']),
    ...(server.connections < 20 ? [`max_connections is ${server.connections}: a shop takes 13`] : []),
  ]
  if (bad.length > 0) return wrong(of, 'PostgreSQL is not set for a shop', bad.join('; '))
  return ok(of, `PostgreSQL ${Math.floor(server.version / 10_000)}, which waits for its disk`)
}

/** All clients behind an untrusted proxy share its address, so one client's failed sign-ins throttle all of them. */
export function adviseProxies(of: {
  readonly isForwarded: boolean
  readonly isBehindTls: boolean
  readonly trusted: number
}): readonly Advice[] {
  const name = 'trusted proxies'
  const todo = 'name the address of your reverse proxy in TURNPIKE_TRUSTED_PROXIES'
  if (of.isForwarded) {
    return [wrong(name, 'requests come through a proxy that is not one: all customers count as one source', todo)]
  }
  if (!of.isBehindTls) return []
  return of.trusted > 0
    ? [ok(name, 'the program before the shop says where customers come from')]
    : [note(name, 'another program ends TLS before the shop, and no proxy is trusted to say where customers are', todo)]
}

const mostSilentMs = 30_000
const mostLagMs = 10_000

/** A node, as of its last report. */
export function adviseNode(
  node: {
    readonly name: string
    readonly kind: string
    readonly state: string
    readonly joinedAt: number | null
    readonly lastSeenAt: number | null
    readonly version: string | null
    readonly health: { readonly lagMs: number } | null
  },
  nowMs: number,
  version: string,
): Advice {
  const of = `${node.kind} ${node.name}`
  if (node.state !== 'open') return note(of, 'it is closed', 'open it with "turnpike node open", or leave it so')
  if (node.joinedAt === null) return note(of, 'it has not joined yet', 'start it with the key of "turnpike node key"')
  const silentMs = nowMs - (node.lastSeenAt ?? 0)
  if (silentMs > mostSilentMs) {
    const says = `it was not heard of for ${Math.round(silentMs / 1000)} s`
    return wrong(of, says, 'start it, or close it with "turnpike node close" and move what it carried')
  }
  const lagMs = node.health?.lagMs ?? 0
  if (lagMs > mostLagMs) {
    return wrong(
      of,
      `it has not heard everything for ${Math.round(lagMs / 1000)} s`,
      'look at its log for "state not read"',
    )
  }
  if (node.version !== version) {
    return note(
      of,
      `it is version ${node.version ?? 'unknown'}, the shop is ${version}`,
      'bring it to the same version',
    )
  }
  return ok(of, `it is there, version ${version}`)
}

export function adviseBackups(
  folder: string | undefined,
  newestAt: number | undefined,
  everyMs: number,
  nowMs: number,
): Advice {
  const of = 'backups'
  if (folder === undefined) {
    return note(of, 'the shop makes none by itself', 'set TURNPIKE_BACKUP_FOLDER, or run "turnpike backup" every night')
  }
  if (newestAt === undefined) {
    const todo = 'the first is made a minute after the start; if it does not come, look for "back up" in the shop’s log'
    return wrong(of, `there is none in ${folder}`, todo)
  }
  const hours = Math.round((nowMs - newestAt) / 3_600_000)
  if (nowMs - newestAt > 2 * everyMs) {
    return wrong(of, `the newest is ${hours} hours old`, 'look for "job failed" with "back up" in the shop’s log')
  }
  return ok(of, `the newest is ${hours} hours old`)
}

const soonDays = 14
const dayMs = 86_400_000

/** A short-lived certificate is near its end when a fifth of its life is left. */
const isSoon = (endsAt: number, lifeMs: number, nowMs: number): boolean =>
  endsAt - nowMs < Math.min(soonDays * dayMs, lifeMs / 5)

export function adviseCertificate(
  host: string,
  endsAt: number | undefined,
  problem: string,
  nowMs: number,
  lifeMs = Number.POSITIVE_INFINITY,
): Advice {
  const of = `certificate of ${host}`
  if (endsAt === undefined) return note(of, `it could not be looked at: ${problem}`, 'look at it from outside')
  const days = Math.floor((endsAt - nowMs) / dayMs)
  if (problem !== '') return wrong(of, `it is not trusted: ${problem}`, 'get one for this name from a known authority')
  if (isSoon(endsAt, lifeMs, nowMs))
    return wrong(of, `it ends in ${days} days`, 'renew it, and see why that did not happen by itself')
  return ok(of, `it is good for ${days} days`)
}

/** The certificate file that this machine serves, and how often an ACME order failed. */
export function adviseOwnCertificate(
  file: string,
  found: { readonly names: readonly string[]; readonly beginsAt: number; readonly endsAt: number } | string,
  failures: number,
  nowMs: number,
): Advice {
  const of = `certificate in ${file}`
  const asked = 'look for "certificate not renewed" in the log: the reason is the authority’s own'
  if (typeof found === 'string') return wrong(of, found, failures > 0 ? asked : 'put one there, with its key')
  const days = Math.floor((found.endsAt - nowMs) / dayMs)
  const says = `it is for ${found.names.join(', ')} and`
  if (found.endsAt <= nowMs) return wrong(of, `${says} has ended`, failures > 0 ? asked : 'replace it and its key')
  if (isSoon(found.endsAt, found.endsAt - found.beginsAt, nowMs)) {
    return wrong(of, `${says} ends in ${days} days`, failures > 0 ? asked : 'replace it and its key')
  }
  if (failures > 0) return note(of, `${says} good for ${days} days, but was not renewed ${failures} times`, asked)
  return ok(of, `${says} good for ${days} days`)
}
