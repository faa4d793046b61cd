import { z } from '@hono/zod-openapi'

/** Every code that an answer can carry, with its status: the whole table of the contract. */
export const statusOfCode = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_funds: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  out_of_stock: 409,
  request_in_progress: 409,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal_error: 500,
  provider_error: 502,
  unavailable: 503,
} as const

export type Code = keyof typeof statusOfCode

/** The parts of a request, each an object's schema. What it does not name is ignored. */
type Fields = z.ZodObject<z.ZodRawShape>

/** One operation of the API: its shape and its words. What it does is bound to it in `api/`. */
export type Operation<
  Params extends Fields = Fields,
  Query extends Fields = Fields,
  Body extends Fields = Fields,
  Answer extends z.ZodType = z.ZodType,
> = {
  readonly id: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
  readonly example: z.input<Answer>
  /** What it may refuse with, beyond what every operation may. */
  readonly codes: readonly Code[]
  /** Whether it takes money, and so an `Idempotency-Key` and the stricter rate limit. */
  readonly charges: boolean
}

const noFields = z.object({})
type NoFields = typeof noFields

/** Fills in what most operations do without. */
export function operation<
  Answer extends z.ZodType,
  Params extends Fields = NoFields,
  Query extends Fields = NoFields,
  Body extends Fields = NoFields,
>(
  shape: Pick<
    Operation<Params, Query, Body, Answer>,
    'id' | 'method' | 'path' | 'tag' | 'summary' | 'answer' | 'example'
  > &
    Partial<Operation<Params, Query, Body, Answer>>,
): Operation<Params, Query, Body, Answer> {
  return {
    params: noFields as unknown as Params,
    query: noFields as unknown as Query,
    body: noFields as unknown as Body,
    codes: [],
    charges: false,
    ...shape,
  }
}

/** The refusal of every operation. */
export const refusalSchema = z
  .object({
    ok: z.literal(false),
    error: z.object({
      code: z.enum(Object.keys(statusOfCode) as [Code, ...Code[]]).openapi({ description: 'Stable, for programs.' }),
      message: z.string().openapi({ description: 'For people: what is wrong and what to do.' }),
      details: z
        .union([
          z.null(),
          z.array(
            z.object({
              field: z.string(),
              problem: z.string(),
              allowed: z.array(z.union([z.string(), z.number()])).optional(),
            }),
          ),
          z.looseObject({ charged: z.boolean().optional() }),
        ])
        .openapi({
          description: 'Null, the faulty fields, or facts about the refusal; `charged` tells about the money.',
        }),
    }),
  })
  .openapi('Refusal')

/** The success of an operation. */
export const successSchema = (answer: z.ZodType) => z.object({ ok: z.literal(true), data: answer })

export type { z }
