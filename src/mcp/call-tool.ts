import { takesKey } from '../api/operation.ts'
import { findUnknown, toText } from './arguments.ts'
import type { Confirmations } from './confirmation.ts'
import { quote } from './quotes.ts'
import { maskSecrets } from './secrets.ts'
import { type Called, callShop, type Send, type ToolArguments, type ToolProblem } from './shop-call.ts'
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
  const unknown = findUnknown(tool, args)
  if (unknown !== undefined) return fail(deps, 'unknown_argument', `${unknown} Nothing was changed or charged.`)
  const { show_passwords: shown, idempotency_key: key, ...given } = args
  if (tool.isConfirmed) return callConfirmed(deps, tool, args, agreement)
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
  agreement: Agreement,
): Promise<ToolOutcome> {
  const { operation } = tool
  // The limit is not part of what is confirmed: the first call has none, and the shop compares it with the price.
  const { show_passwords: shown, confirm, max_price_rub: limit, ...tied } = args
  if (agreement.kind === 'declined') return fail(deps, 'declined', 'The user declined. Nothing was changed or charged.')
  const sent = agreement.kind === 'accepted' ? agreement.code : confirm
  const code = typeof sent === 'string' ? sent : ''
  const confirmed = deps.confirmations.read(operation.id, tied, code)
  // A client that can ask its user is not taken at its model's word, unless the user agreed to this code before.
  const isRepeat = confirmed !== 'wrong' && confirmed.isAgreed
  if (code === '' || (agreement.kind === 'not asked yet' && !isRepeat)) return propose(deps, tool, tied, agreement)
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
  const priced = { ...tied, ...(maxPrice !== undefined && { max_price_rub: maxPrice }) }
  const called = await callShop(deps.send, operation, priced, key)
  if ('data' in called || key === undefined || !isOpen(called.problem))
    return toOutcome(deps, tool, called, shown === true)
  const repeat_with = { confirm: deps.confirmations.agree(operation.id, tied, code) }
  return refused(deps, { ...called.problem, repeat_with })
}

/** Whether the call may have been made. A repeat must have the same key, without another question to the user. */
const isOpen = ({ reason, charged }: ToolProblem): boolean =>
  charged === null || ['request_in_progress', 'shop_unreachable', 'no_shop_answer'].includes(reason)

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
  const what = `${definition.title}${toText(tool, given)}`
  if (agreement.kind === 'not asked yet') {
    const cost = quoted.price === undefined ? 'This cannot be undone.' : `This charges ${quoted.price} RUB.`
    return { question: `${what}. ${cost}`, code }
  }
  const limit = quoted.price === undefined ? {} : { max_price_rub: quoted.price }
  const next =
    'Nothing was changed or charged. Show this to the user. If the user agrees, call the tool again with the same ' +
    `arguments and those of \`confirm_with\`. The code is valid for an hour. ${effectOfRepeat(operation)}`
  const data = { dry_run: true, would: what, quote: quoted.quote, confirm_with: { confirm: code, ...limit }, next }
  return { data, isError: false }
}

/** The server keeps no codes: only what has a key is done once. */
const effectOfRepeat = (operation: Tool['operation']): string =>
  takesKey(operation) ? 'A repeat with it has no second effect.' : 'Each call with it acts again: call once.'

async function answer(
  deps: ToolDeps,
  tool: Tool,
  given: ToolArguments,
  isShown: boolean,
  key: string | undefined,
): Promise<ToolOutcome> {
  const called = await callShop(deps.send, tool.operation, given, key)
  if ('data' in called || key === undefined || !isOpen(called.problem)) return toOutcome(deps, tool, called, isShown)
  // With its key a repeat creates nothing more.
  return refused(deps, { ...called.problem, repeat_with: { idempotency_key: key } })
}

function toOutcome(deps: ToolDeps, tool: Tool, called: Called, isShown: boolean): ToolOutcome {
  if ('problem' in called) return refused(deps, called.problem)
  const { operation } = tool
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
