/** Why the answer is no, coarsely; `api/status.ts` turns a kind into an HTTP status, once. */
export type RefusalKind =
  | 'malformed'
  | 'unauthenticated'
  | 'unpaid'
  | 'forbidden'
  | 'missing'
  | 'wrong_method'
  | 'conflict'
  | 'too_large'
  | 'unsupported'
  | 'mismatch'
  | 'too_many'
  | 'supplier'
  | 'unavailable'

/** What a refusal may carry besides its text: plain JSON, already safe to show. */
export type RefusalDetails = { readonly [name: string]: unknown } | readonly FieldProblem[]

/**
 * One faulty field of a request. `allowed` lists what would have been accepted, where that is a short list, and `see`
 * tells where there is more to read.
 */
export type FieldProblem = {
  readonly field: string
  readonly problem: string
  readonly allowed?: readonly (string | number)[]
  readonly see?: string
}

/**
 * An expected no that its reader can act on. All of it is public: the code is for programs and stable, the message
 * is for people. Anything else that is thrown is a fault, is logged whole, and is shown only as `internal_error`.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  constructor(
    readonly kind: RefusalKind,
    readonly code: string,
    message: string,
    readonly details: RefusalDetails | null = null,
    /** When it may be tried again, where that is known. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message)
  }
}

/** Refuses what was tried too often, and says when there is another try. */
export const tooMany = (message: string, retryAfterSeconds: number): Refusal =>
  new Refusal('too_many', 'rate_limited', message, { charged: false }, retryAfterSeconds)

/** Refuses a request for the named fields, all of them at once, so that a client mends them in one go. */
export function malformed(problems: readonly FieldProblem[]): Refusal {
  const fields = problems.map((each) => `${each.field}: ${each.problem}`).join('; ')
  return new Refusal('malformed', 'invalid_request', `The request is not valid. ${fields}`, problems)
}

/** What is refused of fields that stand within another one, by the names that they have there; the rest as it is. */
export function namedWithin(outer: string, error: unknown): unknown {
  if (!(error instanceof Refusal) || error.details === null) return error
  const { kind, code, message, details } = error
  const toInner = <Named extends { readonly field: string }>(of: Named): Named => ({
    ...of,
    field: `${outer}.${of.field}`,
  })
  if (isProblems(details)) return malformed(details.map(toInner))
  const { field } = details
  return typeof field === 'string' ? new Refusal(kind, code, message, toInner({ ...details, field })) : error
}

const isProblems = (details: RefusalDetails): details is readonly FieldProblem[] => Array.isArray(details)
