import type { CustomerId } from '../../core/ids.ts'
import { toIso } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { badCursor } from './errors.ts'
import { fitsKey, type HandedOut, type Place, readCursor, toCursor } from './rules.ts'
import * as store from './store.ts'

/** Who it is handed to: the customer himself is not told what operators note of him. */
export type Reading = 'operator' | 'customer'

/** A page of all that is kept about a customer; the next one begins at `next`, and there is none without it. */
export type ExportPage = { readonly items: readonly HandedOut[]; readonly next: string | undefined }

export type Exporting = ReturnType<typeof createExporting>

/** Hands out what is kept about a customer, table after table, a page at a time: nobody has to hold all of it. */
export function createExporting(deps: { readonly db: Database; readonly customers: Pick<Customers, 'load'> }) {
  const { db } = deps

  async function page(customer: CustomerId, to: Reading, cursor: string | undefined, limit: number) {
    await deps.customers.load(customer)
    let place: Place | undefined = cursor === undefined ? { holding: 0, after: [] } : readCursor(cursor)
    const items: HandedOut[] = []
    for (;;) {
      if (!place) throw badCursor()
      const holding = store.holdingAt(place.holding)
      if (!holding) return { items, next: undefined }
      if (!fitsKey(place.after, holding)) throw badCursor()
      const left = limit - items.length
      const isTold = to === 'operator' || holding.forOperators !== 'all'
      const rows = isTold ? await store.rowsAfter(db, holding, customer, place.after, left) : []
      items.push(...rows.map((row) => ({ table: holding.table, row: toRow(row, holding, to) })))
      const last = rows.at(-1)
      place =
        last && rows.length === left
          ? { holding: place.holding, after: holding.key.map((name) => keyOf(last[name])) }
          : { holding: place.holding + 1, after: [] }
      if (items.length >= limit) return { items, next: toCursor(place) }
    }
  }

  return {
    page: (customer: CustomerId, to: Reading, cursor: string | undefined, limit: number): Promise<ExportPage> =>
      page(customer, to, cursor, limit),
  }
}

type Row = Awaited<ReturnType<typeof store.rowsAfter>>[number]
type Holding = NonNullable<ReturnType<typeof store.holdingAt>>

const keyOf = (value: Row[string] | undefined): string | number =>
  typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? value : ''

/** The last moment that a calendar has, in milliseconds. */
const lastMoment = 8.64e15
/** Columns that hold JSON. */
const isJson = new Set(['wish', 'calculation', 'data', 'purchase_wish', 'answer'])

/** Moments as ISO, numbers as numbers, JSON as itself; bytes are secrets or digests, and stay here. */
function toRow(row: Row, holding: Holding, to: Reading): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  const foreign = holding.foreign?.(row) ?? []
  for (const [name, value] of Object.entries(row)) {
    if (holding.hidden?.includes(name) || value instanceof Uint8Array) continue
    if (foreign.includes(name)) continue
    if (to === 'customer' && holding.forOperators?.includes(name)) continue
    shown[name] = toPlain(name, value)
  }
  return shown
}

/** What never ends has a moment that no calendar has. */
const toMoment = (ms: number): string | null => (ms > lastMoment ? null : toIso(ms))

function toPlain(name: string, value: string | bigint | null): unknown {
  if (value === null) return null
  if (typeof value === 'bigint') return /(^|_)at$|^hour$/.test(name) ? toMoment(Number(value)) : Number(value)
  if (!isJson.has(name)) return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}
