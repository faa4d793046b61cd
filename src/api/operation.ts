import { z } from '@hono/zod-openapi'
import type { Refusal } from '../core/refusal.ts'

/** Every code that an answer can carry, with its status: the whole table of the contract. */
export const statusOfCode = {
  invalid_request: 400,
  invalid_token: 401,
  sign_in_failed: 401,
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

/** A refusal as the description shows it. */
export type RefusalExample = Pick<Refusal, 'message' | 'reason' | 'params' | 'details'>

type Inner = {
  readonly field: string
  readonly namesIn: (said: Readonly<Record<string, unknown>>) => readonly string[] | undefined
}

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
  /** A body with what it needs and no more, to begin with. */
  readonly exampleBody: z.input<Body>
  /** Names for one that stand for a list: `country` for `countries`. They are understood, with a warning. */
  readonly singular: Readonly<Record<string, string>>
  /** Fields that are objects, and the names that each of them knows, where it says enough of itself. */
  readonly inner: readonly Inner[]
  /** Where there is more to read about what a field takes, for its refusals. */
  readonly see: Readonly<Record<string, string>>
  /** What it may refuse with, beyond what every operation may. */
  readonly codes: readonly Code[]
  /** What such a refusal looks like here, where the general example would say too little. */
  readonly refusals: Partial<Record<Code, RefusalExample>>
  /** Media types of a file that it can answer with in place of JSON, as its query asks. */
  readonly files: readonly string[]
  /** Whether it places an order, and so takes an `Idempotency-Key` and has the stricter rate limit. */
  readonly charges: boolean
  /** Whether that order has no price: nobody is too poor for it. */
  readonly isFree: boolean
  /** What lets a caller in: a token or a session, only a session, or nothing at all. */
  readonly access: 'token' | 'session' | 'public'
  /** The least role of an operator who may do it; for what is not an operator's it says nothing. */
  readonly role: 'owner' | 'support' | 'reader'
  /** Whether it only looks: what does not leaves an entry in the audit log when an operator does it. */
  readonly isRead: boolean
  /** Whether it takes something away for good: the docs page offers it no real id, and asks before it sends. */
  readonly isDestructive: boolean
  /** Whether its answer holds what opens something, such as a password or a secret link: no cache may store it. */
  readonly isSecret: boolean
  /** Whether it makes a token, which is in its answer as `token`. */
  readonly isIssuing: boolean
  /** What a token or a session must allow, where the method does not say it. */
  readonly scope?: 'read' | 'pay' | 'trade'
}

/** What a token must allow for an operation. */
export const scopeOf = ({ method, scope }: Pick<Operation, 'method' | 'scope'>) =>
  scope ?? (method === 'GET' ? 'read' : 'trade')

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
    exampleBody: {} as z.input<Body>,
    singular: {},
    inner: [],
    see: {},
    codes: [],
    refusals: {},
    files: [],
    charges: false,
    isFree: false,
    access: 'token',
    role: 'owner',
    isRead: shape.method === 'GET',
    isDestructive: false,
    isSecret: false,
    isIssuing: false,
    ...shape,
  }
}

/** The refusal of every operation. */
export const refusalSchema = z
  .object({
    ok: z.literal(false).openapi({ description: 'Whether it succeeded.' }),
    error: z.object({
      code: z.enum(Object.keys(statusOfCode) as [Code, ...Code[]]).openapi({ description: 'Stable, for programs.' }),
      message: z.string().openapi({
        description: 'For people: what is wrong and what to do, in Russian for `Accept-Language: ru`.',
      }),
      reason: z.string().openapi({ description: 'Stable, for programs: says more exactly than `code` what is wrong.' }),
      params: z.looseObject({}).openapi({ description: 'What the message names: amounts, limits, ids.' }),
      details: z
        .union([
          z.null(),
          z.array(
            z.object({
              field: z.string().openapi({ description: 'The name of the field; a dot leads into a list.' }),
              problem: z.string().openapi({ description: 'What is wrong with it.' }),
              allowed: z
                .array(z.union([z.string(), z.number()]))
                .optional()
                .openapi({ description: 'What would be accepted, where that is a short list.' }),
              see: z.string().optional().openapi({ description: 'Where to read what there is.' }),
            }),
          ),
          z.looseObject({
            charged: z.boolean().optional().openapi({ description: 'Whether money was taken.' }),
          }),
        ])
        .openapi({
          description: 'Null, the faulty fields, or facts about the refusal; `charged` tells about the money.',
        }),
    }),
  })
  .openapi('Refusal')

const warningSchema = z
  .object({
    field: z.string().openapi({ description: 'The name as it was sent.' }),
    problem: z.string().openapi({ description: 'What became of it, with the nearest known name.' }),
  })
  .openapi('Warning')

/** The success of an operation. */
export const successSchema = (answer: z.ZodType) =>
  z.object({
    ok: z.literal(true).openapi({ description: 'Whether it succeeded.' }),
    data: answer,
    warnings: z.array(warningSchema).optional().openapi({
      description: 'What was sent and not known here, or what keeps the thing bought from working; absent if nothing.',
    }),
  })

export type { z }
