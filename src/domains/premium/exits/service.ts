import { readAddress } from '../../../core/address.ts'
import { type ExitId, makeId, type RandomBytes } from '../../../core/ids.ts'
import { zero } from '../../../core/money.ts'
import { runningBefore, type Stalls } from '../../../core/stall-monitor.ts'
import type { Clock } from '../../../core/time.ts'
import { createTtlCache } from '../../../core/ttl-cache.ts'
import type { Vault } from '../../../core/vault.ts'
import { ConstraintViolation, type Database, type Tx } from '../../../db/transaction.ts'
import type { Customers } from '../../customers/index.ts'
import type { Pricing } from '../../pricing/index.ts'
import type { Stock } from '../../stock/index.ts'
import { badPlace, inBlock, inStock, noSuchExit, unknownPool } from '../errors.ts'
import type { NewExit } from './reading.ts'
import {
  contextOf,
  countPlaces,
  type Exit,
  type ExitWord,
  narrow,
  type Part,
  type PlaceCount,
  type Placed,
  type Places,
  place,
  wordLastsMs,
} from './rules.ts'
import * as store from './store.ts'

/** How long the exits that were read are believed to be all. An exit that is drained serves for this long at most. */
const cacheTtlMs = 1000

const dayMs = 86_400_000

export type Exits = ReturnType<typeof createExits>

/** Where traffic may leave: the operator's exits, as customers choose among them. */
export function createExits(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  random: RandomBytes
  vault: Vault
  pricing: Pricing
  customers: Pick<Customers, 'mode'>
  stock: Pick<Stock, 'blockAround'>
}) {
  const { db, clock } = deps

  /** A shop in production offers what a gateway has tried; a sandbox also what none has tried yet. */
  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) === 'production'

  async function readServing(): Promise<Map<string, Placed[]>> {
    const byPool = new Map<string, Placed[]>()
    for (const exit of await store.listServing(db, runningBefore(deps, wordLastsMs), await isProduction())) {
      const known = byPool.get(exit.pool)
      if (known) known.push(place(exit))
      else byPool.set(exit.pool, [place(exit)])
    }
    return byPool
  }

  const serving = createTtlCache<'all', Map<string, Placed[]>>({
    load: readServing,
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: 1,
  })

  async function ofPool(pool: string): Promise<readonly Placed[]> {
    const read = serving.get('all')
    const known = [...(await deps.pricing.current()).premium.pools.keys()]
    if (!known.includes(pool)) throw unknownPool(known)
    return (await read).get(pool) ?? []
  }

  /** The exits of a pool that fit, or a refusal that names the part which none fits. */
  async function fitting(pool: string, places: Places): Promise<readonly Placed[]> {
    const outcome = narrow(await ofPool(pool), places)
    if ('problem' in outcome) throw badPlace([outcome.problem])
    if (outcome.exits.length === 0) throw badPlace([{ field: 'pool_type', problem: 'has no exits at the moment' }])
    return outcome.exits
  }

  /** Adds exits in the caller's transaction. Credentials are sealed before they are written. */
  function add(tx: Tx, added: readonly NewExit[]): Exit[] {
    const nowMs = clock()
    serving.clear()
    const made = added.map(({ credentials, ...asked }) => {
      const exit: Exit = {
        ...asked,
        node: asked.node ?? null,
        offers: asked.offers ?? null,
        id: makeId('exit', nowMs, deps.random),
        drainedAt: null,
        createdAt: nowMs,
        changedAt: nowMs,
      }
      const sealed = credentials && deps.vault.seal(JSON.stringify(credentials), contextOf(exit.id))
      return { exit, credentials: sealed }
    })
    store.insertExits(tx, made)
    return made.map((each) => each.exit)
  }

  return {
    fitting,

    /** Whether traffic of a pool could be carried now, so that it may be sold. A sandbox sells without a gateway. */
    async isCarried(pool: string): Promise<boolean> {
      return !(await isProduction()) || ((await serving.get('all')).get(pool)?.length ?? 0) > 0
    },

    /** The places of one kind with how many exits each has, among the exits that the given places leave. */
    async places(pool: string, part: Part, within: Places): Promise<PlaceCount[]> {
      const outcome = narrow(await ofPool(pool), within)
      if ('problem' in outcome) throw badPlace([outcome.problem])
      return countPlaces(outcome.exits, part)
    },

    add,

    /** Adds one exit to a pool that the catalogue knows. */
    async addOne(asked: NewExit): Promise<Exit> {
      const known = [...(await deps.pricing.current()).premium.pools.keys()]
      if (!known.includes(asked.pool)) throw unknownPool(known)
      const [exit] = await refusingStock(() =>
        db.transact(async (tx) => {
          const address = asked.kind === 'local' ? readAddress(asked.host) : undefined
          const block = address && (await deps.stock.blockAround(tx, address))
          if (block !== undefined) throw inBlock(block)
          return add(tx, [asked])
        }),
      )
      if (!exit) throw new Error('an exit was not added')
      return exit
    },

    list: (pool: string | undefined, after: string, limit: number): Promise<Exit[]> =>
      store.listExits(db, pool, after, limit),

    /** Every pool that is sold or has exits: what it costs at least, and how many exits serve. */
    async overview() {
      const { pools } = (await deps.pricing.current()).premium
      const counts = new Map(
        (await store.countByPool(db, runningBefore(deps, wordLastsMs))).map((each) => [each.pool, each]),
      )
      return [...new Set([...pools.keys(), ...counts.keys()])].map((pool) => ({
        pool,
        isSold: pools.has(pool),
        fromPerGigabyte: pools.get(pool)?.tiers.at(-1)?.perGigabyte ?? zero,
        expiresDays: pools.get(pool)?.expiresDays ?? null,
        exits: counts.get(pool)?.exits ?? 0,
        serving: counts.get(pool)?.serving ?? 0,
      }))
    },

    /** Whether an address is, or was, an exit of a pool. */
    isLocal: (host: string): Promise<boolean> => store.isLocal(db, host),

    /** What gateways last said of these exits. */
    words: (ids: readonly string[]): Promise<ExitWord[]> => store.listWords(db, ids),

    /**
     * Takes what went through exits, as a gateway's boot has counted it so far: what is new in it goes to the day that
     * it is told on. A report that comes twice, late or out of order adds nothing.
     */
    async takeCounts(node: string, boot: string, told: readonly store.ExitCount[]): Promise<void> {
      if (told.length === 0) return
      const ids = [...new Set(told.map((each) => each.exit))].toSorted()
      const known = await store.knownAmong(db, ids)
      const latest = new Map(told.filter((each) => known.has(each.exit)).map((each) => [each.exit, each]))
      if (latest.size === 0) return
      await db.transact(async (tx) => {
        const day = Math.floor(clock() / dayMs) * dayMs
        const byExit = (rows: readonly store.ExitCount[]) => new Map(rows.map((each) => [each.exit, each]))
        const before = byExit(await store.lockCounts(tx, node, boot, ids))
        const today = byExit(await store.lockDay(tx, day, ids))
        const risen = [...latest.values()]
          .toSorted((a, b) => (a.exit < b.exit ? -1 : 1))
          .map((each) => withinDay(largerOf(each, before.get(each.exit)), today.get(each.exit)))
          .filter(({ now, was }) => now.received + now.sent > was.received + was.sent)
        if (risen.length === 0) return
        store.raiseCounts(
          tx,
          node,
          boot,
          risen.map(({ now }) => now),
        )
        store.addToDay(
          tx,
          day,
          risen.map(({ now, was }) => ({
            exit: now.exit,
            received: now.received - was.received,
            sent: now.sent - was.sent,
          })),
        )
      })
    },

    /** The days of two books beside each other: what went through an exit here, and what its supplier counted. */
    async compare(
      id: ExitId,
      of: {
        readonly from: number
        readonly to: number
        readonly total: bigint
        readonly byDay: ReadonlyMap<number, bigint>
      },
    ) {
      if (!(await store.knownAmong(db, [id])).has(id)) throw noSuchExit()
      const days = new Map((await store.listDays(db, id, of.from, of.to)).map((each) => [each.day, each]))
      const rows = [...new Set([...days.keys(), ...of.byDay.keys()])]
        .toSorted((a, b) => a - b)
        .map((day) => {
          const { received = 0n, sent = 0n } = days.get(day) ?? {}
          return { day, carried: received + sent, supplied: of.byDay.get(day) ?? null }
        })
      const carried = rows.reduce((sum, row) => sum + row.carried, 0n)
      const difference = of.total - carried
      const percent = carried === 0n ? null : Number((difference * 10_000n) / carried) / 100
      return { rows, carried, supplied: of.total, difference, percent }
    },

    /** Takes what a gateway says of exits, dated by this clock. Of exits that are not there nothing is kept. */
    async takeWords(node: string, said: readonly Omit<ExitWord, 'node' | 'saidAt'>[]): Promise<void> {
      if (said.length === 0) return
      const known = await store.knownAmong(
        db,
        said.map((each) => each.exit),
      )
      const nowMs = clock()
      const words = new Map(said.filter((each) => known.has(each.exit)).map((each) => [each.exit, each]))
      if (words.size === 0) return
      await db.transact(async (tx) => {
        const sorted = [...words.values()].toSorted((a, b) => (a.exit < b.exit ? -1 : 1))
        store.writeWords(
          tx,
          sorted.map((each) => ({ ...each, node, sinceAt: Math.min(each.sinceAt, nowMs), saidAt: nowMs })),
        )
      })
    },

    /** Takes an exit out of service, or puts it back. Nodes learn of it with their next look. */
    drain: (id: ExitId, drained: boolean): Promise<void> =>
      refusingStock(() =>
        db.transact(async (tx) => {
          const nowMs = clock()
          if (!(await store.setDrained(tx, id, drained ? nowMs : null, nowMs))) throw noSuchExit()
          serving.clear()
        }),
      ),

    /**
     * What a node needs of the exits that changed after a position; upstream credentials in plain text, because it logs
     * in with them.
     */
    async changed(after: { changedAt: number; id: string }, limit: number, servingOnly: boolean) {
      const rows = await store.changedAfter(db, after, limit, servingOnly)
      return rows.map(({ exit, credentials }) => ({
        ...exit,
        slugs: place(exit).slugs,
        credentials:
          credentials &&
          (JSON.parse(deps.vault.open(credentials, contextOf(exit.id))) as { username: string; password: string }),
      }))
    },
  }
}

function largerOf(now: store.ExitCount, before: store.ExitCount | undefined) {
  const was = before ?? { exit: now.exit, received: 0n, sent: 0n }
  const received = now.received > was.received ? now.received : was.received
  const sent = now.sent > was.sent ? now.sent : was.sent
  return { now: { exit: now.exit, received, sent }, was }
}

/**
 * What 208 Gbit/s carry in a day, in each direction. What gateways claim beyond that of one exit is not counted: a sum
 * that one of them has invented must not outgrow its column, or no other could report.
 */
const mostInDay = 2n ** 51n

function withinDay({ now, was }: ReturnType<typeof largerOf>, today: store.ExitCount | undefined) {
  const capped = (way: 'received' | 'sent'): bigint => {
    const [added, left] = [now[way] - was[way], mostInDay - (today?.[way] ?? 0n)]
    return was[way] + (added < left ? added : left > 0n ? left : 0n)
  }
  return { now: { exit: now.exit, received: capped('received'), sent: capped('sent') }, was }
}

/** An address is sold once: what is in stock is no exit beside that, which the database keeps. */
async function refusingStock<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ConstraintViolation ? inStock() : error
  }
}
