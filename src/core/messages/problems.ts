import { type KeyAndParams, type Message, messagesOf, type Translation, toText } from './catalogue.ts'
import type { problemsEn } from './problems-en.ts'

/** The sentence of each problem of a field, in one language. */
export type ProblemSentences = Translation<typeof problemsEn>

export type ProblemArguments = KeyAndParams<typeof problemsEn>

/** Why a value is refused: a key of the catalogue and its parameters. */
export type Problem = Message<typeof problemsEn>

/** One faulty field of a request. `allowed` is a short list of accepted values, `see` a page to read. */
export type FieldProblem = Problem & {
  readonly field: string
  readonly allowed?: readonly (string | number)[]
  readonly see?: string
}

const toProblem = messagesOf<typeof problemsEn>()

/** Accepted values that the sentence names are listed beside it too. */
export function toFieldProblem(field: string, of: Problem): FieldProblem {
  return { field, ...of, ...('allowed' in of.params && { allowed: of.params.allowed }) }
}

export const fieldProblem = (field: string, ...problem: ProblemArguments): FieldProblem =>
  toFieldProblem(field, toProblem(...problem))

/** A problem as the message of a Zod check, which must be a string. `decodeProblem` reads it. */
export const problem = (...of: ProblemArguments): string => JSON.stringify(toProblem(...of))

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'reason' in value && 'params' in value

/** The problem in the message of a Zod issue; `invalid` if the message is a plain text. */
export function decodeProblem(message: string): Problem {
  try {
    const decoded: unknown = JSON.parse(message)
    return isProblem(decoded) ? decoded : toProblem('invalid')
  } catch {
    return toProblem('invalid')
  }
}

/** `field: problem; field: problem`, for the message of a refusal. */
export const listProblems = (sentences: ProblemSentences, problems: readonly FieldProblem[]): string =>
  problems.map((each) => `${each.field}: ${toText(sentences, each)}`).join('; ')

/** A field problem as it is sent: with its sentence. */
export type SentProblem = Pick<FieldProblem, 'field' | 'allowed' | 'see'> &
  Readonly<{ problem: string; reason: string; params: object }>

export const toSent = (sentences: ProblemSentences, { field, ...rest }: FieldProblem): SentProblem => ({
  field,
  problem: toText(sentences, rest),
  ...rest,
})
