import { createMcpHandler } from '@modelcontextprotocol/server'
import { createServer, type McpDeps } from './server.ts'

/**
 * Streamable HTTP by the package: revision 2026-07-28, and clients of 2025 without sessions. The tools never change
 * while a shop runs, so no client may hold a stream open for news of them.
 */
export function createHttpHandler() {
  const deps = new WeakMap<Request, McpDeps>()
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const of = requestInfo && deps.get(requestInfo)
      if (!of) throw new Error('a request of MCP has no caller')
      return createServer(of)
    },
    { maxSubscriptions: 0, keepAliveMs: 0 },
  )
  return async (request: Request, body: unknown, of: McpDeps): Promise<Response> => {
    deps.set(request, of)
    return handler.fetch(request, { parsedBody: body })
  }
}
