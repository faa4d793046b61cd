import { ConstraintViolation, type Database, type Tx } from '../../../db/transaction.ts'
import { type ExitId, makeId, type RandomBytes } from '../../../kernel/ids.ts'
import { remember } from '../../../kernel/remember.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Vault } from '../../../kernel/vault.ts'
import type { Pricing } from '../../pricing/index.ts'
import { badPlace, inStock, noSuchExit, unknownPool } from '../errors.ts'
import {
  contextOf,
  countPlaces,
  type Exit,
  narrow,
  type Part,
  type PlaceCount,
  type Placed,
  type Places,
  place,
} from './rules.ts'
import * as store from './store.ts'

/** How long the exits that were read are believed to be all. An exit that is drained serves for this long at most. */
const rememberMs = 1000

export type NewExit = Omit<Exit, 'id' | 'drainedAt' | 'createdAt' | 'changedAt'> & {
  readonly credentials: { readonly username: string; readonly password: string } | null
}

export type Exits = ReturnType<typeof createExits>

/** Where traffic may leave: the operator's exits, as customers choose among them. */
export function createExits(deps: { db: Database; clock: Clock; random: RandomBytes; vault: Vault; pricing: Pricing }) {
  const { db, clock } = deps
  async function readServing(): Promise<Map<string, Placed[]>> {
    const byPool = new Map<string, Placed[]>()
    for (const exit of await store.listServing(db)) {
      const known = byPool.get(exit.pool)
      if (known) known.push(place(exit))
      else byPool.set(exit.pool, [place(exit)])
    }
    return byPool
  }

  const serving = remember<'all', Map<string, Placed[]>>({ ask: readServing, clock, forMs: rememberMs, most: 1 })

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
    serving.forget()
    const made = added.map(({ credentials, ...asked }) => {
      const exit: Exit = {
        ...asked,
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
      const [exit] = await refusingStock(() => db.transact(async (tx) => add(tx, [asked])))
      if (!exit) throw new Error('an exit was not added')
      return exit
    },

    list: (pool: string | undefined, after: string, limit: number): Promise<Exit[]> =>
      store.listExits(db, pool, after, limit),

    pools: (): Promise<{ pool: string; exits: number; serving: number }[]> => store.countByPool(db),

    /** Takes an exit out of service, or puts it back. Nodes learn of it with their next look. */
    drain: (id: ExitId, drained: boolean): Promise<void> =>
      refusingStock(() =>
        db.transact(async (tx) => {
          const nowMs = clock()
          if (!(await store.setDrained(tx, id, drained ? nowMs : null, nowMs))) throw noSuchExit()
          serving.forget()
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

/** An address is sold once: what is in stock is no exit beside that, which the database keeps. */
async function refusingStock<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ConstraintViolation ? inStock() : error
  }
}
