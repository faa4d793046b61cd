import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server'
import { scopeOf, z } from '../api/operation.ts'
import { type Agreement, callTool, fail, type ToolDeps, type ToolOutcome } from './call-tool.ts'
import { allTools, type Tool, type ToolGroup } from './tools.ts'

export type McpDeps = ToolDeps & {
  readonly version: string
  /** Name of the shop, as customers know it. */
  readonly shop: string
  /** Whether tools that change or buy are offered, where the token's scopes allow them. */
  readonly mayWrite: boolean
  /** The groups of tools that are listed; undefined for all. */
  readonly groups: readonly ToolGroup[] | undefined
  /** Scopes of the token; rejects with a sentence for people where the shop refuses it. */
  readonly loadScopes: () => Promise<readonly string[]>
  /** How to allow writing, for a tool that is called without. */
  readonly howToWrite: string
}

const toInstructions = (shop: string): string =>
  `Tools of the shop ${shop}, which sells proxies, proxy traffic and VPN. ` +
  'Prices are in roubles. A tool that spends ' +
  'money or removes something first shows what it would do, and acts when the user has agreed. Passwords, keys and ' +
  'secret links are masked unless `show_passwords` is true. A failed tool answers `error` with `reason`, `message`, ' +
  '`doc_url`, and `charged` if it could have charged. Read `quote…` tools before a purchase and `listCountries`, ' +
  '`listVpnLocations` and `listPremiumCountries` for what is sold.'

const isRead = ({ operation }: Tool): boolean => scopeOf(operation) === 'read'

/** A server of the protocol for one connection or one request. It keeps nothing between requests. */
export function createServer(deps: McpDeps): Server {
  const server = new Server(
    { name: 'turnpike', title: deps.shop, version: deps.version },
    { capabilities: { tools: {} }, instructions: toInstructions(deps.shop), inputRequired: { maxRounds: 2 } },
  )

  server.setRequestHandler('tools/list', async () => {
    const scopes = await deps.loadScopes()
    const offered = [...allTools().values()].filter(
      (tool) =>
        scopes.includes(scopeOf(tool.operation)) &&
        (deps.mayWrite || isRead(tool)) &&
        (deps.groups?.includes(tool.group) ?? true),
    )
    return { tools: offered.map((tool) => tool.definition) as never }
  })

  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = allTools().get(params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`)
    if (!deps.mayWrite && !isRead(tool)) {
      return toResult(fail(deps, 'mcp_read_only', `This server only reads. ${deps.howToWrite}`))
    }
    const { inputResponses, envelope } = context.mcpReq
    // A client of 2026 names its capabilities in every request, one of 2025 in its handshake.
    const named: Readonly<Record<string, unknown>> = envelope ?? {}
    const capabilities = named[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
    const agreement = toAgreement(canAsk(capabilities), inputResponses, context.mcpReq.requestState())
    return toResult(await callTool(deps, tool, params.arguments ?? {}, agreement))
  })

  return server
}

const asking = z.object({ elicitation: z.looseObject({}) })

/** A client asks its user with a form where it names elicitation without modes, or with the mode `form`. */
function canAsk(capabilities: unknown): boolean {
  const elicitation = asking.safeParse(capabilities).data?.elicitation
  return elicitation !== undefined && (elicitation['form'] !== undefined || Object.keys(elicitation).length === 0)
}

const field = 'confirm'

function toAgreement(can: boolean, responses: Record<string, unknown> | undefined, state: unknown): Agreement {
  if (!can) return { kind: 'cannot ask' }
  const response = inputResponse(responses, field)
  if (response.kind !== 'elicit' || typeof state !== 'string' || state === '') return { kind: 'not asked yet' }
  const isAccepted = response.action === 'accept' && response.content?.[field] === true
  return isAccepted ? { kind: 'accepted', code: state } : { kind: 'declined' }
}

const form = {
  type: 'object' as const,
  properties: { [field]: { type: 'boolean' as const, title: 'Confirm', description: 'Do this now.', default: false } },
  required: [field],
}

function toResult(outcome: ToolOutcome) {
  if ('question' in outcome) {
    const { question: message, code: requestState } = outcome
    return inputRequired({
      inputRequests: { [field]: inputRequired.elicit({ message, requestedSchema: form }) },
      requestState,
    })
  }
  const { data, isError } = outcome
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(data) }],
    structuredContent: data as Record<string, unknown>,
    isError,
  }
}
