import { type FieldProblem, malformed } from '../kernel/refusal.ts'
import type { z } from './operation.ts'

/** Reads untrusted values with a schema; every faulty field is named at once. */
export function readFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const outcome = schema.safeParse(value, { reportInput: true })
  if (outcome.success) return outcome.data
  throw malformed(outcome.error.issues.map(toProblem))
}

function toProblem(issue: z.core.$ZodIssue): FieldProblem {
  const field = issue.path.map(String).join('.') || 'body'
  if (issue.code === 'invalid_type' && issue.input === undefined) return { field, problem: 'is required' }
  if (issue.code === 'invalid_type') return { field, problem: `must be of type ${issue.expected}` }
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.filter((each) => typeof each === 'string' || typeof each === 'number')
    return { field, problem: `must be one of ${allowed.join(', ')}`, allowed }
  }
  return { field, problem: issue.message }
}

/** A query as an object. A name given twice is a list, which only fields that are lists accept. */
export function readQuery(parameters: URLSearchParams): Record<string, string | string[]> {
  const fields = Object.create(null) as Record<string, string | string[]>
  for (const name of new Set(parameters.keys())) {
    const values = parameters.getAll(name)
    fields[name] = values.length === 1 && values[0] !== undefined ? values[0] : values
  }
  return fields
}
