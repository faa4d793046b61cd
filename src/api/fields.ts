import { z } from '@hono/zod-openapi'
import { toIso } from '../kernel/time.ts'

/** Roubles with at most two decimals, exact: kopecks inside. */
export const roubles = () => z.number().openapi({ description: 'Roubles, at most two decimals.', example: 8.9 })

export const moment = () =>
  z.string().openapi({ format: 'date-time', description: 'ISO 8601, UTC.', example: toIso(1_760_000_000_000) })

/**
 * A whole number in a query: plain decimal digits and nothing else. `1e1`, `+5`, ` 5`, `5.0` and `0x5` are refused, and
 * so is anything past 2^53.
 */
export function queryInteger(range: { min: number; max: number; example: number; description?: string }) {
  return z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text), 'must be a whole number in plain digits')
    .transform(Number)
    .refine((value) => value >= range.min && value <= range.max, `must be from ${range.min} to ${range.max}`)
    .openapi({
      type: 'integer',
      minimum: range.min,
      maximum: range.max,
      example: range.example,
      ...(range.description && { description: range.description }),
    })
}

/** A whole number in a body. */
export function bodyInteger(range: { min: number; max: number; example: number; description?: string }) {
  return z
    .int(`must be a whole number`)
    .refine((value) => value >= range.min && value <= range.max, `must be from ${range.min} to ${range.max}`)
    .openapi({
      minimum: range.min,
      maximum: range.max,
      example: range.example,
      ...(range.description && { description: range.description }),
    })
}

/** The two fields of every list's query. A cursor is opaque to its reader. */
export const pageQuery = {
  limit: queryInteger({
    min: 1,
    max: 500,
    example: 100,
    description: 'How many to answer with; 100 unless said.',
  }).optional(),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,200}$/, 'must be a next_cursor that a list has answered with')
    .optional()
    .openapi({ description: 'The `next_cursor` of the page before.', example: 'MTAw' }),
}

export const defaultLimit = 100

export const nextCursor = () =>
  z
    .string()
    .nullable()
    .openapi({ description: 'Give it as `cursor` to get the next page; null on the last.', example: null })

/** Texts travel as URL-safe base64, so that a reader is not tempted to make sense of them. */
const toCursor = (position: string): string => Buffer.from(position).toString('base64url')
export const readCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString()

/** A full page may have a next one; a page that is not full is the last. */
export function cursorAfter<Item>(
  items: readonly Item[],
  limit: number,
  position: (item: Item) => string,
): string | null {
  const last = items.at(-1)
  return last && items.length === limit ? toCursor(position(last)) : null
}
