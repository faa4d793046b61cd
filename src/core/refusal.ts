import { type KeyAndParams, toText } from './messages/catalogue.ts'
import { type Code, codeOf, kindOfCode, type RefusalKind } from './messages/codes.ts'
import { en } from './messages/en.ts'
import {
  type FieldProblem,
  fieldProblem,
  type ProblemArguments,
  type ProblemSentences,
  type SentProblem,
  toSent,
} from './messages/problems.ts'
import { type Reason, type Sentences } from './messages/sentences.ts'

export const isReason = (text: string | undefined): text is Reason => text !== undefined && Object.hasOwn(en, text)

/** Public details of a refusal, as plain JSON. */
export type RefusalDetails = { readonly [name: string]: unknown } | readonly FieldProblem[]

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
    super(toText(en, { reason, params }))
    this.reason = reason
    this.params = params
    this.code = code ?? codeOf(reason)
    this.kind = kindOfCode[this.code] ?? 'conflict'
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }

  say(sentences: Sentences): string {
    return toText(sentences, this)
  }

  with(details: RefusalDetails): Refusal {
    const given = [this.reason, this.params, details, this.retryAfterSeconds, this.code] as RefusalArguments
    return Object.assign(new Refusal(...given), { cause: this.cause })
  }
}

type Rest = [details?: RefusalDetails | null, retryAfterSeconds?: number | undefined, code?: Code]

type RefusalArguments = KeyAndParams<typeof en, Rest>

/** A refusal by a command, about this machine or in the words of a remote shop. */
export const refuseHere = (text: string, code: Code = 'conflict', details: RefusalDetails | null = null): Refusal =>
  new Refusal('here', { text }, details, undefined, code)

/** Refuses all faulty fields at once, so that a client can fix them together. */
export const malformed = (problems: readonly FieldProblem[]): Refusal =>
  new Refusal('invalid_request', { problems }, problems)

/** Refuses one faulty field. */
export const refuseField = (field: string, ...problem: ProblemArguments): Refusal =>
  malformed([fieldProblem(field, ...problem)])

/** Runs every check of a form, and refuses the faulty fields of all of them at once. Any other error is thrown. */
export function refuseTogether(...checks: readonly (() => void)[]): void {
  const problems: FieldProblem[] = []
  for (const check of checks) {
    try {
      check()
    } catch (error) {
      if (!(error instanceof Refusal) || error.details === null || !isProblems(error.details)) throw error
      problems.push(...error.details)
    }
  }
  if (problems.length > 0) throw malformed(problems)
}

/** Renames the fields of a refusal that are nested in `outer`; any other error as it is. */
export function namedWithin(outer: string, error: unknown): unknown {
  if (!(error instanceof Refusal) || error.details === null) return error
  const { details } = error
  if (isProblems(details)) return malformed(details.map((each) => ({ ...each, field: `${outer}.${each.field}` })))
  const { field } = details
  return typeof field === 'string' ? error.with({ ...details, field: `${outer}.${field}` }) : error
}

export const isProblems = (details: RefusalDetails): details is readonly FieldProblem[] => Array.isArray(details)

/** Field problems with their sentences. A remote shop has sent its own sentences. */
export const toSentProblems = (
  problems: readonly FieldProblem[],
  sentences: ProblemSentences,
): readonly SentProblem[] =>
  problems.map((each) => ('problem' in each ? (each as SentProblem) : toSent(sentences, each)))

export const toSentDetails = (details: RefusalDetails | null, sentences: ProblemSentences): object | null =>
  details !== null && isProblems(details) ? toSentProblems(details, sentences) : details
