import { describe } from '../api/describe.ts'
import { type Operation, scopeOf, takesKey } from '../api/operation.ts'
import { customerOperations } from '../api/operation-tables.ts'
import type { Described, Description, JsonSchema } from './description.ts'
import { hasSecrets } from './secrets.ts'

type Definition = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: {
    readonly type: 'object'
    readonly properties: Record<string, JsonSchema>
    readonly required: string[]
  }
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
}

/** Parts of the list that a host can choose, because some take few tools: the first part of a path, or `account`. */
export const toolGroups = ['account', 'dedicated', 'payments', 'premium', 'referral', 'vpn', 'webhooks'] as const
export type ToolGroup = (typeof toolGroups)[number]

/** The groups that a text names, separated by commas; undefined if it names another. */
export function readToolGroups(text: string): readonly ToolGroup[] | undefined {
  const groups = text.split(',').map((name) => toolGroups.find((group) => group === name))
  return groups.every((group) => group !== undefined) ? groups : undefined
}

/** One operation of the customer API as a tool. */
export type Tool = {
  readonly operation: Operation
  readonly definition: Definition
  readonly group: ToolGroup
  /** Whether the first call only shows what would happen. */
  readonly isConfirmed: boolean
  /** Whether its answer may hold passwords, keys or secret links. */
  readonly hasSecrets: boolean
}

/** Operations that only add something: a repeat or a mistake takes nothing away. */
export const additive: ReadonlySet<string> = new Set([
  'addToWhitelist',
  'addVpnDevice',
  'addWebhook',
  'allowSource',
  'checkProxy',
  'createPayment',
  'createSubuser',
  'generateProxies',
  'makeReferralCode',
  'redeliverWebhook',
  'testWebhook',
])

/** Operations that write something that differs on every call. The others write the state that the call names. */
const differing = /^(?:reset|rotate|test|redeliver|check|move|create|generate|addVpnDevice|addWebhook|replace)/

/**
 * Fields that a tool does not take: one request of MCP is not held open for an event, and a purchase that follows a
 * payment would charge without the user's agreement to its price.
 */
const untaken: ReadonlySet<string> = new Set(['wait', 'purchase'])

let made: ReadonlyMap<string, Tool> | undefined

/** The tools, in the order of their names: hosts cache the list. Made on the first use, in about 0.1 s. */
export function allTools(): ReadonlyMap<string, Tool> {
  made ??= makeTools()
  return made
}

function makeTools(): ReadonlyMap<string, Tool> {
  const operations = customerOperations().filter(({ access }) => access === 'token')
  const { paths, components } = describe(operations, { version: '', url: '' }) as Description
  const described = new Map(
    Object.values(paths).flatMap((methods) => Object.values(methods).map((each) => [each.operationId, each] as const)),
  )
  const tools = operations.map((operation): [string, Tool] => {
    const of = described.get(operation.id)
    if (!of) throw new Error(`the description has no ${operation.id}`)
    return [operation.id, toTool(operation, of, components.schemas)]
  })
  return new Map(tools.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function toTool(operation: Operation, described: Described, schemas: Readonly<Record<string, JsonSchema>>): Tool {
  const answer = described.responses['200']?.content?.['application/json']?.schema ?? {}
  const isConfirmed = operation.charges === true || operation.isDestructive
  const kind = { isConfirmed, hasSecrets: hasSecrets(operation.id, answer, schemas) }
  const { id: name, summary: title } = operation
  const definition: Definition = {
    name,
    title,
    description: [`${title}.`, operation.description, ...notesOn(operation, kind)].filter(Boolean).join(' '),
    inputSchema: toInput(operation, described, kind),
    annotations: hintsOf(operation),
  }
  const [, first] = operation.path.split('/')
  const group = toolGroups.find((each) => each === first) ?? 'account'
  return { operation, definition, group, ...kind }
}

/** A purchase is no additive change: it spends money, and no call gives that back. */
function hintsOf(operation: Operation) {
  const readOnlyHint = scopeOf(operation) === 'read'
  const destructiveHint = !readOnlyHint && !additive.has(operation.id)
  const isSetting = operation.charges !== true && !takesKey(operation) && !differing.test(operation.id)
  // The tools reach one shop. A proxy check and a test event leave it for addresses of the customer.
  const openWorldHint = ['checkProxy', 'redeliverWebhook', 'testWebhook'].includes(operation.id)
  return { readOnlyHint, destructiveHint, idempotentHint: readOnlyHint || isSetting, openWorldHint }
}

type Kind = Pick<Tool, 'isConfirmed' | 'hasSecrets'>

function notesOn({ charges }: Operation, { isConfirmed, hasSecrets: isMasked }: Kind): string[] {
  return [
    ...(charges === true ? ['Spends money: the first call buys nothing and answers with the quote.'] : []),
    ...(isConfirmed && charges !== true ? ['Cannot be undone: the first call changes nothing.'] : []),
    ...(isMasked ? ['Passwords, keys and secret links are masked unless `show_passwords` is true.'] : []),
  ]
}

const showPasswords: JsonSchema = {
  type: 'boolean',
  description: 'Show passwords, keys and secret links in the answer. Default: false. Ask the user first.',
}
const confirm: JsonSchema = {
  type: 'string',
  description: 'Code from the answer to the first call with the same arguments. Send it once the user has agreed.',
}
const idempotencyKey: JsonSchema = {
  type: 'string',
  description: 'Key of this call, 1 to 255 visible ASCII characters. A repeat with the same key has no second effect.',
}

/** Only type, properties and required: hosts refuse other keywords at the top of a schema. */
function toInput(operation: Operation, { parameters = [], requestBody }: Described, kind: Kind) {
  const body = requestBody?.content['application/json']?.schema
  const sent = parameters.filter((each) => each.in !== 'header' && !untaken.has(each.name))
  const properties: Record<string, JsonSchema> = Object.fromEntries(sent.map((each) => [each.name, each.schema]))
  for (const [name, schema] of Object.entries(body?.properties ?? {})) if (!untaken.has(name)) properties[name] = schema
  if (kind.hasSecrets) properties['show_passwords'] = showPasswords
  if (kind.isConfirmed) properties['confirm'] = confirm
  else if (takesKey(operation)) properties['idempotency_key'] = idempotencyKey
  const required = [...sent.flatMap((each) => (each.required ? [each.name] : [])), ...(body?.required ?? [])]
  return { type: 'object' as const, properties, required }
}
