import { type Bytes, toGigabytes } from '../../core/bytes.ts'
import { toIso } from '../../core/time.ts'
import { filesFor, roomWithin } from '../../dataplane/gateway/access/limits.ts'
import type { Replication } from '../../db/replication.ts'
import { maxUnstamped } from '../../db/row-history.ts'
import type { PostgresSettings } from '../../db/server-settings.ts'
import {
  type Health,
  type HopPath,
  isOnline,
  type LostGood,
  type Node,
  type ReportingNode,
} from '../../domains/fleet/rules.ts'
import type { UnknownSetting } from '../settings/unknown.ts'
import { type DoctorArguments, toSentences } from './messages.ts'
import { type DoctorSubject, subject } from './subjects.ts'

/** One result of the doctor. `wrong` needs the operator, `note` is information. */
export type Advice = {
  readonly of: string
  readonly russianOf: string
  readonly state: 'ok' | 'note' | 'wrong'
  readonly reason: DoctorArguments[0]
  readonly params: object
  readonly says: string
  readonly todo: string
}

const advise =
  (state: Advice['state']) =>
  (of: DoctorSubject, ...given: DoctorArguments): Advice => ({
    of: of.en,
    russianOf: of.ru,
    state,
    reason: given[0],
    params: given[1] ?? {},
    ...toSentences(...given),
  })

export const ok = advise('ok')
export const note = advise('note')
export const wrong = advise('wrong')

const gigabyte = 1e9

export function adviseDisk(of: DoctorSubject, disk: { free: number; size: number } | undefined): Advice {
  if (!disk) return note(of, 'disk_unknown')
  const space = { free_bytes: disk.free, size_bytes: disk.size }
  const isLow = disk.free < gigabyte || disk.free / disk.size < 0.1
  return isLow ? wrong(of, 'disk_low', space) : ok(of, 'disk_free', space)
}

/** Whether the file limit suffices for the configured connections, by the gateway's own formula. */
export function adviseFiles(limit: number | undefined, connections: number, isTls: boolean): Advice {
  const of = subject.files
  if (limit === undefined) return note(of, 'files_unknown')
  const fitting = roomWithin(connections, limit, isTls).connections
  if (fitting >= connections) return ok(of, 'files_enough', { limit, connections })
  return note(of, 'files_few', { limit, fitting, connections, needed: filesFor(connections, isTls) })
}

const maxSkewMs = 2_000

/** The machine's clock, compared with the database server's. */
export function adviseClock(skewMs: number | undefined, isSet: boolean | undefined): Advice {
  const of = subject.clock
  if (skewMs !== undefined && Math.abs(skewMs) > maxSkewMs) {
    return wrong(of, 'clock_differs', { skew_ms: Math.round(skewMs) })
  }
  if (isSet === false) return note(of, 'clock_unsynchronised')
  return ok(of, skewMs === undefined ? 'clock_unknown' : 'clock_agrees')
}

const maxShopSkewMs = 5_000

/** The machine's clock, compared with the clock of the node's shop; `aheadMs` is positive if it is ahead. */
export const adviseShopClock = (aheadMs: number): Advice[] =>
  Math.abs(aheadMs) > maxShopSkewMs
    ? [wrong(subject.clock, 'clock_differs_from_shop', { seconds: Math.round(aheadMs / 1000) })]
    : []

/** Reasons shown for a range without a served address. */
const maxReasons = 3

/** Goods in stock: a range without a served address is not sold at all. */
export function adviseRanges(
  ranges: readonly {
    readonly range: { readonly prefix: string; readonly state: string }
    readonly isBlock: boolean
    readonly slots: number
    readonly served: number
    readonly problems: readonly string[]
  }[],
): Advice[] {
  const sold = ranges.filter(({ range, isBlock, slots }) => range.state === 'in' && (isBlock || slots > 0))
  if (sold.length === 0) return []
  const unserved = sold.filter((each) => each.served === 0)
  const served = sold.reduce((sum, each) => sum + each.served, 0)
  const slots = sold.reduce((sum, each) => sum + (each.isBlock ? 1 : each.slots), 0)
  const [first] = unserved
  if (first) {
    const reasons = first.problems.slice(0, maxReasons)
    const params = { ranges: unserved.length, prefix: first.range.prefix, reasons }
    return [wrong(subject.stock, 'ranges_unserved', params)]
  }
  return served < slots
    ? [note(subject.stock, 'ranges_partly_served', { served, slots })]
    : [ok(subject.stock, 'ranges_served', { slots })]
}

type PathEnd = Pick<Node, 'name'> & { readonly health: Pick<Health, 'tls' | 'isForVpn'> | null }
type Path = Pick<HopPath, 'over' | 'report'> & {
  readonly entry: PathEnd
  readonly exit: PathEnd & Pick<Node, 'endpoint'>
}

/** The path of a gateway's customers from their entry. */
export function advisePath({ entry, exit, over, report }: Path): Advice {
  const of = subject.path(entry.name, exit.name)
  if (over === 'plain') return note(of, 'path_plain')
  if (!report) return note(of, 'path_unknown')
  if (!report.isUp) return wrong(of, 'path_down', { reason: report.reason })
  // The hop needs no name, but VPN links list gateways with one.
  const isUnnamed = entry.health?.isForVpn === true && exit.health?.tls === null
  return isUnnamed ? note(of, 'path_unnamed', { host: exit.endpoint?.host ?? '' }) : ok(of, 'path_up')
}

const maxExitsNamed = 5

/** Exits of premium traffic, by their status. */
export function adviseExits(exits: readonly { readonly host: string; readonly status: string }[]): Advice[] {
  const used = exits.filter((each) => each.status !== 'drained')
  const down = used.filter((each) => each.status === 'down').map((each) => each.host)
  const untried = used.filter((each) => each.status === 'untried').length
  if (used.length === 0) return []
  if (down.length > 0) {
    const more = down.length > maxExitsNamed ? ['…'] : []
    return [wrong(subject.exits, 'exits_down', { exits: [...down.slice(0, maxExitsNamed), ...more] })]
  }
  return untried > 0
    ? [note(subject.exits, 'exits_untried', { exits: untried })]
    : [ok(subject.exits, 'exits_up', { exits: used.length })]
}

/** A folder or file that other users may read. */
export function adviseMode(path: string, mode: number | undefined, isOwn: boolean): Advice {
  const of = subject.rights(path)
  if (mode === undefined) return note(of, 'path_missing')
  if (!isOwn) return wrong(of, 'path_owner')
  const text = (mode & 0o777).toString(8)
  return (mode & 0o077) === 0 ? ok(of, 'path_private', { mode: text }) : wrong(of, 'path_open', { mode: text, path })
}

/** A misspelt setting is ignored and the default applies, so it is only a note. */
export function adviseSetting({ name, meant, isRemoved }: UnknownSetting): Advice {
  if (isRemoved) return note(subject.settings, 'setting_removed', { name })
  return meant === undefined
    ? note(subject.settings, 'setting_unknown', { name })
    : wrong(subject.settings, 'setting_misspelt', { name, meant })
}

/** Whether the system's OpenSSL lets the fast relay engine serve TLS. */
export const adviseTlsLibrary = (lack: string | undefined): Advice =>
  lack === undefined ? ok(subject.tlsLibrary, 'openssl_found') : note(subject.tlsLibrary, 'openssl_lacks', { lack })

/** An import of addresses that has not finished. */
export const adviseImport = (each: { begunAt: number; slots: number; prefix: string }): Advice =>
  wrong(subject.stock, 'import_unfinished', { begun: toIso(each.begunAt), prefix: each.prefix, slots: each.slots })

/** Each time that the database went back, and what nodes served that it does not know. */
export function adviseRewinds(
  rewinds: readonly { notedAt: number; backTo: number; lostUntil: number }[],
  lost: readonly (LostGood & { customer: string })[],
  more: number,
  nameOf: (node: string) => string,
): Advice[] {
  return [
    ...rewinds.map(({ notedAt, backTo, lostUntil }) =>
      note(subject.database, 'database_went_back', {
        noted: toIso(notedAt),
        back_to: toIso(backTo),
        lost_until: toIso(lostUntil),
      }),
    ),
    ...lost.map(({ kind, login, address, node, customer }) =>
      wrong(subject.database, 'goods_lost', { kind, login, address, node: nameOf(node), customer }),
    ),
    ...(more > 0 ? [wrong(subject.database, 'goods_lost_more', { count: more })] : []),
  ]
}

/** `aheadMs`: how far the latest mark of the history is ahead of this machine's clock. */
export const adviseMarkClock = (aheadMs: number, maxMs: number): Advice[] =>
  aheadMs > maxMs ? [wrong(subject.clock, 'clock_behind_marks', { seconds: Math.round(aheadMs / 1000) })] : []

/** Ranges that a gateway claims and has not proven by a call from them. */
export const adviseUnproven = (name: string, ranges: number): Advice =>
  wrong(subject.stock, 'ranges_unproven', { name, ranges })

/** Versions of rows that no checkpoint covers yet. */
export const adviseHistory = (versions: number): Advice[] =>
  versions > maxUnstamped ? [wrong(subject.checkpoints, 'history_behind', { versions })] : []

const oldestPostgres = 130_000

/** Settings that an answered purchase depends on. */
export function advisePostgres(server: Omit<PostgresSettings, 'engine' | 'nowMs'>): readonly Advice[] {
  const of = subject.databaseSettings
  const bad = [
    ...(server.version < oldestPostgres ? ['it is older than PostgreSQL 13: upgrade it'] : []),
    ...(server.encoding === 'UTF8' ? [] : [`its encoding is ${server.encoding}: make a database with UTF8`]),
    ...(server.fsync ? [] : ['fsync is off, so a crash of its machine loses the shop: turn it on']),
    ...(server.fullPages ? [] : ['full_page_writes is off, so a crash can tear pages: turn it on']),
    ...(server.waitsForDisk ? [] : ['synchronous_commit is off, so a crash loses answered purchases: turn it on']),
    ...(server.connections < 20 ? [`max_connections is ${server.connections}: a shop takes 13`] : []),
  ]
  const advice = [
    ...(bad.length > 0 ? [wrong(of, 'postgres_wrong', { problems: bad })] : []),
    ...(server.isReadable ? [note(of, 'postgres_readable')] : []),
  ]
  return advice.length > 0 ? advice : [ok(of, 'postgres_right', { version: Math.floor(server.version / 10_000) })]
}

const megabyte = 1e6
/** The log of changes that a slot without a reader may keep before it is a danger to the disk. */
const maxUnreadBytes = 1e9

/** The standbys of the database. Without any, and without a setting that waits for one, there is nothing to say. */
export function adviseReplication(replication: Replication): readonly Advice[] {
  const of = subject.replication
  const { isSynchronous, standbys, slots, waitingCommits } = replication
  const confirming = standbys.filter(({ state }) => state === 'sync' || state === 'quorum')
  const isHidden = standbys.some(({ state }) => state === null)
  const unread = slots.filter(({ isRead, keptBytes }) => !isRead && keptBytes > maxUnreadBytes)
  const lagging = Math.max(0, ...standbys.map(({ lagBytes }) => lagBytes ?? 0))
  const params = { standbys: standbys.length, confirming: confirming.length, lag_megabytes: toMegabytes(lagging) }
  return [
    ...(isHidden ? [note(of, 'replication_hidden', { standbys: standbys.length })] : []),
    ...(isSynchronous && !isHidden
      ? [confirming.length > 0 ? ok(of, 'replication_synchronous', params) : wrong(of, 'replication_blocked')]
      : []),
    ...(!isSynchronous && standbys.length > 0 ? [note(of, 'replication_asynchronous', params)] : []),
    ...(waitingCommits > 0 ? [note(of, 'commits_waiting', { count: waitingCommits })] : []),
    ...unread.map((each) => wrong(of, 'slot_unread', { name: each.name, megabytes: toMegabytes(each.keptBytes) })),
  ]
}

const toMegabytes = (bytes: number): number => Math.round(bytes / megabyte)

/** All clients behind an untrusted proxy share its address, so one client's failed sign-ins throttle all of them. */
export function adviseProxies(of: {
  readonly isForwarded: boolean
  readonly isBehindTls: boolean
  readonly trusted: number
}): readonly Advice[] {
  const name = subject.proxies
  if (of.isForwarded) return [wrong(name, 'proxy_untrusted')]
  if (!of.isBehindTls) return []
  return [of.trusted > 0 ? ok(name, 'proxy_trusted') : note(name, 'proxy_likely')]
}

const maxLagMs = 10_000

/** A node, as of its last report. It is online by the same rule as in `turnpike node list`. */
export function adviseNode(
  node: ReportingNode &
    Pick<Node, 'name' | 'joinedAt' | 'version'> & {
      readonly health: Pick<Health, 'lagMs' | 'isStopping'> | null
    },
  nowMs: number,
  version: string,
): Advice {
  const of = subject.node(node.kind, node.name)
  if (node.state !== 'open') return note(of, 'node_closed')
  if (node.joinedAt === null) return note(of, 'node_not_joined')
  if (node.health?.isStopping) return wrong(of, 'node_stopping')
  const since = (at: number): number => nowMs - at
  if (!isOnline(node, since)) {
    return wrong(of, 'node_silent', { seconds: Math.round(since(node.lastSeenAt ?? node.joinedAt) / 1000) })
  }
  const lagMs = node.health?.lagMs ?? 0
  if (lagMs > maxLagMs) return wrong(of, 'node_behind', { seconds: Math.round(lagMs / 1000) })
  if (node.version !== version) return note(of, 'node_version', { version: node.version, shop: version })
  return ok(of, 'node_present', { version })
}

/** Above this share of a node's bandwidth an operator is warned; beyond the bandwidth bytes are not billed. */
const maxLinkShare = 0.8

/** `refused`: bytes that the node reported beyond its bandwidth since it was added, the last of them within a day. */
export function adviseLink(
  { kind, name }: Pick<Node, 'kind' | 'name'>,
  megabits: number,
  usedMegabits: number | undefined,
  refused: bigint,
): Advice[] {
  const of = subject.node(kind, name)
  const isNear = usedMegabits !== undefined && usedMegabits > maxLinkShare * megabits
  return [
    ...(refused > 0n
      ? [
          wrong(of, 'node_unbilled', {
            name,
            megabits,
            gigabytes: Number(toGigabytes(refused as Bytes).toPrecision(3)),
          }),
        ]
      : []),
    ...(isNear ? [wrong(of, 'node_link_full', { name, megabits, used: Math.round(usedMegabits) })] : []),
  ]
}

/** The shop looks once a minute whether a backup is due; the second minute is for writing it. */
const firstBackupWithinMs = 120_000

export function adviseBackups(
  folder: string | undefined,
  newestAt: number | undefined,
  everyMs: number,
  nowMs: number,
  /** The newest backup by command or by schedule, in any folder. */
  last?: { readonly folder: string; readonly at: number },
  /** When the shop of this machine opened. Its first backup follows a minute later. */
  shopOpenedAt = Number.NEGATIVE_INFINITY,
): Advice {
  const of = subject.backups
  const hoursSince = (at: number): number => Math.round((nowMs - at) / 3_600_000)
  const isFresh = (at: number): boolean => nowMs - at <= 2 * everyMs
  const fresh = last && isFresh(last.at) ? { elsewhere: last.folder, hours: hoursSince(last.at) } : undefined
  if (folder === undefined) {
    return fresh
      ? ok(of, 'backups_by_command', fresh)
      : note(of, 'backups_off', { hours: hoursSince(nowMs - 2 * everyMs) })
  }
  if (newestAt !== undefined && isFresh(newestAt)) return ok(of, 'backups_fresh', { hours: hoursSince(newestAt) })
  if (fresh) return note(of, 'backups_elsewhere', { folder, ...fresh })
  if (nowMs - shopOpenedAt <= firstBackupWithinMs) return note(of, 'backups_due', { folder })
  return newestAt === undefined
    ? wrong(of, 'backups_none', { folder })
    : wrong(of, 'backups_old', { hours: hoursSince(newestAt) })
}

const soonDays = 14
const dayMs = 86_400_000

/** A short-lived certificate is near its end when a fifth of its life is left. */
const isSoon = (endsAt: number, lifeMs: number, nowMs: number): boolean =>
  endsAt - nowMs < Math.min(soonDays * dayMs, lifeMs / 5)

/** Whether a connection failed because no program listens at the port. */
export const isRefused = (problem: string): boolean => /refused/i.test(problem)

export function adviseCertificate(
  host: string,
  endsAt: number | undefined,
  problem: string,
  nowMs: number,
  lifeMs = Number.POSITIVE_INFINITY,
): Advice {
  const of = subject.certificateOf(host)
  if (endsAt === undefined) {
    return isRefused(problem) ? wrong(of, 'address_refuses') : note(of, 'certificate_unseen', { error: problem })
  }
  const days = Math.floor((endsAt - nowMs) / dayMs)
  if (problem !== '') return wrong(of, 'certificate_untrusted', { error: problem })
  return isSoon(endsAt, lifeMs, nowMs) ? wrong(of, 'certificate_ends', { days }) : ok(of, 'certificate_good', { days })
}

/** The certificate file that this machine serves, and how often an ACME order failed. */
export function adviseOwnCertificate(
  file: string,
  found: { readonly names: readonly string[]; readonly beginsAt: number; readonly endsAt: number } | string,
  failures: number,
  nowMs: number,
): Advice {
  const of = subject.certificateIn(file)
  if (typeof found === 'string') return wrong(of, 'file_wrong', { error: found, failures })
  const { names } = found
  const days = Math.floor((found.endsAt - nowMs) / dayMs)
  if (found.endsAt <= nowMs) return wrong(of, 'file_ended', { names, failures })
  if (isSoon(found.endsAt, found.endsAt - found.beginsAt, nowMs))
    return wrong(of, 'file_ends', { names, days, failures })
  return failures > 0 ? note(of, 'file_not_renewed', { names, days, failures }) : ok(of, 'file_good', { names, days })
}
