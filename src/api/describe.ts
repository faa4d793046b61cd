import { OpenAPIHono, z } from '@hono/zod-openapi'
import { problemsEn } from '../core/messages/problems-en.ts'
import { Refusal, refuseField, toSentDetails } from '../core/refusal.ts'
import { chargedBy, docUrlOf, internalError, rateLimited, sessionNeeded, stopping, withSee } from './answers.ts'
import { exampleOrder } from './fields.ts'
import {
  type ApiCode,
  type Operation,
  type RefusalExample,
  refusalSchema,
  scopeOf,
  statusOfCode,
  successSchema,
  takesKey,
} from './operation.ts'
import { type Sold, withSold } from './sold.ts'
import { readFields } from './validate.ts'

const meanings: Record<ApiCode, string> = {
  invalid_request: 'A parameter is missing, of the wrong type, or not among the allowed values.',
  invalid_token: 'The token is missing, malformed, unknown, expired or revoked.',
  sign_in_failed: 'Login, password or code is wrong, or a code is required.',
  insufficient_funds: 'The balance does not cover the price. Nothing was charged.',
  forbidden: "The token's scope, address lock or spending cap does not allow it.",
  not_found: 'It does not exist or is not yours.',
  method_not_allowed: 'The path does not support this method.',
  out_of_stock: 'Fewer are available than were requested. Nothing was charged.',
  request_in_progress: 'A request with the same key is still running.',
  conflict: 'The current state does not allow the operation.',
  payload_too_large: 'The body is larger than 64 KiB.',
  unsupported_media_type: 'The body is not application/json.',
  url_too_long: 'The URL is longer than 16 KiB.',
  headers_too_large: 'The headers are larger than 16 KiB.',
  idempotency_key_reused: 'The key was used for a different request.',
  rate_limited: 'Too many requests. Retry after the seconds in `Retry-After`.',
  internal_error: 'Internal error of the shop.',
  provider_error: 'Error of an external provider.',
  unavailable: 'The shop is stopping or overloaded. Retry later.',
}

function codesOf(operation: Operation, profile: ApiProfile): Set<ApiCode> {
  const when = (isPossible: boolean, ...codes: readonly ApiCode[]) => (isPossible ? codes : [])
  return new Set([
    // The sign-in API refuses pages of other sites.
    ...when(operation.access !== 'public' || profile.token === undefined, 'forbidden'),
    ...when(true, 'invalid_request', 'url_too_long', 'rate_limited', 'headers_too_large'),
    ...when(true, 'internal_error', 'unavailable'),
    ...when(operation.access !== 'public', 'invalid_token'),
    ...when(operation.method === 'POST', 'payload_too_large', 'unsupported_media_type'),
    ...when(operation.charges === true, 'insufficient_funds'),
    ...when(takesKey(operation), 'request_in_progress', 'idempotency_key_reused', 'conflict'),
    ...operation.codes,
    ...(Object.keys(operation.refusals) as ApiCode[]),
  ])
}

const tagMeanings: Readonly<Record<string, string>> = {
  Catalogue: 'Goods on sale: prices, terms, discounts and stock. Needs no token.',
  Account: 'Your money, and what moved it.',
  Payments: 'Topping up the balance: ways to pay, payments and what became of them.',
  Referrals: 'A link of your own, and a share of the first top-ups of whom you bring.',
  Orders: 'What you have bought, what it cost and why.',
  'Dedicated proxies': 'Addresses for a term: price, buy, prolong, change and check them.',
  'Premium proxies': 'Traffic in gigabytes over pools of exits: buy it, share it out, and generate proxy lists.',
  VPN: 'WireGuard subscriptions, their devices and configurations.',
  Webhooks: 'Addresses of your programs that get events as they happen, and what was sent to them.',
  'API tokens': 'What programs call with: scopes, spending cap, source addresses. Only a session may make them.',
}

/** Title, introduction and security schemes of an API's description. */
export type ApiProfile = {
  readonly title: string
  readonly description: string
  /** Describes how a token is sent; undefined for an API without tokens. */
  readonly token: string | undefined
  readonly cookie: string
  readonly hasRoles?: boolean
  readonly hasVersions?: boolean
}

export const customerApiProfile: ApiProfile = {
  title: 'Turnpike',
  description:
    'API to buy and manage proxies and VPN. Prices and balances are in roubles, exact to the kopeck. ' +
    'Every POST that charges accepts an `Idempotency-Key`: a repeat changes nothing and gets the first answer. ' +
    'Unknown fields are ignored and listed in `warnings`, next to `data`. ' +
    'A token keeps the version of the API that it was made with, a date; `Turnpike-Version` in a request tries ' +
    'another, and `GET /changelog` lists them.',
  hasVersions: true,
  token: 'An API token: `Authorization: Bearer tp_live_…`; in a sandbox `tp_test_…`.',
  cookie: 'turnpike_customer',
}

/** The OpenAPI document, made of the very schemas that read requests and shape answers. */
export function describe(
  operations: readonly Operation[],
  shop: { version: string; url: string },
  profile = customerApiProfile,
): object {
  const app = new OpenAPIHono()
  if (profile.token !== undefined) {
    app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
      type: 'http',
      scheme: 'bearer',
      description: profile.token,
    })
  }
  app.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: profile.cookie,
    description:
      'Console session; needs the header `X-Turnpike-Console: 1`. With TLS the name has the prefix `__Host-`.',
  })
  const isReplayed = operations.some(takesKey)
  for (const [name, header] of Object.entries(headers)) {
    const isUsed =
      name === 'Turnpike-Version' ? profile.hasVersions === true : name !== 'Idempotent-Replayed' || isReplayed
    if (isUsed) app.openAPIRegistry.registerComponent('headers', name, header)
  }
  for (const each of operations) app.openAPIRegistry.registerPath(pathOf(each, profile))
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: profile.title,
      version: shop.version,
      description: profile.description,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: shop.url, description: 'This shop.' }],
    security: [...(profile.token === undefined ? [] : [{ token: [] }]), { session: [] }],
    tags: [...new Set(operations.map((each) => each.tag))].map((name) => ({
      name,
      description: tagMeanings[name] ?? `${name}.`,
    })),
  })
}

type Route = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0]

function securityOf(operation: Operation, profile: ApiProfile): object {
  if (operation.access === 'public') return { security: [] }
  return operation.access === 'session' && profile.token !== undefined ? { security: [{ session: [] }] } : {}
}

function pathOf(operation: Operation, profile: ApiProfile): Route {
  const hasFields = Object.keys(operation.body.shape).length > 0
  return {
    operationId: operation.id,
    method: operation.method === 'GET' ? 'get' : 'post',
    path: operation.path,
    tags: [operation.tag],
    summary: operation.summary,
    ...securityOf(operation, profile),
    ...(profile.hasRoles && { 'x-role': operation.role }),
    ...(operation.isDestructive && { 'x-destructive': true }),
    ...(operation.description && { description: operation.description }),
    request: {
      params: operation.params,
      query: operation.query,
      ...(takesKey(operation) && { headers: keyHeader }),
      ...(operation.method === 'POST' && {
        body: {
          content: {
            'application/json': { schema: operation.body, ...(hasFields && { example: operation.exampleBody }) },
          },
          required: !operation.body.safeParse({}).success,
        },
      }),
    },
    responses: responsesOf(operation, profile),
  } as Route
}

const keyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .openapi({
      description: 'Makes a retry safe: a repeat with the same key changes nothing. Kept for 7 days.',
      example: 'order-2026-0001',
    }),
})

const whole = { type: 'integer' as const, minimum: 0 }
const headers = {
  'X-Request-Id': {
    schema: { type: 'string' as const },
    description: 'Id of the request. Quote it to support.',
    required: true,
  },
  'RateLimit-Limit': { schema: whole, description: 'Requests per minute and token. Absent if there is no limit.' },
  'RateLimit-Remaining': { schema: whole, description: 'Requests left now.' },
  'RateLimit-Reset': { schema: whole, description: 'Seconds until all requests are available again.' },
  'Retry-After': { schema: whole, description: 'Seconds to wait before a retry.', required: true },
  'Idempotent-Replayed': {
    schema: { type: 'string' as const, enum: ['true'] },
    description: 'Present if this is a replay of the first answer to the key.',
  },
  ETag: {
    schema: { type: 'string' as const },
    description: 'Version of the answer. With it in `If-None-Match`, an unchanged answer gets 304.',
    required: true,
  },
  'Turnpike-Version': {
    schema: { type: 'string' as const, format: 'date' },
    description: 'Version of the API that the answer has. Absent if the caller is not known.',
  },
  'WWW-Authenticate': {
    schema: { type: 'string' as const, enum: ['Bearer'] },
    description: 'Authentication scheme.',
    required: true,
  },
}

const refer = (...names: (keyof typeof headers)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The headers of an answer. A caller who is not authenticated has no rate limit yet. */
function headersOf(status: number, isVersioned: boolean): object {
  if (status === 401) return refer('X-Request-Id', 'WWW-Authenticate')
  const versions = isVersioned ? (['Turnpike-Version'] as const) : []
  const always = refer('X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', ...versions)
  return status === 429 || status === 503 ? { ...always, ...refer('Retry-After') } : always
}

function responsesOf(operation: Operation, profile: ApiProfile): Record<string, unknown> {
  const isVersioned = profile.hasVersions === true && operation.access !== 'public'
  const byStatus = new Map<number, ApiCode[]>()
  for (const code of codesOf(operation, profile)) {
    const status = statusOfCode[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const refusals = [...byStatus].map(([status, codes]): [string, unknown] => [
    String(status),
    {
      description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join(' '),
      headers: headersOf(status, isVersioned),
      content: { 'application/json': { schema: refusalSchema, examples: examplesOf(operation, codes, profile) } },
    },
  ])
  return {
    200: {
      description: 'Success.',
      headers: {
        ...headersOf(200, isVersioned),
        ...(operation.method === 'GET' && refer('ETag')),
        ...(takesKey(operation) && refer('Idempotent-Replayed')),
      },
      content: {
        'application/json': { schema: successSchema(operation.answer), example: { ok: true, data: operation.example } },
        ...Object.fromEntries(operation.files.map((type) => [type, { schema: { type: 'string' } }])),
      },
    },
    ...(operation.method === 'GET' && {
      304: {
        description: 'Not modified since the `ETag` in `If-None-Match`.',
        headers: { ...headersOf(304, isVersioned), ...refer('ETag') },
      },
    }),
    ...Object.fromEntries(refusals),
  }
}

const examplesOf = (operation: Operation, codes: readonly ApiCode[], profile: ApiProfile) =>
  Object.fromEntries(
    codes.map((code) => {
      const example = exampleOf(operation, code, profile)
      const { message, reason, params } = example
      const details = toSentDetails(example.details, problemsEn)
      const charged = operation.charges === true ? { charged: chargedBy({ code, reason }) } : {}
      return [
        code,
        {
          summary: meanings[code],
          value: {
            ok: false,
            error: { code, message, reason, params, ...charged, details, doc_url: docUrlOf(reason, '') },
          },
        },
      ]
    }),
  )

const exampleFunds = { required_rub: 171, balance_rub: 42.5 }

const usual: Partial<Record<ApiCode, RefusalExample>> = {
  invalid_token: new Refusal('token_missing', {}, { token: 'missing', charged: false }),
  insufficient_funds: new Refusal('insufficient_funds', exampleFunds, { ...exampleFunds, charged: false }),
  sign_in_failed: new Refusal('sign_in_failed', {}, { code_required: false }),
  request_in_progress: new Refusal('request_in_progress'),
  idempotency_key_reused: new Refusal(
    'idempotency_key_reused',
    { order: exampleOrder },
    { charged: false, order_id: exampleOrder },
  ),
  conflict: new Refusal('connection_closed', {}, { charged: false }),
  payload_too_large: new Refusal('body_too_large', { max_kib: 64 }, { charged: false }),
  unsupported_media_type: new Refusal('body_not_json'),
  url_too_long: new Refusal('url_too_long', { max_kib: 16 }, { charged: false }),
  headers_too_large: new Refusal('headers_too_large', { max_kib: 16 }, { charged: false }),
  rate_limited: rateLimited({ retryAfterSeconds: 1 }),
  internal_error: internalError(),
  unavailable: stopping(),
}

function exampleOf(operation: Operation, code: ApiCode, profile: ApiProfile): RefusalExample {
  if (code === 'invalid_request') return malformedExample(operation)
  if (code === 'invalid_token' && profile.hasRoles) {
    return new Refusal('operator_token_missing', {}, { token: 'missing', charged: false })
  }
  if (code === 'forbidden') return operation.refusals.forbidden ?? forbiddenExample(operation, profile)
  return operation.refusals[code] ?? usual[code] ?? internalError()
}

/** Examples of 403: a role that is too low, a missing scope, or a page of another origin. */
function forbiddenExample(operation: Operation, profile: ApiProfile): RefusalExample {
  if (profile.hasRoles) {
    const { role: needed } = operation
    return new Refusal('role_too_low', { needed, has: 'reader' }, { needed, has: 'reader' })
  }
  if (profile.token === undefined) return new Refusal('request_from_other_site', {}, { charged: false })
  if (operation.access === 'session') return sessionNeeded()
  const needed = scopeOf(operation)
  return new Refusal('scope_missing', { needed }, { needed, charged: false })
}

/** The operation's own refusal of a request without its required fields, or with a wrong first field. */
function malformedExample(operation: Operation): RefusalExample {
  for (const part of ['body', 'query'] as const) {
    const schema = operation[part]
    const [first] = Object.keys(schema.shape)
    if (first === undefined) continue
    const found =
      refusalOf(() => readFields(schema, {}, part)) ?? refusalOf(() => readFields(schema, { [first]: {} }, part))
    if (found) return withSee(found, operation.see)
  }
  return refuseField('Host', 'host_and_port')
}

function refusalOf(read: () => unknown): Refusal | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Built on the first request and when the sold goods change; the last one is served while the database is silent. */
export function createDescription(
  api: { readonly base: string; readonly operations: readonly Operation[]; readonly profile: ApiProfile },
  shop: { readonly version: string; readonly publicUrl: () => string; readonly sold?: () => Promise<Sold | undefined> },
): () => Promise<string> {
  let plain: object | undefined
  let made: { readonly text: string; readonly catalogue: number | undefined } | undefined

  return async () => {
    const sold = await shop.sold?.().catch(() => undefined)
    if (made && (sold === undefined || sold.version === made.catalogue)) return made.text
    plain ??= describe(api.operations, { version: shop.version, url: shop.publicUrl() + api.base }, api.profile)
    made = { text: JSON.stringify(sold ? withSold(plain, sold) : plain), catalogue: sold?.version }
    return made.text
  }
}
