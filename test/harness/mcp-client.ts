import {
  type CallToolResult,
  Client,
  type ElicitRequest,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { runtimeCommand } from './turnpike.ts'

export type McpTransport = 'streamable HTTP' | 'stdio'

type Options = {
  readonly url: string
  readonly token: string
  readonly mayWrite?: boolean
  /** Answers the server's questions to the user; without it the client cannot ask. */
  readonly onQuestion?: (message: string) => ElicitResult
  /** `2025`: a client that knows the handshake of 2025 only. */
  readonly speaks?: '2026' | '2025'
}

/** A result as a model reads it. */
export type ToolAnswer = { readonly isError: boolean; readonly answer: Record<string, unknown>; readonly text: string }

export type McpClient = {
  readonly client: Client
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
  close(): Promise<void>
}

/** The MCP client of the protocol's own package, connected to the shop's `/mcp` or to a process of `turnpike mcp`. */
export async function connectMcp(kind: McpTransport, options: Options): Promise<McpClient> {
  const { onQuestion, speaks = '2026' } = options
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: onQuestion ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: speaks === '2026' ? 'auto' : 'legacy' },
    },
  )
  if (onQuestion) {
    client.setRequestHandler('elicitation/create', async ({ params }: ElicitRequest) => onQuestion(params.message))
  }
  await client.connect(kind === 'stdio' ? openProcess(options) : openHttp(options))
  return {
    client,
    async call(name, args = {}) {
      const result: CallToolResult = await client.callTool({ name, arguments: args })
      const [content] = result.content
      const text = content?.type === 'text' ? content.text : ''
      const answer = JSON.parse(text) as Record<string, unknown>
      return { isError: result.isError === true, answer, text }
    },
    close: () => client.close(),
  }
}

function openHttp({ url, token, mayWrite }: Options) {
  const address = new URL(`${url}/mcp${mayWrite ? '?write=true' : ''}`)
  return new StreamableHTTPClientTransport(address, { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
}

function openProcess({ url, token, mayWrite }: Options) {
  const [command = '', ...args] = [...runtimeCommand, 'mcp', ...(mayWrite ? ['--write'] : [])]
  const env = { PATH: process.env['PATH'] ?? '', TURNPIKE_URL: url, TURNPIKE_TOKEN: token }
  return new StdioClientTransport({ command, args, env, stderr: 'inherit' })
}
