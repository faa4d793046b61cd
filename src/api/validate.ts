import { type FieldProblem, malformed } from '../core/refusal.ts'
import { findMeant } from './names.ts'
import type { z } from './operation.ts'

/** Reads untrusted values with a schema; every faulty field is named at once. */
export function readFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  from: 'body' | 'query' = 'body',
): z.output<Schema> {
  const outcome = schema.safeParse(value, { reportInput: true })
  if (outcome.success) return outcome.data
  const problems = outcome.error.issues.map((issue) => toProblem(issue, from))
  throw malformed(withMeant(problems, 'shape' in schema ? Object.keys(schema.shape as object) : [], value))
}

/** A field that is missing while one that is not known was sent: perhaps one was meant by the other. */
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
}

function toProblem(issue: z.core.$ZodIssue, from: 'body' | 'query'): FieldProblem {
  const field = issue.path.map(String).join('.') || 'body'
  const ofType = issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union'
  if (ofType && issue.input === undefined) return { field, problem: 'is required' }
  if (issue.code === 'invalid_type') {
    if (from === 'query' && Array.isArray(issue.input)) return { field, problem: 'must be given once' }
    return { field, problem: typeProblems[issue.expected] ?? issue.message }
  }
  if (issue.code === 'invalid_value') return oneOf(field, issue.values.filter(isShowable))
  const allowed: unknown = issue.code === 'custom' ? issue.params?.['allowed'] : undefined
  return Array.isArray(allowed) ? oneOf(field, allowed.filter(isShowable)) : { field, problem: issue.message }
}

const isShowable = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

const oneOf = (field: string, allowed: readonly (string | number)[]): FieldProblem => ({
  field,
  problem: `must be one of ${allowed.join(', ')}`,
  allowed,
})

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
