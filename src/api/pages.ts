import { z } from '@hono/zod-openapi'
import { refuseField } from '../core/refusal.ts'
import { checked, queryInteger, text } from './fields.ts'

/** Items of a page whose request does not say how many. */
export const usualLimit = 100

/** The two fields of every list's query. A cursor is opaque to its reader. */
export const pageQuery = {
  limit: queryInteger({ min: 1, max: 500, example: 100, description: 'Largest number of items in the answer.' })
    .default(usualLimit)
    .openapi({ default: usualLimit }),
  cursor: checked('`next_cursor` of the previous page.', /^[A-Za-z0-9_-]{1,200}$/, ['cursor'], 'MTAw').optional(),
}

/** The same for an export, whose cursor may hold a long name. */
export const exportQuery = {
  ...pageQuery,
  cursor: checked('`next_cursor` of the previous page.', /^[A-Za-z0-9_-]{1,2000}$/, ['cursor'], 'WzAsMV0').optional(),
}

export const exportedRow = () =>
  z.object({
    table: text('Kind of the record.', 'proxies'),
    row: z.record(z.string(), z.unknown()).openapi({ description: 'The record.', example: { id: 7 } }),
  })

const nextCursor = () =>
  z
    .string()
    .nullable()
    .openapi({ description: 'Value of `cursor` for the next page; null on the last page.', example: null })

export const page = <Shape extends z.ZodRawShape>(shape: Shape) => z.object({ ...shape, next_cursor: nextCursor() })

/** The position in a list that a cursor holds; undefined for the first page. */
export function positionOf<Position>(
  cursor: string | undefined,
  read: (text: string) => Position | undefined,
): Position | undefined {
  if (cursor === undefined) return undefined
  const position = read(Buffer.from(cursor, 'base64url').toString())
  if (position === undefined) throw refuseField('cursor', 'cursor')
  return position
}

/** A position that is a number from 1 on. */
export const readNumber = (written: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(written) ? Number(written) : undefined

/** URL-safe base64: a cursor is opaque to clients. */
export const toCursor = (position: string): string => Buffer.from(position).toString('base64url')

/** How many rows to query: one more than a page holds shows whether there is a next page. */
export const soughtFor = (limit: number): number => limit + 1

/** Rows that are read, or written, in one turn of the event loop. */
export const sliceRows = 50

/** Reads the rows of a long page in slices. `read` gets the last row so far, and how many more to read. */
export async function readInSlices<Row>(
  limit: number,
  read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>,
  nextSlice: () => Promise<void>,
): Promise<Row[]> {
  const found: Row[] = []
  while (found.length < limit) {
    if (found.length > 0) await nextSlice()
    const size = Math.min(sliceRows, limit - found.length)
    const slice = await read(found.at(-1), size)
    found.push(...slice)
    if (slice.length < size) break
  }
  return found
}

/** A page of the rows found with `soughtFor`, and the cursor of the next page, if any: the `key` of the last row. */
export function pageOf<Key extends string, Row extends Readonly<Record<Key, string | number>>, Item>(
  found: readonly Row[],
  limit: number,
  key: Key,
  toItem: (row: Row) => Item,
): { readonly items: Item[]; readonly next_cursor: string | null } {
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const isMore = last !== undefined && found.length > limit
  return { items: shown.map(toItem), next_cursor: isMore ? toCursor(String(last[key])) : null }
}

export const toExport = (exported: {
  readonly items: readonly { readonly table: string; readonly row: Readonly<Record<string, unknown>> }[]
  readonly next: string | undefined
}) => ({
  items: exported.items.map(({ table, row }) => ({ table, row: { ...row } })),
  next_cursor: exported.next === undefined ? null : toCursor(exported.next),
})
