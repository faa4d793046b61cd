import type { OrderId, TokenId } from '../core/ids.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import { type FieldProblem, toSent } from '../core/messages/problems.ts'
import { type Kopecks, kopecks } from '../core/money.ts'
import { assertSeesPasswords, type Caller } from '../domains/customers/index.ts'
import type { Metadata } from '../domains/metadata/rules.ts'
import type { Orders, PurchaseRequest, Sale } from '../domains/orders/index.ts'
import { readPlain } from '../domains/orders/rules.ts'
import { type AnswerLanguage, problemsOf } from './language.ts'
import type { Operation, z } from './operation.ts'
import { writeInSlices } from './sliced-json.ts'

export type Call<Op extends Operation, By = Caller> = {
  readonly caller: By
  readonly key: string | undefined
  /** The `X-Request-Id` of the answer; undefined for a command on the shop's machine. */
  readonly requestId: string | undefined
  readonly params: z.output<Op['params']>
  readonly query: z.output<Op['query']>
  readonly body: z.output<Op['body']>
  /** Fields that were sent and did nothing, or not what their names say; they are named beside the answer. */
  readonly warnings: readonly FieldProblem[]
  readonly language: AnswerLanguage
  /** Waits between slices of bulk work, so that requests of others run; at once for an ordinary request. */
  readonly nextSlice: () => Promise<void>
  /** Throws when the client's connection has closed, so that a transaction which would go unanswered is undone. */
  readonly assertConnected: () => void
}

export type Bound<By = Caller> = {
  readonly operation: Operation
  readonly run: (call: Call<Operation, By>) => Promise<Answered>
  /**
   * Waits before the request takes a turn, so that it keeps nothing from other requests; the caller is authenticated
   * again after it. The signal aborts when the client goes away.
   */
  readonly waitFirst?: (of: {
    readonly caller: By
    readonly query: Readonly<Record<string, unknown>>
    readonly signal: AbortSignal
  }) => Promise<void>
}

export type Answered = {
  readonly body: string
  /** Whether the body was stored by an earlier request under the same key. */
  readonly replayed: boolean
  /** The version of the API that a replayed answer was written in. */
  readonly version?: string
  /** The order that a purchase made. */
  readonly order?: OrderId | null
  readonly mediaType?: string
  /** The name under which a browser saves the answer as a file. */
  readonly fileName?: string
  readonly cookie?: string | undefined
  /** A new secret that authenticates from now on. */
  readonly issued?: string | undefined
  readonly owner?: string | undefined
}

/** An answer before it is written: data for its schema with warnings, or the text of a file. */
type Reply<Op extends Operation> = Partial<Omit<Answered, 'body'>> &
  ({ readonly data: z.input<Op['answer']>; readonly warnings?: readonly FieldProblem[] } | { readonly body: string })

/** An operation whose answer may set a cookie, repeat an earlier one or be a file. */
export const bindReply = <Op extends Operation, By = Caller>(
  operation: Op,
  run: (call: Call<Op, By>) => Promise<Reply<Op>>,
): Bound<By> => ({
  operation,
  run: async (call) => {
    const reply = await run(call)
    if ('body' in reply) return { replayed: false, ...reply }
    const { data, warnings, ...rest } = reply
    return { replayed: false, ...rest, body: await toSlicedSuccess(operation, data, call, warnings) }
  },
})

export const bind = <Op extends Operation, By = Caller>(
  operation: Op,
  run: (call: Call<Op, By>) => Promise<z.input<Op['answer']>>,
): Bound<By> =>
  bindReply<Op, By>(operation, async (call) => {
    const data = await run(call)
    return { data, issued: issuedIn(operation, data) }
  })

export type BoughtBy<Buy extends (request: never, ...rest: never[]) => unknown> =
  Parameters<Buy>[0] extends PurchaseRequest<infer Bought> ? Bought : never

/** An operation that charges. The sale renders the answer with `toShape` and stores it in its transaction. */
export function bindPurchase<Op extends Operation, Bought>(
  operation: Op,
  toShape: (bought: Bought, call: Call<Operation>) => z.input<Op['answer']>,
  run: (request: PurchaseRequest<Bought>, call: Call<Op>) => Promise<Answered>,
  warningsOf: (bought: Bought) => readonly FieldProblem[] = () => [],
): Bound {
  return {
    operation,
    run: async (call) => {
      let issued: string | undefined
      const toBody = (bought: Bought): string => {
        // Last before the commit: a sale whose client has gone is rolled back.
        call.assertConnected()
        const data = toShape(bought, call)
        issued = issuedIn(operation, data)
        return toSuccess(operation, data, call, warningsOf(bought))
      }
      const { caller, key, requestId } = call
      const assertReplayable = (madeBy: TokenId | null, order: OrderId | null): void => {
        if (operation.isSecret && (madeBy === null || madeBy !== caller.token?.id)) assertSeesPasswords(caller, order)
      }
      const maxPrice = maxPriceIn(call.body)
      const metadata = metadataIn(call.body)
      const answered = await run({ by: caller, key, requestId, toBody, assertReplayable, maxPrice, metadata }, call)
      return { ...answered, issued }
    },
  }
}

/**
 * An operation that creates something without an order. Its effect and the answer under its key are one transaction.
 * `prepare` reads what needs another connection; all that may refuse is in the function that it returns.
 */
export const bindCreation = <Op extends Operation, Made>(
  operation: Op,
  orders: Pick<Orders, 'sell'>,
  toShape: (made: Made) => z.input<Op['answer']>,
  prepare: (call: Call<Op>) => MaybePromise<(tx: Sale['tx']) => Promise<Made>>,
): Bound =>
  bindPurchase<Op, Made>(operation, toShape, async (request, call) => {
    const make = await prepare(call)
    const input = readPlain(JSON.stringify(call.body))
    const what = { product: 'api', action: operation.id, input, isUnordered: true } as const
    return orders.sell(request, what, ({ tx }) => make(tx))
  })

/** `max_price_rub` of a purchase, as its schema has read it; free operations have none. */
const maxPriceIn = (body: object): Kopecks | undefined =>
  'max_price_rub' in body && typeof body.max_price_rub === 'bigint' ? kopecks(body.max_price_rub) : undefined

/** `metadata` of a purchase, as its schema has read it. An operation without an order has it in its own input. */
const metadataIn = (body: object): Metadata | undefined =>
  'metadata' in body ? (body.metadata as Metadata | undefined) : undefined

export const issuedIn = ({ isIssuing }: Operation, data: unknown): string | undefined =>
  isIssuing ? (data as { readonly token: string }).token : undefined

type Language = Pick<Call<Operation>, 'warnings' | 'language'>

/** The answer passes its schema, which drops undeclared fields. */
const toSuccess = (
  operation: Operation,
  value: unknown,
  { warnings, language }: Language,
  ofResult: readonly FieldProblem[] = [],
): string => envelope(JSON.stringify(operation.answer.parse(value)), [...warnings, ...ofResult], language)

/** The same, a long list in slices. */
async function toSlicedSuccess(
  operation: Operation,
  value: unknown,
  { warnings, language, nextSlice }: Language & Pick<Call<Operation>, 'nextSlice'>,
  ofResult: readonly FieldProblem[] = [],
): Promise<string> {
  return envelope(await writeInSlices(operation.answer, value, nextSlice), [...warnings, ...ofResult], language)
}

function envelope(data: string, found: readonly FieldProblem[], language: AnswerLanguage): string {
  const warnings = found.map((each) => toSent(problemsOf[language], each))
  return `{"ok":true,"data":${data}${warnings.length > 0 ? `,"warnings":${JSON.stringify(warnings)}` : ''}}`
}
