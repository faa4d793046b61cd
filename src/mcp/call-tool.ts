import type { Confirmations } from './confirmation.ts'
import { quote } from './quotes.ts'
import { maskSecrets } from './secrets.ts'
import { callShop, type Send, type ToolArguments, type ToolProblem } from './shop-call.ts'
import type { Tool } from './tools.ts'

export type ToolDeps = {
  readonly send: Send
  readonly confirmations: Confirmations
  readonly random: (bytes: number) => Uint8Array
  /** Page of the shop about this server, for the problems that it has by itself. */
  readonly docUrl: string
}

/** How the user of the client agreed, if the client can ask. */
export type Agreement =
  | { readonly kind: 'cannot ask' }
  | { readonly kind: 'not asked yet' }
  | { readonly kind: 'declined' }
  | { readonly kind: 'accepted'; readonly code: string }

/** The result of a tool, or the question that the client shall put to its user. */
export type ToolOutcome =
  | { readonly data: object; readonly isError: boolean }
  | { readonly question: string; readonly code: string }

/** Runs a tool. A purchase and what cannot be undone run only with the code of an earlier call. */
export async function callTool(
  deps: ToolDeps,
  tool: Tool,
  args: ToolArguments,
  agreement: Agreement,
): Promise<ToolOutcome> {
  const { show_passwords: shown, confirm, idempotency_key: key, ...given } = args
  // A client that can ask its user is not taken at its model's word.
  const code = agreement.kind === 'accepted' ? agreement.code : agreement.kind === 'cannot ask' ? confirm : undefined
  if (tool.isConfirmed) return callConfirmed(deps, tool, args, code, agreement)
  const sentKey = tool.definition.inputSchema.properties['idempotency_key']
    ? typeof key === 'string' && key !== ''
      ? key
      : `mcp-${deps.random(10).toHex()}`
    : undefined
  return answer(deps, tool, given, shown === true, sentKey)
}

async function callConfirmed(
  deps: ToolDeps,
  tool: Tool,
  args: ToolArguments,
  code: unknown,
  agreement: Agreement,
): Promise<ToolOutcome> {
  const { operation } = tool
  // The limit is not part of what is confirmed: the first call has none, and the shop compares it with the price.
  const { show_passwords: shown, confirm: _, max_price_rub: limit, ...tied } = args
  if (agreement.kind === 'declined') return fail(deps, 'declined', 'The user declined. Nothing was changed or charged.')
  if (typeof code !== 'string' || code === '') return propose(deps, tool, tied, agreement)
  const confirmed = deps.confirmations.read(operation.id, tied, code)
  if (confirmed === 'wrong') {
    return fail(deps, 'confirm_wrong', 'The code in confirm is not of a call with these arguments. Call without it.')
  }
  if ('expired' in confirmed) {
    const look = `listOrders with idempotency_key ${confirmed.expired} shows whether it was used. Call without it.`
    return fail(deps, 'confirm_expired', `The code in confirm is older than an hour. Nothing was charged now. ${look}`)
  }
  const isCharging = operation.charges === true
  const key = isCharging || operation.charges === 'free' ? confirmed.key : undefined
  const maxPrice = isCharging ? lowerOf(limit, confirmed.price) : undefined
  return answer(
    deps,
    tool,
    { ...tied, ...(maxPrice !== undefined && { max_price_rub: maxPrice }) },
    shown === true,
    key,
  )
}

/** The user agreed to the price of the quote, whatever limit a model adds. The shop refuses what is no number. */
const lowerOf = (limit: unknown, price: number | undefined): unknown =>
  typeof limit === 'number' && price !== undefined ? Math.min(limit, price) : (limit ?? price)

/** The first call: what it would cost or remove, and the code that the second one needs. */
async function propose(deps: ToolDeps, tool: Tool, given: ToolArguments, agreement: Agreement): Promise<ToolOutcome> {
  const { operation, definition } = tool
  const quoted = await quote(deps.send, operation, given)
  // A quote charges nothing, so its refusals do not say whether they did.
  if ('problem' in quoted) return refused(deps, { ...quoted.problem, ...(operation.charges && { charged: false }) })
  const code = deps.confirmations.issue(operation.id, given, quoted.price)
  const what = `${definition.title}${toText(given)}`
  if (agreement.kind === 'not asked yet') {
    const cost = quoted.price === undefined ? 'This cannot be undone.' : `This charges ${quoted.price} RUB.`
    return { question: `${what}. ${cost}`, code }
  }
  const limit = quoted.price === undefined ? {} : { max_price_rub: quoted.price }
  const next =
    'Nothing was changed or charged. Show this to the user. If the user agrees, call the tool again with the same ' +
    `arguments and those of \`confirm_with\`. The code is valid for an hour, and a repeat with it has no second effect.`
  const data = { dry_run: true, would: what, quote: quoted.quote, confirm_with: { confirm: code, ...limit }, next }
  return { data, isError: false }
}

/** The arguments as the user reads them in a question. */
function toText(given: ToolArguments): string {
  const parts = Object.entries(given).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return parts.length > 0 ? ` (${parts.join(', ').slice(0, 500)})` : ''
}

async function answer(
  deps: ToolDeps,
  tool: Tool,
  given: ToolArguments,
  isShown: boolean,
  key: string | undefined,
): Promise<ToolOutcome> {
  const { operation } = tool
  const called = await callShop(deps.send, operation, given, key)
  if ('problem' in called) return refused(deps, called.problem)
  const { data, masked } = isShown ? { data: called.data, masked: [] } : maskSecrets(operation.id, called.data)
  const result = {
    data,
    ...(called.warnings !== undefined && { warnings: called.warnings }),
    ...(called.isReplay && { replayed: true }),
    ...(masked.length > 0 && { masked, note: toNote(tool) }),
  }
  return { data: result, isError: false }
}

const toNote = ({ operation }: Tool): string =>
  operation.method === 'GET'
    ? 'To see the masked fields, call again with show_passwords true.'
    : 'To see the masked fields, call a tool that reads them with show_passwords true. ' +
      'A secret that is shown once has to be made again.'

const refused = (deps: ToolDeps, problem: ToolProblem): ToolOutcome => ({
  data: { error: { ...problem, doc_url: problem.doc_url ?? deps.docUrl } },
  isError: true,
})

/** A problem of this server, before the shop was asked. */
export const fail = (deps: Pick<ToolDeps, 'docUrl'>, reason: string, message: string): ToolOutcome => ({
  data: { error: { code: 'mcp', reason, message, charged: false, doc_url: deps.docUrl } },
  isError: true,
})
