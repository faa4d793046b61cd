import type { NodeId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { LostGood, LostItem } from './rules.ts'
import * as store from './store.ts'

type LostDeps = { readonly db: Database; readonly clock: Clock }

/** A node lists no more in one life of the database: it may lie, and its secret may be stolen. */
const maxLostInLife = 2000

/** Whether a node may still list what it lost with the change to this life. */
export const mayListLost = async ({ db }: LostDeps, id: NodeId, life: number): Promise<boolean> =>
  (await store.findLostLife(db, id)) === life

/**
 * Keeps what a node served and the books do not know, once in each life of the database: `isLast` ends its list.
 * Returns what was not kept before, and how many were.
 */
export const noteLost = (
  deps: LostDeps,
  id: NodeId,
  life: number,
  items: readonly LostItem[],
  isLast: boolean,
): Promise<{ readonly added: readonly LostItem[]; readonly before: number }> =>
  deps.db.transact(async (tx) => {
    const added: LostItem[] = []
    if ((await store.lockLostLife(tx, id)) !== life) return { added, before: 0 }
    const before = await store.countLost(tx, id, life)
    for (const item of items.slice(0, Math.max(0, maxLostInLife - before)))
      if (await store.insertLost(tx, id, life, item, deps.clock())) added.push(item)
    if (isLast || before + added.length >= maxLostInLife) store.endLostLife(tx, id)
    return { added, before }
  })

/**
 * What nodes served and the books do not know, reported since a moment and not yet seen by an operator: the newest
 * first, so many of each node.
 */
export const lostGoods = (
  { db }: LostDeps,
  sinceAt: number,
  limit: number,
  perNode: number = limit,
): Promise<LostGood[]> => store.listLost(db, sinceAt, limit, perNode)

export const countLostGoods = ({ db }: LostDeps, sinceAt: number): Promise<number> => store.countAllLost(db, sinceAt)

/** An operator has seen the list, and `doctor` names these goods no longer. Returns how many reports there were. */
export const seeLostGoods = ({ db, clock }: LostDeps): Promise<number> =>
  db.transact((tx) => store.markLostSeen(tx, clock()))

/** Deletes such reports from before a moment. */
export const forgetLost = ({ db }: LostDeps, beforeAt: number): Promise<number> =>
  db.transact((tx) => store.deleteLost(tx, beforeAt))
