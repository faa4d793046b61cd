import type { NodeId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { LostGood, LostItem } from './rules.ts'
import * as store from './store.ts'

type LostDeps = { readonly db: Database; readonly clock: Clock }

/** A node whose secret was stolen fills no more than this. */
const maxLostPerNode = 10_000

/** Keeps what a node served and the books do not know. Returns what was not kept before. */
export const noteLost = async (deps: LostDeps, id: NodeId, items: readonly LostItem[]): Promise<LostItem[]> =>
  items.length === 0
    ? []
    : deps.db.transact(async (tx) => {
        const room = maxLostPerNode - (await store.countLost(tx, id))
        const added: LostItem[] = []
        for (const item of items.slice(0, Math.max(0, room)))
          if (await store.insertLost(tx, id, item, deps.clock())) added.push(item)
        return added
      })

/** What nodes served and the books do not know, reported since a moment, the newest first. */
export const lostGoods = ({ db }: LostDeps, sinceAt: number, limit: number): Promise<LostGood[]> =>
  store.listLost(db, sinceAt, limit)

/** Deletes such reports from before a moment. */
export const forgetLost = ({ db }: LostDeps, beforeAt: number): Promise<number> =>
  db.transact((tx) => store.deleteLost(tx, beforeAt))
