import type { Caller } from '../domains/customers/index.ts'
import type { Answer, PurchaseRequest } from '../domains/orders/index.ts'
import type { Operation, z } from './operation.ts'
import type { Warning } from './warnings.ts'

/** What an operation is called with: who calls, under which key, and what was read from the request. */
export type Call<Op extends Operation, By = Caller> = {
  readonly caller: By
  readonly key: string | undefined
  readonly params: z.output<Op['params']>
  readonly query: z.output<Op['query']>
  readonly body: z.output<Op['body']>
  readonly warnings: readonly Warning[]
  /** Throws when the client's connection has closed, so that a transaction which would go unanswered is undone. */
  readonly assertConnected: () => void
}

/** An operation with what it does, down to the body of its answer. */
export type Bound<By = Caller> = {
  readonly operation: Operation
  readonly run: (call: Call<Operation, By>) => Promise<Answered>
}

export type Answered = Answer & {
  readonly mediaType?: string
  readonly cookie?: string | undefined
  /** What lets somebody in from now on. */
  readonly issued?: string | undefined
  /** Whose session the cookie is. */
  readonly owner?: string | undefined
}

export function bind<Op extends Operation, By = Caller>(
  operation: Op,
  run: (call: Call<Op, By>) => Promise<z.input<Op['answer']>>,
): Bound<By> {
  return {
    operation,
    run: async (call) => {
      const data = await run(call)
      return { body: toSuccess(operation, data, call.warnings), replayed: false, issued: issuedIn(operation, data) }
    },
  }
}

/** An operation that leaves something with the browser: a session, or none any more. */
export function bindCookie<Op extends Operation, By>(
  operation: Op,
  run: (
    call: Call<Op, By>,
  ) => Promise<Pick<Answered, 'owner'> & { readonly data: z.input<Op['answer']>; readonly cookie: string | undefined }>,
): Bound<By> {
  return {
    operation,
    run: async (call) => {
      const { data, cookie, owner } = await run(call)
      return { body: toSuccess(operation, data, call.warnings), replayed: false, cookie, owner }
    },
  }
}

/** An operation that takes a key and charges nothing: it says itself whether it was asked for before. */
export function bindRepeatable<Op extends Operation, By>(
  operation: Op,
  run: (call: Call<Op, By>) => Promise<{ readonly data: z.input<Op['answer']>; readonly isRepeat: boolean }>,
): Bound<By> {
  return {
    operation,
    run: async (call) => {
      const { data, isRepeat } = await run(call)
      return { body: toSuccess(operation, data, call.warnings), replayed: isRepeat }
    },
  }
}

/** A text as a file, of one of the media types that its operation names. */
export type TextFile = { readonly text: string; readonly mediaType: string }

/** An operation that answers with a file where its query asks for one. */
export function bindFile<Op extends Operation>(
  operation: Op,
  run: (call: Call<Op>) => Promise<TextFile | { readonly data: z.input<Op['answer']> }>,
): Bound {
  return {
    operation,
    run: async (call) => {
      const told = await run(call)
      return 'data' in told
        ? { body: toSuccess(operation, told.data, call.warnings), replayed: false }
        : { body: told.text, mediaType: told.mediaType, replayed: false }
    },
  }
}

/** An operation that charges. `toShape` is the answer to what was bought; the sale writes it down before it commits. */
export function bindPurchase<Op extends Operation, Bought>(
  operation: Op,
  toShape: (bought: Bought) => z.input<Op['answer']>,
  run: (request: PurchaseRequest<Bought>, call: Call<Op>) => Promise<Answer>,
  /** What the customer should know of what was bought. */
  warningsOf: (bought: Bought) => readonly Warning[] = () => [],
): Bound {
  return {
    operation,
    run: (call) => {
      const toBody = (bought: Bought): string => {
        // The last step before the commit.
        call.assertConnected()
        return toSuccess(operation, toShape(bought), [...call.warnings, ...warningsOf(bought)])
      }
      return run({ by: call.caller, key: call.key, toBody }, call)
    },
  }
}

const issuedIn = ({ isIssuing }: Operation, data: unknown): string | undefined =>
  isIssuing ? (data as { readonly token: string }).token : undefined

/** The answer goes through its own schema, so nothing undeclared leaves. */
const toSuccess = (operation: Operation, value: unknown, warnings: readonly Warning[]): string =>
  JSON.stringify({ ok: true, data: operation.answer.parse(value), ...(warnings.length > 0 && { warnings }) })
