import { type FieldProblem, malformed } from '../core/refusal.ts'
import { findMeant } from './names.ts'
import type { z } from './operation.ts'

/** Parses untrusted values with a schema. A refusal names every faulty field, each with a problem in plain English. */
export function readFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  from: 'body' | 'query' = 'body',
): z.output<Schema> {
  const outcome = schema.safeParse(value, { reportInput: true, error: (issue) => problemOf(issue, from) })
  if (outcome.success) return outcome.data
  const problems = outcome.error.issues.map(toProblem)
  throw malformed(withMeant(problems, 'shape' in schema ? Object.keys(schema.shape as object) : [], value))
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
    return name === undefined ? each : { ...each, problem: `${each.problem}; did you mean it by "${name}"?` }
  })
}

const typeProblems: Readonly<Record<string, string>> = {
  int: 'must be a whole number',
  number: 'must be a number',
  string: 'must be a string',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
  record: 'must be an object',
}

/** What `minimum` and `maximum` of an issue count, by the kind of value. */
const units: Readonly<Record<string, string>> = { string: 'character', array: 'item', set: 'item', map: 'entry' }

function limitOf(origin: string, limit: number | bigint): string {
  const unit = units[origin]
  return unit === undefined ? String(limit) : `${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`
}

/** The Zod error map: the problem of each issue whose check has no message of its own. */
function problemOf(issue: z.core.$ZodRawIssue, from: 'body' | 'query'): string {
  const isOfType = issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union'
  if (isOfType && issue.input === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      if (from === 'query' && Array.isArray(issue.input)) return 'must be given once'
      return typeProblems[issue.expected] ?? 'has the wrong type'
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      if (units[issue.origin]) return `must have at least ${limitOf(issue.origin, issue.minimum)}`
      return issue.inclusive ? `must be at least ${issue.minimum}` : `must be more than ${issue.minimum}`
    case 'too_big':
      if (units[issue.origin]) return `must have at most ${limitOf(issue.origin, issue.maximum)}`
      return issue.inclusive ? `must be at most ${issue.maximum}` : `must be less than ${issue.maximum}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ')}`
    case 'invalid_format':
      return 'has the wrong format'
    case 'invalid_key':
      return 'has a name that is not allowed'
    case 'invalid_union':
      return 'has none of the allowed forms'
    default:
      return 'is not valid'
  }
}

/** The problem of a field, with the allowed values where they are a short list. */
function toProblem(issue: z.core.$ZodIssue): FieldProblem {
  const field = issue.path.map(String).join('.') || 'body'
  const isWrong = issue.code === 'invalid_value' && issue.input !== undefined
  const values: unknown = isWrong ? issue.values : issue.code === 'custom' ? issue.params?.['allowed'] : undefined
  if (!Array.isArray(values)) return { field, problem: issue.message }
  const allowed = values.filter(isShowable)
  return { field, problem: `must be one of ${allowed.join(', ')}`, allowed }
}

const isShowable = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

/**
 * A query as an object. A name given twice is a list, which only fields that are lists accept; so is one that is
 * written as programs write lists, `ids[]=1` or `ids[0]=1`.
 */
export function readQuery(parameters: URLSearchParams): Record<string, string | string[]> {
  const fields = Object.create(null) as Record<string, string | string[]>
  for (const [written, value] of parameters) {
    const [, listed] = /^(\w+)\[\d{0,4}\]$/.exec(written) ?? []
    const name = listed ?? written
    const before = fields[name]
    if (before === undefined) fields[name] = listed === undefined ? value : [value]
    else fields[name] = [...(Array.isArray(before) ? before : [before]), value]
  }
  return fields
}
