import { OpenAPIHono, z } from '@hono/zod-openapi'
import { type Code, type Operation, refusalSchema, statusOfCode, successSchema } from './operation.ts'

/** What any operation may refuse with, whatever it does. */
const alwaysPossible: readonly Code[] = [
  'invalid_request',
  'invalid_token',
  'forbidden',
  'rate_limited',
  'internal_error',
  'unavailable',
]
const possibleWithBody: readonly Code[] = ['payload_too_large', 'unsupported_media_type']
const possibleWhenCharging: readonly Code[] = [
  'insufficient_funds',
  'request_in_progress',
  'idempotency_key_reused',
  'conflict',
]

const meanings: Record<Code, string> = {
  invalid_request: 'A parameter is missing, of the wrong type, or not among the allowed values.',
  invalid_token: 'The token is missing, malformed, unknown, expired or revoked.',
  insufficient_funds: 'The balance does not cover the price. Nothing was charged.',
  forbidden: "The token's scope, address lock or spending cap does not allow it.",
  not_found: 'No such thing, or it is not yours.',
  method_not_allowed: 'The path exists, the method does not.',
  out_of_stock: 'Fewer are free than were asked for.',
  request_in_progress: 'The same key is still running.',
  conflict: 'The thing is in a state that forbids it.',
  payload_too_large: 'The body is larger than 64 KiB.',
  unsupported_media_type: 'The body is not application/json.',
  idempotency_key_reused: 'The key was used for a different request.',
  rate_limited: 'Too many requests; wait as long as Retry-After says.',
  internal_error: 'A fault of ours.',
  provider_error: 'A fault of a supplier.',
  unavailable: 'Shutting down or overloaded; try again.',
}

/** Every code an operation can answer with. */
function codesOf(operation: Operation): Set<Code> {
  return new Set([
    ...alwaysPossible,
    ...(operation.method === 'POST' ? possibleWithBody : []),
    ...(operation.charges ? possibleWhenCharging : []),
    ...operation.codes,
  ])
}

/** The OpenAPI document, made of the very schemas that read requests and shape answers. */
export function describe(operations: readonly Operation[], version: string): object {
  const app = new OpenAPIHono()
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token: `Authorization: Bearer tp_live_…`.',
  })
  for (const each of operations) app.openAPIRegistry.registerPath(pathOf(each))
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Turnpike',
      version,
      description:
        'Network access, bought and managed by programs. Prices and balances are in roubles. ' +
        'Every POST that charges accepts an `Idempotency-Key`: a repeat has one effect and gets the first answer.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    tags: [...new Set(operations.map((each) => each.tag))].map((name) => ({
      name,
      description: `${name} operations.`,
    })),
  })
}

type Route = Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0]

function pathOf(operation: Operation): Route {
  const hasBody = operation.method === 'POST'
  return {
    operationId: operation.id,
    method: operation.method === 'GET' ? 'get' : 'post',
    path: operation.path,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    request: {
      params: operation.params,
      query: operation.query,
      ...(operation.charges && { headers: keyHeader }),
      ...(hasBody && {
        body: {
          content: { 'application/json': { schema: operation.body } },
          required: !operation.body.safeParse({}).success,
        },
      }),
    },
    responses: responsesOf(operation),
  } as Route
}

const keyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .openapi({ description: 'Makes a retry safe: one key, one effect. Kept 7 days.', example: 'order-2026-0001' }),
})

const requestId = { 'X-Request-Id': { schema: { type: 'string' as const }, description: 'Quote it when you ask us.' } }
const limits = {
  'RateLimit-Limit': { schema: { type: 'integer' as const }, description: 'Requests a minute and token.' },
  'RateLimit-Remaining': { schema: { type: 'integer' as const }, description: 'What is left of them now.' },
  'RateLimit-Reset': { schema: { type: 'integer' as const }, description: 'Seconds until all are back.' },
}

function responsesOf(operation: Operation): Record<string, unknown> {
  const byStatus = new Map<number, Code[]>()
  for (const code of codesOf(operation)) {
    const status = statusOfCode[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const refusals = [...byStatus].map(([status, codes]): [string, unknown] => [
    String(status),
    {
      description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join(' '),
      headers: requestId,
      content: { 'application/json': { schema: refusalSchema, examples: examplesOf(codes) } },
    },
  ])
  return {
    200: {
      description: 'Done.',
      headers: { ...requestId, ...limits },
      content: {
        'application/json': { schema: successSchema(operation.answer), example: { ok: true, data: operation.example } },
      },
    },
    ...Object.fromEntries(refusals),
  }
}

const examplesOf = (codes: readonly Code[]) =>
  Object.fromEntries(
    codes.map((code) => [code, { value: { ok: false, error: { code, message: meanings[code], details: null } } }]),
  )
