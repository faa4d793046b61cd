import { type Code, kindOfCode, type RefusalKind } from './messages/codes.ts'
import { en } from './messages/en.ts'
import { codeOfReason } from './messages/reasons.ts'
import { type ParamsOf, type Reason, type Sentences, toSentence } from './messages/sentences.ts'

/** Public details of a refusal, as plain JSON. */
export type RefusalDetails = { readonly [name: string]: unknown } | readonly FieldProblem[]

/** One faulty field of a request. `allowed` is a short list of accepted values, `see` a page to read. */
export type FieldProblem = {
  readonly field: string
  readonly problem: string
  readonly allowed?: readonly (string | number)[]
  readonly see?: string
}

/**
 * A refused request. Code, reason, parameters and message are public. Any other thrown error is a fault: logged whole
 * and answered as `internal_error`.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reason: Reason
  readonly params: object
  readonly code: Code
  readonly kind: RefusalKind
  readonly details: RefusalDetails | null
  readonly retryAfterSeconds: number | undefined

  constructor(...[reason, params = {}, details = null, retryAfterSeconds, code]: RefusalArguments) {
    super(toSentence(en, reason, params))
    this.reason = reason
    this.params = params
    this.code = code ?? codeOfReason[reason]
    this.kind = kindOfCode[this.code] ?? 'conflict'
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }

  say(sentences: Sentences): string {
    return toSentence(sentences, this.reason, this.params)
  }

  with(details: RefusalDetails): Refusal {
    const given = [this.reason, this.params, details, this.retryAfterSeconds, this.code] as RefusalArguments
    return Object.assign(new Refusal(...given), { cause: this.cause })
  }
}

type Rest = [details?: RefusalDetails | null, retryAfterSeconds?: number | undefined, code?: Code]

type RefusalArguments = {
  [Named in Reason]: ParamsOf<Named> extends Readonly<Record<string, never>>
    ? [reason: Named, params?: ParamsOf<Named>, ...rest: Rest]
    : [reason: Named, params: ParamsOf<Named>, ...rest: Rest]
}[Reason]

/** A refusal by a command, about this machine or in the words of a remote shop. */
export const refuseHere = (text: string, code: Code = 'conflict', details: RefusalDetails | null = null): Refusal =>
  new Refusal('here', { text }, details, undefined, code)

/** Refuses all faulty fields at once, so that a client can fix them together. */
export function malformed(problems: readonly FieldProblem[]): Refusal {
  return new Refusal('invalid_request', { problems }, problems)
}

/** Renames the fields of a refusal that are nested in `outer`; any other error as it is. */
export function namedWithin(outer: string, error: unknown): unknown {
  if (!(error instanceof Refusal) || error.details === null) return error
  const { details } = error
  const toInner = <Named extends { readonly field: string }>(of: Named): Named => ({
    ...of,
    field: `${outer}.${of.field}`,
  })
  if (isProblems(details)) return malformed(details.map(toInner))
  const { field } = details
  return typeof field === 'string' ? error.with(toInner({ ...details, field })) : error
}

const isProblems = (details: RefusalDetails): details is readonly FieldProblem[] => Array.isArray(details)
