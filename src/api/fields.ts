import { z } from '@hono/zod-openapi'
import { malformed, Refusal } from '../core/refusal.ts'
import { toIso } from '../core/time.ts'

/** An instant that examples are made of: what the description shows is the same on every day. */
export const exampleAt = 1_760_000_000_000
export const exampleOrder = 'ord_01k73sf8000000000000000000'
export const examplePayment = 'pay_01k73sf8000000000000000000'

/** Roubles with at most two decimals, exact: kopecks inside. */
export const roubles = (what: string, example = 8.9) =>
  z.number().openapi({ description: `${what} In roubles, with at most two decimals.`, example })

/** What is left of a customer's money after a charge. */
export const balanceAfter = () => roubles('Your balance after it.', 99_829)

export const orderId = () => text("The order's id, as in `GET /orders`.", exampleOrder)

/** Text in an answer. */
export const text = (description: string, example?: string) =>
  z.string().openapi({ description, ...(example !== undefined && { example }) })

/** A whole number in an answer. */
export const whole = (description: string, example?: number) =>
  z.int().openapi({ description, ...(example !== undefined && { example }) })

/** A sum for an answer. One that is no exact JSON number is answered as the nearest that is. */
export function toWhole(sum: bigint): number {
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  return Number(sum > most ? most : sum < -most ? -most : sum)
}

/** A yes or no in an answer. */
export const flag = (description: string) => z.boolean().openapi({ description })

export const moment = (what: string) =>
  z.string().openapi({ format: 'date-time', description: `${what} ISO 8601, UTC.`, example: toIso(exampleAt) })

/** What a whole number may be, and what it means. */
type Range = { readonly min: number; readonly max: number; readonly example: number; readonly description?: string }

const describedRange = ({ min, max, example, description }: Range) => ({
  minimum: min,
  maximum: max,
  example,
  ...(description && { description }),
})

/**
 * A whole number in a query: plain decimal digits and nothing else. `1e1`, `+5`, ` 5`, `5.0` and `0x5` are refused, and
 * so is anything past 2^53.
 */
export function queryInteger(range: Range) {
  return z
    .string()
    .refine((written) => /^\d{1,16}$/.test(written), 'must be a whole number in plain digits')
    .transform(Number)
    .refine((value) => value >= range.min && value <= range.max, `must be from ${range.min} to ${range.max}`)
    .openapi({ type: 'integer', ...describedRange(range) })
}

/** A whole number in a body. */
export function bodyInteger(range: Range) {
  return z
    .int(`must be a whole number`)
    .refine((value) => value >= range.min && value <= range.max, `must be from ${range.min} to ${range.max}`)
    .openapi(describedRange(range))
}

const usualLimit = 100

/** The two fields of every list's query. A cursor is opaque to its reader. */
export const pageQuery = {
  limit: queryInteger({
    min: 1,
    max: 500,
    example: 100,
    description: 'How many to answer with.',
  })
    .default(usualLimit)
    .openapi({ default: usualLimit }),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,200}$/, 'must be a next_cursor that a list has answered with')
    .optional()
    .openapi({ description: 'The `next_cursor` of the page before.', example: 'MTAw' }),
}

/** The same for what is handed out whole: where it goes on may be a long name. */
export const exportQuery = {
  limit: pageQuery.limit,
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,2000}$/, 'must be a next_cursor that this export has answered with')
    .optional()
    .openapi({ description: 'The `next_cursor` of the page before.', example: 'WzAsMV0' }),
}

/** One row of what is handed out, under the name of its table. */
export const handedOut = () =>
  z.object({
    table: text('Which kind of record it is.', 'proxies'),
    row: z.record(z.string(), z.unknown()).openapi({ description: 'The record.', example: { id: 7 } }),
  })

export const nextCursor = () =>
  z
    .string()
    .nullable()
    .openapi({ description: 'Give it as `cursor` to get the next page; null on the last.', example: null })

const notACursor = () =>
  malformed([{ field: 'cursor', problem: 'must be a next_cursor that this list has answered with' }])

/**
 * What a list goes on from, read from a cursor that one of its pages has answered with; undefined for the first page.
 */
export function positionOf<Position>(
  cursor: string | undefined,
  read: (text: string) => Position | undefined,
): Position | undefined {
  if (cursor === undefined) return undefined
  const position = read(Buffer.from(cursor, 'base64url').toString())
  if (position === undefined) throw notACursor()
  return position
}

/** A position that is a number from 1 on. */
export const readNumber = (written: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(written) ? Number(written) : undefined

/** Texts travel as URL-safe base64, so that a reader is not tempted to make sense of them. */
const toCursor = (position: string): string => Buffer.from(position).toString('base64url')

/** How many to look for: one more than a page holds tells whether there is a next one. */
export const soughtFor = (limit: number): number => limit + 1

/** A page of what was found by `soughtFor`, and the cursor of the next one, if there is one. */
export function pageOf<Item>(
  found: readonly Item[],
  limit: number,
  position: (item: Item) => string,
): { readonly items: readonly Item[]; readonly next_cursor: string | null } {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, next_cursor: last && found.length > limit ? toCursor(position(last)) : null }
}

/** A page of what is handed out, with the cursor of the next one. */
export const toExport = (page: {
  readonly items: readonly { readonly table: string; readonly row: Readonly<Record<string, unknown>> }[]
  readonly next: string | undefined
}) => ({
  items: page.items.map(({ table, row }) => ({ table, row: { ...row } })),
  next_cursor: page.next === undefined ? null : toCursor(page.next),
})

/** Of what is of no use without a password, a key or a secret link. */
export const passwordsRefused = {
  forbidden: new Refusal('passwords_scope_missing', {}, { needed: 'passwords', charged: false }),
}
