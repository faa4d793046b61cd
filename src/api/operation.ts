import { getOpenApiMetadata } from '@asteasolutions/zod-to-openapi'
import { z } from '@hono/zod-openapi'
import { type Code, codeOf, kindOfCode, type RefusalKind } from '../core/messages/codes.ts'
import { en } from '../core/messages/en.ts'
import type { Reason } from '../core/messages/sentences.ts'
import type { Refusal } from '../core/refusal.ts'
import { text } from './fields.ts'
import { usualLimit } from './pages.ts'

/** Codes of the node API and of commands, which this API never answers with. */
const otherCodes = [
  'invalid_join_key',
  'usage',
  'vpn_node_lacks',
  'vpn_device_taken',
  'vpn_node_runs',
] as const satisfies readonly Code[]

export type ApiCode = Exclude<Code, (typeof otherCodes)[number]>
const isApiCode = (code: Code): code is ApiCode => !otherCodes.some((each) => each === code)
const apiCodes = (Object.keys(kindOfCode) as Code[]).filter(isApiCode)

/** The reasons of this API's refusals. `here` is a command's own sentence. */
export const apiReasons = (Object.keys(en) as Reason[]).filter((each) => each !== 'here' && isApiCode(codeOf(each)))

/** A part of a request: the schema of an object. Fields that it does not name are ignored. */
type Fields = z.ZodObject<z.ZodRawShape>

export type RefusalExample = Pick<Refusal, 'message' | 'reason' | 'params' | 'details'>

/** One operation of the API: its shape and its texts. The routes of its folder bind it to a function. */
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
  /** A body with the required fields, to begin with. */
  readonly exampleBody: z.input<Body>
  /** Singular names that are read as a list of one, with a warning: `country` for `countries`. */
  readonly singular: Readonly<Record<string, string>>
  /** Fields that are objects, and the names that each of them knows. */
  readonly inner: readonly {
    readonly field: string
    readonly namesIn: (sent: Readonly<Record<string, unknown>>) => readonly string[] | undefined
  }[]
  /** Where a refusal of a field points to: the operation or page that lists its values. */
  readonly see: Readonly<Record<string, string>>
  readonly codes: readonly ApiCode[]
  readonly refusals: Partial<Record<ApiCode, RefusalExample>>
  /** Media types of a file that it answers with in place of JSON, if its query says so. */
  readonly files: readonly string[]
  /** An order, which has the stricter rate limit. The balance never refuses a free one. */
  readonly charges: boolean | 'free'
  /**
   * Whether it creates something without an order: it takes an `Idempotency-Key`, as orders do. In the admin API the
   * binding runs it once under the key.
   */
  readonly creates: boolean
  /** Whether it changes something that nodes receive: waiting nodes read it now, not up to 200 ms later. */
  readonly affectsNodes: boolean
  /** How a caller authenticates: with a token or a session, only with a session, or not at all. */
  readonly access: 'token' | 'session' | 'public'
  /** The lowest role of an operator that may call it; only the admin API uses it. */
  readonly role: 'owner' | 'support' | 'reader'
  /** Read-only; all other operator calls are audited. */
  readonly isRead: boolean
  /** Whether it removes something for good: the docs page offers no real id, and asks before it sends. */
  readonly isDestructive: boolean
  /**
   * Whether its answer holds a secret, such as a password or a secret link: no cache may store it, and a key replays it
   * only to the token that made it and to callers with the scope `passwords`.
   */
  readonly isSecret: boolean
  /** How many rows it reads or changes if its request does not say. */
  readonly maxRows: number
  /** Reads many rows although its answer is short, such as a search: a standby may answer it. */
  readonly isWide: boolean
  /** The answer has sentences in the language that the request prefers. */
  readonly isTranslated: boolean
  /** Whether it makes a token, which is in its answer as `token`. */
  readonly isIssuing: boolean
  /** The scope that a token or a session needs, where the method does not imply it. */
  readonly scope?: 'read' | 'pay' | 'trade'
}

/** Whether a standby may answer: a list, a search or a file. */
export const readsManyRows = ({ method, maxRows, files, isWide }: Operation): boolean =>
  method === 'GET' && (maxRows > 1 || files.length > 0 || isWide)

export const scopeOf = ({ method, scope }: Pick<Operation, 'method' | 'scope'>) =>
  scope ?? (method === 'GET' ? 'read' : 'trade')

/** Whether a repeat under the same `Idempotency-Key` gets the first answer and has no second effect. */
export const takesKey = ({ charges, creates }: Pick<Operation, 'charges' | 'creates'>): boolean =>
  charges !== false || creates

/** Whether a field is described as a whole number. */
export const isWhole = (field: z.core.$ZodType | undefined): boolean =>
  field !== undefined && metadataOf(field).type === 'integer'

const noFields = z.object({})

type Shape<Params extends Fields, Query extends Fields, Body extends Fields, Answer extends z.ZodType> = Partial<
  Omit<Operation<Params, Query, Body, Answer>, 'id' | 'method' | 'path' | 'example' | 'exampleBody'>
> & {
  readonly summary: string
  readonly answer: Answer
  /** Fields whose examples do not fit together here, or that belong into the example although they are optional. */
  readonly example?: Partial<z.input<Answer>>
  readonly exampleBody?: Partial<z.input<Body>>
}

/** Makes operations that have their tag, role and references in common. */
export const operationsOf =
  (common: Pick<Operation, 'tag'> & Partial<Pick<Operation, 'see' | 'role' | 'isWide'>>) =>
  <
    const Id extends string,
    Answer extends z.ZodType,
    Params extends Fields = typeof noFields,
    Query extends Fields = typeof noFields,
    Body extends Fields = typeof noFields,
  >(
    id: Id,
    route: `${Operation['method']} /${string}`,
    { example, exampleBody, ...shape }: Shape<Params, Query, Body, Answer>,
  ): Operation<Params, Query, Body, Answer> & { readonly id: Id } => {
    const [method, path] = route.split(' ') as [Operation['method'], string]
    return {
      id,
      method,
      path,
      params: noFields as never,
      query: noFields as never,
      body: noFields as never,
      singular: {},
      inner: [],
      see: {},
      codes: path.includes('{') ? ['not_found'] : [],
      refusals: {},
      files: [],
      charges: false,
      creates: false,
      affectsNodes: false,
      access: 'token',
      role: 'owner',
      isRead: method === 'GET',
      isDestructive: false,
      isSecret: false,
      isWide: false,
      maxRows: 'limit' in (shape.query?.shape ?? {}) ? usualLimit : 1,
      isTranslated: false,
      isIssuing: false,
      ...common,
      ...shape,
      get example() {
        const derived = exampleOf(shape.answer)
        return example === undefined ? derived : { ...(derived as object), ...example }
      },
      get exampleBody() {
        return { ...(exampleOf(shape.body ?? noFields) as object), ...exampleBody }
      },
    } as Operation<Params, Query, Body, Answer> & { readonly id: Id }
  }

/**
 * A value made of the examples of its fields. Optional fields are left out; of several forms it has the first. Without
 * an example a list is empty and a nullable field null; a nullable moment is null, because most of them never come.
 */
export function exampleOf<Schema extends z.ZodType>(schema: Schema): z.input<Schema> {
  return valueOf(schema) as z.input<Schema>
}

function valueOf(schema: z.core.$ZodType): unknown {
  const { example, format } = metadataOf(schema)
  const def = defOf(schema)
  if (example !== undefined && !(def.type === 'nullable' && format === 'date-time')) return example
  switch (def.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(def.shape)
          .filter(([, field]) => !mayBeAbsent(field))
          .map(([name, field]) => [name, valueOf(field)]),
      )
    case 'array': {
      const isDescribed = hasFields(def.element) || getOpenApiMetadata(def.element as z.ZodType).example !== undefined
      return isDescribed ? [valueOf(def.element)] : []
    }
    case 'nullable':
      return hasFields(def.innerType) ? valueOf(def.innerType) : null
    case 'union':
      return def.options.map(valueOf)[0]
    case 'enum':
      return Object.values(def.entries)[0]
    case 'literal':
      return def.values[0]
    case 'pipe':
      return valueOf(def.in)
    default:
      return valueOfKind[def.type]
  }
}

const metadataOf = (schema: z.core.$ZodType): { readonly [name in 'example' | 'format' | 'type']?: unknown } =>
  getOpenApiMetadata(schema as z.ZodType)

const valueOfKind: Readonly<Record<string, unknown>> = { string: '', boolean: true, number: 0, record: {} }

const defOf = (schema: z.core.$ZodType) => (schema._zod as z.core.$ZodTypes['_zod']).def
const mayBeAbsent = (schema: z.core.$ZodType): boolean =>
  ['optional', 'default', 'prefault'].includes(defOf(schema).type)

function hasFields(schema: z.core.$ZodType): boolean {
  const def = defOf(schema)
  return def.type === 'object' && Object.keys(def.shape).length > 0
}

export const refusalSchema = z
  .object({
    ok: z.literal(false).openapi({ description: 'Whether the request succeeded.' }),
    error: z.object({
      code: z.enum(apiCodes as [ApiCode, ...ApiCode[]]).openapi({ description: 'Stable error code, for programs.' }),
      message: text('Message for people: the problem and what to do. In Russian for `Accept-Language: ru`.'),
      reason: z
        .enum(apiReasons as [Reason, ...Reason[]])
        .openapi({ description: 'Stable key for programs, more specific than `code`. Later versions may add keys.' }),
      params: z.looseObject({}).openapi({ description: 'Values used in `message`: amounts, limits, ids.' }),
      charged: z
        .boolean()
        .nullable()
        .optional()
        .openapi({
          description:
            'Whether money was charged. In every refusal of an operation that charges, and in no other. True if an ' +
            'earlier request under the key bought, and this token may not see the answer. ' +
            'Null if the shop does not know: repeat the request with its `Idempotency-Key`, or look at `GET /orders`.',
        }),
      details: z
        .union([
          z.null(),
          z.array(
            z.object({
              field: text('Path of the field; a dot separates its parts.'),
              problem: text('Problem with the field, in the language of `message`.'),
              reason: text('Stable key of the problem, for programs.'),
              params: z.looseObject({}).openapi({ description: 'Values used in `problem`: limits, allowed values.' }),
              allowed: z
                .array(z.union([z.string(), z.number()]))
                .optional()
                .openapi({ description: 'Accepted values, if the list is short.' }),
              see: text('Operation that lists the accepted values.').optional(),
            }),
          ),
          z.looseObject({ charged: z.boolean().optional().openapi({ description: 'Whether money was charged.' }) }),
        ])
        .openapi({
          description: 'Null, the invalid fields, or values of the refusal; `charged` says whether money was charged.',
        }),
      doc_url: text('Row of the reason on the page of reasons of this shop.'),
    }),
  })
  .openapi('Refusal')

const warningSchema = z
  .object({
    field: text('Name of the field as it was sent.'),
    problem: text('Message for people, with the nearest known name. In Russian for `Accept-Language: ru`.'),
    reason: text('Stable key of the warning, for programs.'),
    params: z.looseObject({}).openapi({ description: 'Values used in `problem`.' }),
  })
  .openapi('Warning')

export const successSchema = (answer: z.ZodType) =>
  z.object({
    ok: z.literal(true).openapi({ description: 'Whether the request succeeded.' }),
    data: answer,
    warnings: z.array(warningSchema).optional().openapi({
      description: 'Unknown fields of the request, or reasons why the answer cannot be used yet; absent if none.',
    }),
  })

export { z }

/** A refusal's kind as an HTTP status. The only place where the two meet. */
export const statusOfKind: Record<RefusalKind, number> = {
  malformed: 400,
  unauthenticated: 401,
  unpaid: 402,
  forbidden: 403,
  missing: 404,
  wrong_method: 405,
  conflict: 409,
  too_large: 413,
  long_url: 414,
  unsupported: 415,
  mismatch: 422,
  too_many: 429,
  large_headers: 431,
  supplier: 502,
  unavailable: 503,
}

/** Every code with its status: the table of the contract. The one fault among the codes has a status of its own. */
export const statusOfCode = Object.fromEntries(
  apiCodes.map((code) => [code, code === 'internal_error' ? 500 : statusOfKind[kindOfCode[code]]]),
) as Record<ApiCode, number>
