import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { createServer, type McpDeps } from './server.ts'

/** Serves the program that started this process over its input and output, until that program closes the input. */
export async function serveStandardStreams(deps: McpDeps, onFault: (fault: Error) => void): Promise<void> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  process.stdin.once('end', end).once('close', end)
  const served = serveStdio(() => createServer(deps), {
    transport: new StdioServerTransport(),
    maxSubscriptions: 0,
    onerror: onFault,
  })
  await ended
  await served.close()
}
