import { readAddress } from '../../../core/address.ts'
import { type ExitId, makeId } from '../../../core/ids.ts'
import { zero } from '../../../core/money.ts'
import { malformed, Refusal, refuseField } from '../../../core/refusal.ts'
import { runningBefore } from '../../../core/stall-monitor.ts'
import { createTtlCache, type TtlCache } from '../../../core/ttl-cache.ts'
import { ConstraintViolation, type Reader, type Tx } from '../../../db/transaction.ts'
import { type PremiumDeps, unknownPool } from '../deps.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

const dayMs = 86_400_000

type ServingExits = Map<string, rules.LocatedExit[]>

export type ExitDeps = PremiumDeps & { readonly serving: TtlCache<'all', ServingExits> }

/** Caches the exits that serve, by pool, for one second: a drained exit is offered for at most this long. */
export function cacheServing(deps: PremiumDeps): ExitDeps['serving'] {
  const load = async (): Promise<ServingExits> => {
    const serving = await store.listServing(deps.db, runningBefore(deps, rules.reportLastsMs), await isProduction(deps))
    return Map.groupBy(serving.map(rules.locate), ({ exit }) => exit.pool)
  }
  return createTtlCache({ load, clock: deps.clock, ttlMs: 1000, maxEntries: 1 })
}

/** A shop in production offers exits that a gateway has reported up; a sandbox also those without a report. */
const isProduction = async ({ customers }: PremiumDeps): Promise<boolean> => (await customers.mode()) === 'production'

async function assertSold({ pricing }: PremiumDeps, pool: string): Promise<void> {
  const known = [...(await pricing.current()).premium.pools.keys()]
  if (!known.includes(pool)) throw unknownPool(known)
}

async function fittingOrNone(deps: ExitDeps, pool: string, within: rules.WantedLocations) {
  const read = deps.serving.get('all')
  await assertSold(deps, pool)
  const outcome = rules.narrow((await read).get(pool) ?? [], within)
  if ('problem' in outcome) throw malformed([outcome.problem])
  return outcome.exits
}

/** The exits of a pool that fit. Refuses with the part that no exit fits. */
export async function fitting(deps: ExitDeps, pool: string, within: rules.WantedLocations) {
  const exits = await fittingOrNone(deps, pool, within)
  if (exits.length === 0) throw refuseField('pool_type', 'pool_without_exits')
  return exits
}

/** Whether an exit serves a pool now, so that its traffic can be sold. A sandbox sells without a gateway. */
export async function isServed(deps: ExitDeps, pool: string): Promise<boolean> {
  return !(await isProduction(deps)) || ((await deps.serving.get('all')).get(pool)?.length ?? 0) > 0
}

/** The places of one kind with their number of exits, among the exits that fit `within`. */
export async function locations(deps: ExitDeps, pool: string, part: rules.LocationPart, within: rules.WantedLocations) {
  return rules.countLocations(await fittingOrNone(deps, pool, within), part)
}

/** Adds exits in the caller's transaction, with sealed credentials. */
export function add(deps: ExitDeps, tx: Tx, added: readonly rules.NewExit[]): rules.Exit[] {
  const nowMs = deps.clock()
  deps.serving.clear()
  const made = added.map(({ credentials, ...fields }) => {
    const exit: rules.Exit = {
      ...fields,
      node: fields.node ?? null,
      offers: fields.offers ?? null,
      id: makeId('exit', nowMs, deps.random),
      drainedAt: null,
      createdAt: nowMs,
      changedAt: nowMs,
    }
    return { exit, credentials: credentials && deps.vault.seal(JSON.stringify(credentials), rules.contextOf(exit.id)) }
  })
  store.insertExits(tx, made)
  return made.map((each) => each.exit)
}

/** Adds one exit to a pool of the catalogue. */
export async function addOne(deps: ExitDeps, newExit: rules.NewExit): Promise<rules.Exit> {
  await assertSold(deps, newExit.pool)
  const [exit] = await refusingStock(() =>
    deps.db.transact(async (tx) => {
      const address = newExit.kind === 'local' ? readAddress(newExit.host) : undefined
      const block = address && (await deps.stock.blockAround(tx, address))
      if (block !== undefined) throw new Refusal('address_in_block', { block })
      const added = add(deps, tx, [newExit])
      if (newExit.node) await deps.fleet.lockPresent(tx, newExit.node)
      return added
    }),
  )
  if (!exit) throw new Error('an exit was not added')
  return exit
}

/** Every pool that is sold or has exits: its lowest price, and its number of exits. */
export async function overview(deps: ExitDeps) {
  const { pools } = (await deps.pricing.current()).premium
  const counted = await store.countByPool(deps.db, runningBefore(deps, rules.reportLastsMs))
  const counts = new Map(counted.map((each) => [each.pool, each]))
  return [...new Set([...pools.keys(), ...counts.keys()])].map((pool) => ({
    pool,
    isSold: pools.has(pool),
    fromPerGigabyte: pools.get(pool)?.tiers.at(-1)?.perGigabyte ?? zero,
    expiresDays: pools.get(pool)?.expiresDays ?? null,
    exits: counts.get(pool)?.exits ?? 0,
    serving: counts.get(pool)?.serving ?? 0,
  }))
}

/**
 * Stores a gateway's reports on exits, dated by the shop's clock. Reports on unknown exits are dropped. A local exit
 * without a gateway is bound to the first gateway that reports it up, because that machine has the address.
 */
export async function takeReports(
  deps: ExitDeps,
  node: string,
  reported: readonly Omit<rules.ExitStatusReport, 'node' | 'reportedAt'>[],
): Promise<void> {
  const sorted = await latestOfKnown(deps.db, reported)
  if (sorted.length === 0) return
  const nowMs = deps.clock()
  const dated = sorted.map((each) => ({ ...each, node, sinceAt: Math.min(each.sinceAt, nowMs), reportedAt: nowMs }))
  const up = sorted.filter((each) => each.isUp).map((each) => each.exit)
  const unbound = (await store.unboundLocals(deps.db, up)).filter(rules.isOfOneMachine).map((each) => each.id)
  await deps.db.transact(async (tx) => {
    store.writeReports(tx, dated)
    store.bindExits(tx, unbound, node, nowMs)
  })
  if (unbound.length > 0) deps.serving.clear()
}

/** The last item of each known exit, sorted, so that two reports lock rows in the same order. */
async function latestOfKnown<Item extends { readonly exit: string }>(reader: Reader, items: readonly Item[]) {
  const latest = new Map(items.map((each) => [each.exit, each]))
  const known = await store.knownAmong(reader, [...latest.keys()])
  return [...latest.values()].filter(({ exit }) => known.has(exit)).toSorted((a, b) => (a.exit < b.exit ? -1 : 1))
}

/** Takes a boot's cumulative counts of exits. The increase goes to the day on which it is reported. */
export async function takeCounts(
  { db, clock }: ExitDeps,
  node: string,
  boot: string,
  counts: readonly store.ExitBytes[],
): Promise<void> {
  const latest = await latestOfKnown(db, counts)
  if (latest.length === 0) return
  const ids = latest.map((each) => each.exit)
  await db.transact(async (tx) => {
    const day = Math.floor(clock() / dayMs) * dayMs
    const byExit = (rows: readonly store.ExitBytes[]) => new Map(rows.map((each) => [each.exit, each]))
    const before = byExit(await store.lockCounts(tx, node, boot, ids))
    const today = byExit(await store.lockDay(tx, day, ids))
    const added = latest.map((each) => increaseOf(each, before.get(each.exit), today.get(each.exit)))
    const grown = added.filter((each) => each.received + each.sent > 0n)
    if (grown.length === 0) return
    const raised = grown.map(({ exit, received, sent }) => ({
      exit,
      received: (before.get(exit)?.received ?? 0n) + received,
      sent: (before.get(exit)?.sent ?? 0n) + sent,
    }))
    store.raiseCounts(tx, node, boot, raised)
    store.addToDay(tx, day, grown)
  })
}

/** 208 Gbit/s for a day, in each direction. More is not counted, so that no gateway makes a sum overflow. */
const maxInDay = 2n ** 51n

function increaseOf(
  now: store.ExitBytes,
  before: store.ExitBytes | undefined,
  today: store.ExitBytes | undefined,
): store.ExitBytes {
  const increase = (way: 'received' | 'sent'): bigint => {
    const [added, room] = [now[way] - (before?.[way] ?? 0n), maxInDay - (today?.[way] ?? 0n)]
    const counted = added < room ? added : room
    return counted > 0n ? counted : 0n
  }
  return { exit: now.exit, received: increase('received'), sent: increase('sent') }
}

/** Compares, day by day, the bytes that went through an exit with the supplier's counts. */
export async function compare(
  { db }: ExitDeps,
  id: ExitId,
  of: Readonly<{ from: number; to: number; total: bigint; byDay: ReadonlyMap<number, bigint> }>,
) {
  if (!(await store.knownAmong(db, [id])).has(id)) throw new Refusal('exit_not_found')
  const days = new Map((await store.listDays(db, id, of.from, of.to)).map((each) => [each.day, each]))
  const rows = [...new Set([...days.keys(), ...of.byDay.keys()])]
    .toSorted((a, b) => a - b)
    .map((day) => {
      const { received = 0n, sent = 0n } = days.get(day) ?? {}
      return { day, relayed: received + sent, supplied: of.byDay.get(day) ?? null }
    })
  const relayed = rows.reduce((sum, row) => sum + row.relayed, 0n)
  const difference = of.total - relayed
  const percent = relayed === 0n ? null : Number((difference * 10_000n) / relayed) / 100
  return { rows, relayed, supplied: of.total, difference, percent }
}

/** Takes an exit out of service, or puts it back. Nodes read it with their next poll. */
export const drain = (deps: ExitDeps, id: ExitId, drained: boolean): Promise<void> =>
  refusingStock(() =>
    deps.db.transact(async (tx) => {
      const nowMs = deps.clock()
      if (!(await store.setDrained(tx, id, drained ? nowMs : null, nowMs))) throw new Refusal('exit_not_found')
      deps.serving.clear()
    }),
  )

/** Gives an exit to a gateway, or to every gateway. Nodes read it with their next poll. */
export const assign = (deps: ExitDeps, id: ExitId, node: string | null): Promise<void> =>
  deps.db.transact(async (tx) => {
    const exit = await store.lockExit(tx, id)
    if (!exit) throw new Refusal('exit_not_found')
    // Every gateway can log in at a supplier, so a template has no gateway of its own.
    if (exit.offers !== null && node !== null) throw refuseField('node', 'not_with_template')
    store.setNode(tx, id, node, deps.clock())
    if (node !== null) await deps.fleet.lockPresent(tx, node)
    deps.serving.clear()
  })

/** Hides a drained exit for good. Its row stays, so that the bytes through it still add up. */
export const remove = (deps: ExitDeps, id: ExitId): Promise<void> =>
  deps.db.transact(async (tx) => {
    const exit = await store.lockExit(tx, id)
    if (!exit) throw new Refusal('exit_not_found')
    if (exit.drainedAt === null) throw new Refusal('exit_in_service', { id })
    store.setRemoved(tx, id, deps.clock())
  })

/** Refuses to remove a gateway while exits belong to it. */
export async function assertNoExits(deps: ExitDeps, node: string, reader: Reader = deps.db): Promise<void> {
  const count = await store.countOfNode(reader, node)
  if (count > 0) throw new Refusal('node_has_exits', { count })
}

/** Exits that changed after a position, with credentials in plain text, because gateways log in with them. */
export async function changed(
  { db, vault }: ExitDeps,
  after: { changedAt: number; id: string },
  limit: number,
  servingOnly: boolean,
) {
  const rows = await store.changedAfter(db, after, limit, servingOnly)
  return rows.map(({ exit, credentials }) => ({
    ...exit,
    slugs: rules.locate(exit).slugs,
    credentials: credentials && rules.readCredentials(vault.open(credentials, rules.contextOf(exit.id))),
  }))
}

/** A database constraint keeps an address from being both in stock and an exit. */
async function refusingStock<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ConstraintViolation ? new Refusal('address_in_stock') : error
  }
}
