import type { Json } from './json.ts'
import { findNearest } from './names.ts'
import type { Operation } from './operation.ts'

/**
 * Something that was sent and did nothing, or not what its name says: named beside the answer, so that a wrong guess
 * is seen.
 */
export type Warning = { readonly field: string; readonly problem: string }

type Body = { readonly [name: string]: Json }

const maxWarnings = 20
const longestName = 64

/**
 * The body as it is understood, and what in query and body is not known to the operation. Existing clients send extra
 * fields, so they are accepted, and the warning says that they were dropped.
 */
export function findWarnings(
  operation: Pick<Operation, 'method' | 'query' | 'body' | 'singular' | 'inner' | 'charges'>,
  query: Readonly<Record<string, unknown>>,
  body: Body,
  headers: Headers,
): { readonly fields: Body; readonly warnings: readonly Warning[] } {
  // Most questions say nothing at all.
  if (isEmpty(query) && isEmpty(body)) return { fields: body, warnings: ofKey(operation, headers) }
  const inQuery = Object.keys(operation.query.shape)
  const inBody = Object.keys(operation.body.shape)
  const misplaced = (name: string): string | undefined =>
    operation.method === 'POST' && inBody.includes(name)
      ? 'was ignored in the address; this operation reads it from the body'
      : undefined
  const ofQuery = Object.keys(query)
    .filter((name) => !inQuery.includes(name))
    .map((name) => ({ field: name, problem: () => misplaced(name) ?? misplacedKey(name) ?? problemOf(name, inQuery) }))
  const { fields, warnings: renamed } = readSingular(operation.singular, body)
  const ofBody = Object.keys(fields)
    .filter((name) => !inBody.includes(name))
    .map((name) => ({ field: name, problem: () => misplacedKey(name) ?? problemOf(name, inBody) }))
  const found = [...ofKey(operation, headers), ...ofQuery, ...renamed, ...ofBody, ...ofInner(operation.inner, fields)]
  return { fields, warnings: limited(found) }

  function misplacedKey(name: string): string | undefined {
    const isKey = operation.charges && !headers.has(keyHeader) && keyName.test(name)
    return isKey ? sentElsewhere : undefined
  }
}

function isEmpty(sent: Readonly<Record<string, unknown>>): boolean {
  for (const _ in sent) return false
  return true
}

const keyHeader = 'Idempotency-Key'
const keyName = /^(x[-_]?)?idempotency[-_]?key$/i
const likeKeyHeader = ['X-Idempotency-Key', 'Idempotency_Key', 'X_Idempotency_Key', 'IdempotencyKey', 'XIdempotencyKey']
const sentElsewhere = 'was ignored, so a retry is not safe; send it as the header Idempotency-Key'

/** An idempotency key in the wrong place: its sender believes that a retry is safe. */
function ofKey(operation: Pick<Operation, 'charges'>, headers: Headers): Warning[] {
  if (headers.has(keyHeader)) {
    const problem = 'was ignored: this operation charges nothing and takes no key'
    return operation.charges ? [] : [{ field: keyHeader, problem }]
  }
  if (!operation.charges) return []
  return likeKeyHeader.filter((name) => headers.has(name)).map((field) => ({ field, problem: sentElsewhere }))
}

/** One in place of a list of one: `country` for `countries`. A list that is given itself goes before. */
function readSingular(
  singular: Readonly<Record<string, string>>,
  body: Body,
): { readonly fields: Body; readonly warnings: readonly Warning[] } {
  const guessed = Object.keys(singular).filter((name) => body[name] !== undefined)
  if (guessed.length === 0) return { fields: body, warnings: [] }
  const fields: { [name: string]: Json } = { ...body }
  const warnings = guessed.map((name) => {
    const value = body[name] ?? null
    const list = singular[name] ?? name
    delete fields[name]
    if (fields[list] !== undefined) return { field: name, problem: `was ignored, because ${list} is given` }
    fields[list] = Array.isArray(value) ? value : [value]
    return { field: name, problem: `was read as ${list}` }
  })
  return { fields, warnings }
}

/** What a field that is an object does not know. */
function ofInner(inner: Operation['inner'], body: Body): Doubt[] {
  return inner.flatMap(({ field: outer, namesIn }) => {
    const said = body[outer]
    if (typeof said !== 'object' || said === null || Array.isArray(said)) return []
    const known = namesIn(said)
    return Object.keys(said)
      .filter((name) => known && !known.includes(name))
      .map((name) => ({ field: `${outer}.${name}`, problem: () => problemOf(name, known ?? []) }))
  })
}

function problemOf(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === undefined ? 'is not known here and was ignored' : `is not known here; did you mean ${nearest}?`
}

/** A warning whose words are not found yet: what a name was meant for takes time to find. */
type Doubt = { readonly field: string; readonly problem: string | (() => string) }

/** A body of 64 KiB has room for thousands of names; the first tell enough, and only their words are looked for. */
function limited(doubts: readonly Doubt[]): Warning[] {
  const shown = doubts.slice(0, maxWarnings).map(({ field, problem }) => ({
    field: field.slice(0, longestName),
    problem: typeof problem === 'string' ? problem : problem(),
  }))
  const more = doubts.length - shown.length
  return more === 0 ? shown : [...shown, { field: 'body', problem: `has ${more} more fields that are not known here` }]
}
