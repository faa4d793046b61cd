import { z } from '@hono/zod-openapi'
import { type ProblemArguments, problem } from '../core/messages/problems.ts'
import { type Kopecks, readRoubles } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { toIso } from '../core/time.ts'
import {
  bytesOf,
  isMetadataKey,
  isMetadataValue,
  type Metadata,
  type MetadataChange,
  maxBytesFor,
  maxMetadataKey,
  maxMetadataKeys,
  maxMetadataValue,
  noMetadata,
} from '../domains/metadata/rules.ts'

/** An instant that examples are made of: what the description shows is the same on every day. */
export const exampleAt = 1_760_000_000_000
export const exampleOrder = 'ord_01k73sf8000000000000000000'
export const examplePayment = 'pay_01k73sf8000000000000000000'

/** Roubles with at most two decimals, exact: kopecks inside. */
export const roubles = (what: string, example = 8.9) =>
  z.number().openapi({ description: `${what} In roubles, with at most two decimals.`, example })

export const balanceAfter = () => roubles('Your balance afterwards.', 99_829)

export const orderId = () => text("The order's id, as in `GET /orders`.", exampleOrder)

const shown = <Example>(description: string, example: Example | undefined) => ({
  description,
  ...(example !== undefined && { example }),
})

export const text = (description: string, example?: string) => z.string().openapi(shown(description, example))

export const whole = (description: string, example?: number) => z.int().openapi(shown(description, example))

/** A sum for an answer. One that is no exact JSON number is answered as the nearest that is. */
export function toWhole(sum: bigint): number {
  const max = BigInt(Number.MAX_SAFE_INTEGER)
  return Number(sum > max ? max : sum < -max ? -max : sum)
}

export const flag = (description: string, example?: boolean) => z.boolean().openapi(shown(description, example))

export const choice = <const Values extends readonly string[]>(
  description: string,
  values: Values,
  example?: Values[number],
) => z.enum(values).openapi(shown(description, example))

export const given = (description: string, max: number, example?: string) =>
  z.string().max(max).openapi(shown(description, example))

/** A text in a request that must match a pattern or pass a check. */
export function checked(
  description: string,
  check: RegExp | ((text: string) => boolean),
  problemOf: ProblemArguments,
  example?: string,
) {
  const message = problem(...problemOf)
  const schema = check instanceof RegExp ? z.string().regex(check, message) : z.string().refine(check, message)
  return schema.openapi(shown(description, example))
}

export const part = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).openapi({ description })

/** An object that is a component of the description. */
export const named = <Shape extends z.ZodRawShape>(name: string, shape: Shape) => z.object(shape).openapi(name)

/** An object in an answer whose fields are not described, because they differ from case to case. */
export const facts = (description: string, example?: Readonly<Record<string, unknown>>) =>
  z.looseObject({}).openapi({ type: 'object', description, ...(example && { example }) })

export const list = <Item extends z.ZodType>(description: string, item: Item) => z.array(item).openapi({ description })

export const rows = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  list(description, z.object(shape))

/** An answer that is one list of objects. */
export const items = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object({ items: rows(description, shape) })

export const moment = (what: string) =>
  z.string().openapi({ format: 'date-time', description: `${what} ISO 8601, UTC.`, example: toIso(exampleAt) })

export const isoOrNull = (at: number | null): string | null => (at === null ? null : toIso(at))

type Range = { readonly min: number; readonly max: number; readonly example: number; readonly description?: string }

const describedRange = ({ min, max, ...shownAs }: Range) => ({ minimum: min, maximum: max, ...shownAs })

const outOf = ({ min, max }: Range): string => problem('between', { from: min, to: max })

/** A whole number in a query, in plain decimal digits: `1e1`, `+5`, ` 5`, `5.0` and `0x5` are refused. */
const digits = () =>
  z
    .string()
    .refine((written) => /^\d{1,16}$/.test(written), problem('plain_digits'))
    .transform(Number)

const isWithin = (range: Range) => (value: number) => value >= range.min && value <= range.max

export const queryInteger = (range: Range) =>
  digits()
    .refine(isWithin(range), outOf(range))
    .openapi({ type: 'integer', ...describedRange(range) })

/** Numbers in bodies are JSON numbers: one rule for all of them, so `"30"` is refused everywhere. */
export const bodyInteger = (range: Range) =>
  z.int().refine(isWithin(range), outOf(range)).openapi(describedRange(range))

export const bodyOneOf = <const Values extends readonly number[]>(values: Values, described: object) =>
  z
    .int()
    .pipe(z.literal(values))
    .openapi({ type: 'integer', enum: values as never, ...described })

export const queryTerm = (range: Range) => digits().openapi({ type: 'integer', ...describedRange(range) })
export const bodyTerm = (range: Range) => z.int().openapi(describedRange(range))

/**
 * Fields with a `period`. The price list refuses a term that it does not sell, whatever the number, and lists those
 * that it sells. Beside other faulty fields the range refuses it, so that one answer names them all (`withTerms`).
 */
export const withTerm = <Shape extends z.ZodRawShape>(range: Range, shape: Shape) =>
  z.object(shape).refine(
    (of) => {
      const { period } = of as { readonly period?: unknown }
      return typeof period !== 'number' || isWithin(range)(period)
    },
    {
      path: ['period'],
      error: outOf(range),
      when: ({ issues, value }) => issues.length > 0 && typeof value === 'object' && value !== null,
    },
  )

/** An amount in a request, in kopecks. `0.29` is exact, and a third decimal is refused and not rounded. */
export function readAmount(value: string | number, context: z.RefinementCtx): Kopecks {
  const amount = readRoubles(String(value))
  if (amount !== undefined && amount > 0n) return amount
  context.addIssue({ code: 'custom', message: problem('roubles') })
  return z.NEVER
}

const metadataKey = () => z.string().refine(isMetadataKey).openapi({ maxLength: maxMetadataKey })
const metadataValue = () =>
  z
    .string()
    .refine(isMetadataValue, problem('printable', { from: 0, to: maxMetadataValue }))
    .openapi({ maxLength: maxMetadataValue })
const hasFewKeys = (pairs: object): boolean => Object.keys(pairs).length <= maxMetadataKeys
const tooManyKeys = problem('max_items', { max: maxMetadataKeys })
/** Refuses pairs that a request copies to so many things, if they are too large. */
export function checkCopies(context: z.RefinementCtx, pairs: MetadataChange, things: number, path: string[] = []) {
  const max = maxBytesFor(things)
  if (bytesOf(pairs) <= max) return
  context.addIssue({ code: 'custom', path, message: problem('max_json_bytes', { max, things }) })
}
const metadataLimits =
  'Up to 20 keys of 40 characters, values of 500, no control characters; as JSON 262144 bytes, divided by the number ' +
  'of proxies and one. Part of the request for `Idempotency-Key`.'
const exampleMetadata: Metadata = { client: '4711' }

/** A customer's own pairs in a request that creates something. */
export const newMetadata = (description: string) =>
  z
    .record(metadataKey(), metadataValue())
    .refine(hasFewKeys, tooManyKeys)
    .transform((pairs): Metadata => pairs)
    .optional()
    .openapi({
      type: 'object',
      maxProperties: maxMetadataKeys,
      additionalProperties: { type: 'string', maxLength: maxMetadataValue },
      description: `${description} ${metadataLimits}`,
      example: exampleMetadata,
    })

export const metadataChange = () =>
  z
    .record(metadataKey(), metadataValue().nullable())
    .refine(hasFewKeys, tooManyKeys)
    .transform((pairs): MetadataChange => pairs)
    .openapi({
      type: 'object',
      maxProperties: maxMetadataKeys,
      additionalProperties: { type: ['string', 'null'], maxLength: maxMetadataValue },
      description: 'Pairs to set; null removes a key, and keys that are left out stay.',
      example: exampleMetadata,
    })

export const shownMetadata = () =>
  z
    .record(z.string(), z.string())
    .openapi({ description: 'Your own keys and values, as set by `POST /metadata`.', example: exampleMetadata })

/** `?metadata[KEY]=VALUE`. */
export const soughtMetadata = () =>
  z
    .record(metadataKey(), metadataValue())
    .refine(hasFewKeys, tooManyKeys)
    .transform((pairs): Metadata => pairs)
    .default(noMetadata)
    .openapi({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Only those with all of these pairs: `?metadata[client]=4711`.',
      example: exampleMetadata,
      param: { style: 'deepObject', explode: true },
    })

/** What every purchase takes: the highest price, and the customer's own pairs. */
export const purchaseOptions = {
  max_price_rub: z
    .number()
    // The largest balance.
    .max(10_000_000_000_000)
    .transform(readAmount)
    .optional()
    .openapi({
      type: 'number',
      description:
        'Highest price that you accept, in roubles: `price_rub` of a quote. A higher price is refused with 409 and ' +
        '`reason` `price_changed`, and nothing is charged. Default: the current price, whatever it is. It does not ' +
        'count for `Idempotency-Key`: a repeat with another limit gets the first answer.',
      example: 1800,
    }),
  metadata: newMetadata(
    'Your own keys and values for the order, and for the proxies or the subscription that it creates.',
  ),
}

/** Part of every quote. Price lists come into force when the operator applies them, so no quote holds a price. */
export const validUntil = () =>
  z.null().openapi({
    description:
      'Until when the price holds. Null: it does not hold and may change at any time. Send it as `max_price_rub` to ' +
      'pay no more.',
    example: null,
  })

/** The refusal of an operation whose answer is useless without a password, a key or a secret link. */
export const passwordsRefused = {
  forbidden: new Refusal('passwords_scope_missing', {}, { needed: 'passwords', charged: false }),
}
