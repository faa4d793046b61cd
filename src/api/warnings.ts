import { type FieldProblem, fieldProblem, type ProblemArguments } from '../core/messages/problems.ts'
import type { Json } from './json.ts'
import { findNearest } from './names.ts'
import { type Operation, takesKey } from './operation.ts'

type Body = { readonly [name: string]: Json }

const maxWarnings = 20
const longestName = 64

/** The body as it is understood, and a warning for each unknown field: existing clients send extra fields. */
export function findWarnings(
  operation: Pick<Operation, 'method' | 'query' | 'body' | 'singular' | 'inner' | 'charges' | 'creates'>,
  query: Readonly<Record<string, unknown>>,
  body: Body,
  headers: Headers,
): { readonly fields: Body; readonly warnings: readonly FieldProblem[] } {
  // Most questions say nothing at all.
  if (isEmpty(query) && isEmpty(body)) return { fields: body, warnings: ofKey(operation, headers) }
  const inQuery = Object.keys(operation.query.shape)
  const inBody = Object.keys(operation.body.shape)
  const misplaced = (name: string): ProblemArguments | undefined =>
    operation.method === 'POST' && inBody.includes(name) ? ['ignored_in_address'] : undefined
  const ofQuery = Object.keys(query)
    .filter((name) => !inQuery.includes(name))
    .map((name) => ({ field: name, problem: () => misplaced(name) ?? misplacedKey(name) ?? problemOf(name, inQuery) }))
  const { fields, warnings: renamed } = readSingular(operation.singular, body)
  const ofBody = Object.keys(fields)
    .filter((name) => !inBody.includes(name))
    .map((name) => ({ field: name, problem: () => misplacedKey(name) ?? problemOf(name, inBody) }))
  const found = [...ofKey(operation, headers), ...ofQuery, ...renamed, ...ofBody, ...ofInner(operation.inner, fields)]
  return { fields, warnings: limited(found) }

  function misplacedKey(name: string): ProblemArguments | undefined {
    const isKey = takesKey(operation) && !headers.has(keyHeader) && keyName.test(name)
    return isKey ? ['key_misplaced'] : undefined
  }
}

function isEmpty(sent: Readonly<Record<string, unknown>>): boolean {
  for (const _ in sent) return false
  return true
}

const keyHeader = 'Idempotency-Key'
const keyName = /^(x[-_]?)?idempotency[-_]?key$/i
const likeKeyHeader = ['X-Idempotency-Key', 'Idempotency_Key', 'X_Idempotency_Key', 'IdempotencyKey', 'XIdempotencyKey']

/** An idempotency key in the wrong place: its sender believes that a retry is safe. */
function ofKey(operation: Pick<Operation, 'charges' | 'creates'>, headers: Headers): FieldProblem[] {
  if (headers.has(keyHeader)) return takesKey(operation) ? [] : [fieldProblem(keyHeader, 'key_unused')]
  if (!takesKey(operation)) return []
  return likeKeyHeader.filter((name) => headers.has(name)).map((field) => fieldProblem(field, 'key_misplaced'))
}

/** A singular name for a list of one: `country` for `countries`. If both are sent, the list wins. */
function readSingular(
  singular: Readonly<Record<string, string>>,
  body: Body,
): { readonly fields: Body; readonly warnings: readonly FieldProblem[] } {
  const guessed = Object.keys(singular).filter((name) => body[name] !== undefined)
  if (guessed.length === 0) return { fields: body, warnings: [] }
  const fields: { [name: string]: Json } = { ...body }
  const warnings = guessed.map((name) => {
    const value = body[name] ?? null
    const list = singular[name] ?? name
    delete fields[name]
    if (fields[list] !== undefined) return fieldProblem(name, 'ignored_for', { other: list })
    fields[list] = Array.isArray(value) ? value : [value]
    return fieldProblem(name, 'read_as', { other: list })
  })
  return { fields, warnings }
}

function ofInner(inner: Operation['inner'], body: Body): Doubt[] {
  return inner.flatMap(({ field: outer, namesIn }) => {
    const value = body[outer]
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
    const known = namesIn(value)
    return Object.keys(value)
      .filter((name) => known && !known.includes(name))
      .map((name) => ({ field: `${outer}.${name}`, problem: () => problemOf(name, known ?? []) }))
  })
}

function problemOf(name: string, known: readonly string[]): ProblemArguments {
  const nearest = findNearest(name, known)
  return nearest === undefined ? ['ignored_unknown'] : ['ignored_similar', { nearest }]
}

/** A warning whose problem is found on demand, because the search for a similar name takes time. */
type Doubt = FieldProblem | { readonly field: string; readonly problem: () => ProblemArguments }

/** The first warnings and the number of the others: a body of 64 KiB has room for thousands of unknown names. */
function limited(doubts: readonly Doubt[]): FieldProblem[] {
  const shown = doubts.slice(0, maxWarnings).map((doubt) => {
    const field = doubt.field.slice(0, longestName)
    return 'problem' in doubt ? fieldProblem(field, ...doubt.problem()) : { ...doubt, field }
  })
  const fields = doubts.length - shown.length
  return fields === 0 ? shown : [...shown, fieldProblem('body', 'more_unknown', { fields })]
}
