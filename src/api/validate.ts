import { decodeProblem, type FieldProblem, fieldProblem, problem, toFieldProblem } from '../core/messages/problems.ts'
import type { ValueType } from '../core/messages/problems-en.ts'
import { malformed, refuseField } from '../core/refusal.ts'
import { findMeant } from './names.ts'
import type { z } from './operation.ts'

/** A refusal names at most this many fields, so that a small body cannot cause a large answer. */
const maxProblems = 20

/** Parses untrusted values with a schema. A refusal names the faulty fields, each with its first problem. */
export function readFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  from: 'body' | 'query' = 'body',
): z.output<Schema> {
  const outcome = schema.safeParse(value, { reportInput: true, error: (issue) => messageOf(issue, from) })
  if (outcome.success) return outcome.data
  const problems = new Map<string, FieldProblem>()
  for (const { path, message } of outcome.error.issues) {
    const field = path.map(String).join('.') || 'body'
    if (!problems.has(field)) problems.set(field, toFieldProblem(field, decodeProblem(message)))
    if (problems.size === maxProblems) break
  }
  const known = 'shape' in schema ? Object.keys(schema.shape as object) : []
  throw malformed(withMeant([...problems.values()], known, value))
}

/** Suggests an unknown field of the request for a missing one with a similar name. */
function withMeant(
  problems: readonly FieldProblem[],
  known: readonly string[],
  value: unknown,
): readonly FieldProblem[] {
  const sent = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const missing = problems.map((each) => each.field).filter((field) => known.includes(field) && !sent.includes(field))
  const unknown = sent.filter((name) => !known.includes(name))
  const meant = findMeant(missing, unknown)
  return problems.map((each) => {
    const name = meant.get(each.field)
    const isMeant = name !== undefined && each.reason === 'required'
    return isMeant ? fieldProblem(each.field, 'misspelt', { sent: name }) : each
  })
}

const typeOf: Readonly<Record<string, ValueType>> = {
  int: 'whole_number',
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  array: 'list',
  object: 'object',
  record: 'object',
}

/** The Zod error map: the encoded problem of each issue whose check has no message of its own. */
function messageOf(issue: z.core.$ZodRawIssue, from: 'body' | 'query'): string {
  const isOfType = issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union'
  if (isOfType && issue.input === undefined) return problem('required')
  switch (issue.code) {
    case 'invalid_type': {
      if (from === 'query' && Array.isArray(issue.input)) return problem('once')
      const expected = typeOf[issue.expected]
      return expected === undefined ? problem('wrong_type') : problem('type', { expected })
    }
    case 'invalid_value':
      return problem('one_of', { allowed: issue.values.filter(isShowable) })
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum), issue.inclusive)
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum), issue.inclusive)
    case 'not_multiple_of':
      return problem('multiple_of', { step: issue.divisor })
    case 'unrecognized_keys':
      return problem('unknown_fields', { names: issue.keys })
    case 'invalid_format':
      return problem('wrong_format')
    case 'invalid_key':
      return problem('name_not_allowed')
    case 'invalid_union':
      return problem('no_allowed_form')
    default:
      return problem('invalid')
  }
}

const isCounted = (origin: string): boolean => ['array', 'set', 'map'].includes(origin)

function tooSmall(origin: string, min: number, isInclusive: boolean | undefined): string {
  if (origin === 'string') return problem('min_characters', { min })
  if (isCounted(origin)) return problem('min_items', { min })
  return isInclusive ? problem('at_least', { min }) : problem('more_than', { min })
}

function tooBig(origin: string, max: number, isInclusive: boolean | undefined): string {
  if (origin === 'string') return problem('max_characters', { max })
  if (isCounted(origin)) return problem('max_items', { max })
  return isInclusive ? problem('at_most', { max }) : problem('less_than', { max })
}

const isShowable = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

type QueryFields = Record<string, string | string[] | Record<string, string | string[]>>

/**
 * A query as an object. `ids=1&ids=2`, `ids[]=1` and `ids[0]=1` are lists, which only fields that are lists accept.
 * `metadata[KEY]=VALUE` are the fields of an object.
 */
export function readQuery(parameters: URLSearchParams): QueryFields {
  const fields = Object.create(null) as Record<string, string | string[]>
  let pairs: Record<string, string | string[]> | undefined
  for (const [written, value] of parameters) {
    const key = /^metadata\[([^\]]+)\]$/.exec(written)?.[1]
    if (key !== undefined) {
      // No key of metadata has this name, and later readers of the object would leave it out.
      if (key === '__proto__') throw refuseField(written, 'wrong_format')
      pairs ??= Object.create(null) as Record<string, string | string[]>
      const before = pairs[key]
      pairs[key] = before === undefined ? value : [...[before].flat(), value]
      continue
    }
    const [, listed] = /^(\w+)\[\d{0,4}\]$/.exec(written) ?? []
    const name = listed ?? written
    const before = fields[name]
    if (before === undefined) fields[name] = listed === undefined ? value : [value]
    else fields[name] = [...(Array.isArray(before) ? before : [before]), value]
  }
  return pairs === undefined ? fields : { ...fields, metadata: pairs }
}
