import type { CustomerId } from '../../core/ids.ts'
import { refuseField } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { type ExportedRow, type ExportPosition, fitsKey, readCursor, toCursor } from './rules.ts'
import * as store from './store.ts'
import { type Holding, holdings } from './store-holdings.ts'

/** The recipient: a customer does not see operators' notes. */
type Recipient = 'operator' | 'customer'

/** A page of an export. The next one begins at `next`, if there is one. */
type ExportPage = { readonly items: readonly ExportedRow[]; readonly next: string | undefined }

const badCursor = () => refuseField('cursor', 'cursor')

export type Exporting = ReturnType<typeof createExporting>

/** Exports the rows about a customer, table after table, in pages. */
export function createExporting(deps: { readonly db: Database; readonly customers: Pick<Customers, 'load'> }) {
  return {
    async page(customer: CustomerId, to: Recipient, cursor: string | undefined, limit: number): Promise<ExportPage> {
      await deps.customers.load(customer)
      const start = cursor === undefined ? { holding: 0, after: [] } : readCursor(cursor)
      if (!start) throw badCursor()
      let position: ExportPosition = start
      const items: ExportedRow[] = []
      for (;;) {
        const holding = holdings[position.holding]
        if (!holding) return { items, next: undefined }
        if (!fitsKey(position.after, holding)) throw badCursor()
        const left = limit - items.length
        const isShown = to === 'operator' || holding.forOperators !== 'all'
        const rows = isShown ? await store.rowsAfter(deps.db, holding, customer, position.after, left) : []
        items.push(...rows.map((row) => ({ table: holding.table, row: toRow(row, holding, to) })))
        const last = rows.at(-1)
        position =
          last && rows.length === left
            ? { holding: position.holding, after: holding.key.map((name) => keyOf(last[name])) }
            : { holding: position.holding + 1, after: [] }
        if (items.length >= limit) return { items, next: toCursor(position) }
      }
    },
  }
}

type Row = Awaited<ReturnType<typeof store.rowsAfter>>[number]

const keyOf = (value: Row[string] | undefined): string | number =>
  typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? value : ''

/** The last moment of `Date`, in milliseconds. */
const maxMoment = 8.64e15
/** Columns that hold JSON. */
const isJson = new Set(['input', 'calculation', 'data', 'purchase_input', 'answer'])

/** Moments become ISO texts, JSON is parsed; bytes are secrets or digests and are left out. */
function toRow(row: Row, holding: Holding, to: Recipient): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  const foreign = holding.foreign?.(row) ?? []
  for (const [name, value] of Object.entries(row)) {
    if (holding.hidden?.includes(name) || foreign.includes(name) || value instanceof Uint8Array) continue
    if (to === 'customer' && holding.forOperators?.includes(name)) continue
    shown[name] = toPlain(name, value)
  }
  return shown
}

/** A term without an end has a moment past the calendar. */
const toMoment = (ms: number): string | null => (ms > maxMoment ? null : toIso(ms))

function toPlain(name: string, value: string | bigint | null): unknown {
  if (value === null) return null
  if (typeof value === 'bigint') return /(^|_)at$|^hour$/.test(name) ? toMoment(Number(value)) : Number(value)
  if (!isJson.has(name)) return value
  try {
    const parsed: unknown = JSON.parse(value)
    return parsed
  } catch {
    return value
  }
}
