import { bearerOf } from '../api/answers.ts'
import { readBody } from '../api/body.ts'
import { getToken } from '../api/customer/tokens/shapes.ts'
import { z } from '../api/operation.ts'
import type { PlainRoute } from '../api/plain-route.ts'
import { assertSameOrigin } from '../api/session.ts'
import type { Address } from '../core/address.ts'
import { refuseField } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import { createConfirmations } from './confirmation.ts'
import { ofLatest, type Send } from './shop-call.ts'
import { readToolGroups, type ToolGroup, toolGroups } from './tools.ts'

type McpRouteDeps = {
  /** Answers a request as the shop's port does, with the same limits and the same log. */
  readonly answer: (request: Request, from: Address | undefined) => Promise<Response>
  readonly publicUrl: () => string
  readonly version: string
  readonly findName: () => Promise<string>
  readonly clock: Clock
  readonly random: (bytes: number) => Uint8Array
}

const tokenAnswer = z.object({ data: getToken.answer })

/**
 * `/mcp`: the customer API as tools. Every request first asks `GET /token` as its caller, and every tool calls its
 * operation as that caller. So tokens, address locks, caps, rate limits and the change budget count as they do there.
 */
export function mcpRoute(deps: McpRouteDeps): PlainRoute {
  let handler: Promise<ReturnType<typeof import('./streamable-http.ts').createHttpHandler>> | undefined
  // The package is loaded by the first request: most shops have none.
  const load = () => (handler ??= import('./streamable-http.ts').then((module) => module.createHttpHandler()))

  return {
    path: '/mcp',
    takes: 'POST',
    perMinute: 1200,
    async answer(request, _, from) {
      assertSameOrigin(request, deps.publicUrl())
      const { searchParams } = new URL(request.url)
      const mayWrite = readWrite(searchParams)
      const groups = readGroups(searchParams)
      const send = sendAs(deps, request, from)
      const allowed = await send('/api/v1/token', { headers: ofLatest })
      if (!allowed.ok) return allowed
      const { data } = tokenAnswer.parse(await allowed.json())
      const body = await readBody(request)
      const answer = await load()
      const token = bearerOf(request) ?? ''
      return answer(request, body, {
        send,
        confirmations: createConfirmations(token, deps.clock, deps.random),
        random: deps.random,
        docUrl: `${deps.publicUrl()}/docs/mcp`,
        version: deps.version,
        shop: await deps.findName(),
        mayWrite,
        groups,
        howToWrite: `Tools that change or buy are at ${deps.publicUrl()}/mcp?write=true, for a token with the scope.`,
        loadScopes: async () => data.scopes,
      })
    },
  }
}

function readWrite(query: URLSearchParams): boolean {
  const write = query.get('write')
  if (write === null || write === 'false') return false
  if (write === 'true') return true
  throw refuseField('write', 'one_of', { allowed: ['true', 'false'] })
}

function readGroups(query: URLSearchParams): readonly ToolGroup[] | undefined {
  const named = query.get('tools')
  if (named === null) return undefined
  const groups = readToolGroups(named)
  if (!groups) throw refuseField('tools', 'one_of', { allowed: [...toolGroups] })
  return groups
}

/** Requests of a tool go to the same shop, as the caller and from the caller's address, while the caller waits. */
function sendAs(deps: McpRouteDeps, request: Request, from: Address | undefined): Send {
  const { origin } = new URL(request.url)
  const kept = ['authorization', 'accept-language', 'user-agent'].flatMap((name) => {
    const value = request.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return (path, init) => {
    const headers = new Headers(init.headers)
    // Without a token the shop would take the cookie of a session; this request has none.
    for (const [name, value] of kept) headers.set(name, value)
    return deps.answer(new Request(origin + path, { ...init, headers, signal: request.signal }), from)
  }
}
