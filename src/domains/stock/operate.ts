import {
  type Address,
  contains,
  formatAddress,
  formatPrefix,
  type Prefix,
  readAddress,
  readPrefix,
} from '../../core/address.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { type AuditDeps, stockWalks } from './audit.ts'
import { scattered, sizeOf } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500
/** Up to this many addresses are looked up one by one; for more, all slots are read. */
const fewAddresses = 4096n

/** Part of a range that is taken off sale, or put back. */
export type ClosedStock = {
  readonly as: 'retired' | 'quarantined'
  readonly undo: boolean
  readonly slots: readonly number[]
  readonly blocks: readonly string[]
}

function isWithin(prefix: Prefix, text: string): boolean {
  const address = readAddress(text)
  return address !== undefined && address.version === prefix.base.version && contains(prefix, address)
}

/** All slots of a prefix, a page at a time. */
async function* slotsWithin(db: Database, prefix: Prefix): AsyncGenerator<readonly store.SlotRecord[]> {
  if (sizeOf(prefix) <= fewAddresses) {
    yield await store.slotsOf(db, [...scattered(prefix)])
    return
  }
  const read = (after: number, limit: number) => store.slotsAfter(db, after, limit)
  const from = { start: -1, size: pageSize, keyOf: (slot: store.SlotRecord) => slot.id }
  for await (const page of keysetPages(read, from)) yield page.filter((slot) => isWithin(prefix, slot.address))
}

/** One page of slots and blocks, in one transaction. Idempotent. */
async function close(tx: Tx, { as, undo, slots, blocks }: ClosedStock, nowMs: number): Promise<void> {
  if (as === 'retired') {
    if (undo) store.restoreSlots(tx, slots)
    else store.retireSlots(tx, slots)
    for (const block of blocks) {
      await (undo ? store.restorePrefix(tx, block) : store.retirePrefix(tx, block, nowMs))
    }
    return
  }
  if (undo) store.endQuarantine(tx, slots)
  else store.setQuarantined(tx, slots, nowMs)
  for (const block of blocks) store.setBlockQuarantined(tx, block, !undo)
}

export type StockOperator = ReturnType<typeof createStockOperator>

/** What an operator does with stock: look, count, take out, put back. */
export function createStockOperator(deps: AuditDeps & { readonly db: Database; readonly clock: Clock }) {
  const { db, clock } = deps

  /** Runs a change that returns how many rows it has found. */
  async function change(work: (tx: Tx) => Promise<number>): Promise<number> {
    const count = await db.transact(work)
    if (count === 0) throw new Refusal('address_not_found')
    return count
  }

  return {
    list: (filter: Parameters<typeof store.listSlots>[1]) => store.listSlots(db, filter),
    counts: () => store.countByState(db),
    blocks: () => store.listPrefixes(db),
    retire: (address: Address) => change((tx) => store.retire(tx, formatAddress(address))),
    restore: (address: Address) => change((tx) => store.restore(tx, formatAddress(address))),
    quarantine: (address: Address, days: number) =>
      change((tx) => store.quarantine(tx, formatAddress(address), clock() + days * 86_400_000)),

    retirePrefix: (prefix: Prefix) => change((tx) => store.retirePrefix(tx, formatPrefix(prefix), clock())),
    restorePrefix: (prefix: Prefix) => change((tx) => store.restorePrefix(tx, formatPrefix(prefix))),

    slotsWithin: (prefix: Prefix) => slotsWithin(db, prefix),

    /** The large blocks of a prefix. A block that is larger than the prefix cannot be closed in part. */
    async blocksWithin(prefix: Prefix): Promise<string[]> {
      const blocks = (await store.listPrefixes(db)).flatMap((each) => readPrefix(each.prefix) ?? [])
      const around = blocks.find((block) => block.length < prefix.length && contains(block, prefix.base))
      if (around) throw new Refusal('address_part_of_block', { block: formatPrefix(around) })
      return blocks.filter((block) => isWithin(prefix, formatAddress(block.base))).map(formatPrefix)
    },

    holdersOf: (slots: readonly number[]) => store.holdersOf(db, slots),

    close: (what: ClosedStock): Promise<void> => db.transact((tx) => close(tx, what, clock())),

    /** The holders of an address between two moments, for an abuse report. */
    holdersBetween: (address: Address, from: number, to: number) =>
      store.holdersBetween(db, formatAddress(address), from, to),

    leasesOfProxies: store.leasesOfProxies,

    /** Every address that a proxy has had, the oldest first. */
    leasesOf: (proxy: number) => store.leasesOf(db, proxy),

    walks: stockWalks.bind(null, deps),
  }
}
