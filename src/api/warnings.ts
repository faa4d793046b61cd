import type { Json } from './json.ts'
import type { Operation } from './operation.ts'

/**
 * Something that was sent and did nothing, or not what its name says: named beside the answer, so that a wrong guess
 * is seen.
 */
export type Warning = { readonly field: string; readonly problem: string }

type Body = { readonly [name: string]: Json }

const mostWarnings = 20
const longestName = 64

/**
 * The body as it is understood, and what in query and body is not known to the operation. Existing clients send extra
 * fields, so they are accepted; but nobody should take a dropped field for one that was heeded.
 */
export function findWarnings(
  operation: Pick<Operation, 'method' | 'query' | 'body' | 'singular'>,
  query: Readonly<Record<string, unknown>>,
  body: Body,
): { readonly fields: Body; readonly warnings: readonly Warning[] } {
  const inQuery = Object.keys(operation.query.shape)
  const inBody = Object.keys(operation.body.shape)
  const misplaced = (name: string): string | undefined =>
    operation.method === 'POST' && inBody.includes(name)
      ? 'was ignored in the address; this operation reads it from the body'
      : undefined
  const ofQuery = Object.keys(query)
    .filter((name) => !inQuery.includes(name))
    .map((name) => ({ field: name, problem: misplaced(name) ?? problemOf(name, inQuery) }))
  const { fields, warnings: renamed } = readSingular(operation.singular, body)
  const ofBody = Object.keys(fields)
    .filter((name) => !inBody.includes(name))
    .map((name) => ({ field: name, problem: problemOf(name, inBody) }))
  return { fields, warnings: limited([...ofQuery, ...renamed, ...ofBody]) }
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
    return { field: name, problem: `was read as ${list}; did you mean ${list}?` }
  })
  return { fields, warnings }
}

function problemOf(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === undefined ? 'is not known here and was ignored' : `is not known here; did you mean ${nearest}?`
}

/** A body of 64 KiB has room for thousands of names; the first ones tell enough. */
function limited(warnings: readonly Warning[]): Warning[] {
  const shown = warnings
    .slice(0, mostWarnings)
    .map(({ field, problem }) => ({ field: field.slice(0, longestName), problem }))
  const more = warnings.length - shown.length
  return more === 0 ? shown : [...shown, { field: 'body', problem: `has ${more} more fields that are not known here` }]
}

/** The known name that was most likely meant, if any is near enough. */
function findNearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined
  let nearest: { name: string; distance: number } | undefined
  for (const each of known) {
    const distance = distanceOf(toPlain(name), toPlain(each))
    if (distance !== undefined && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
      nearest = { name: each, distance }
    }
  }
  return nearest?.name
}

/** `countryCode`, `Country-Code` and `country_code` are one name. */
const toPlain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')
const toOne = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '')

/** How far two names are from each other; undefined when one is no likely slip of the other. */
function distanceOf(a: string, b: string): number | undefined {
  if (a === b) return 0
  if (toOne(a) === toOne(b)) return 0.5
  const edits = editsBetween(a, b)
  const shorter = Math.min(a.length, b.length)
  if (edits <= Math.max(1, Math.floor(shorter / 3)) && shorter > 2) return edits
  return shorter > 2 && (a.includes(b) || b.includes(a)) ? 10 + edits : undefined
}

/** Levenshtein's distance: letters put in, left out or changed. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let at = 0; at < a.length; at += 1) {
    const next = [at + 1]
    for (let column = 1; column <= b.length; column += 1) {
      const changed = (row[column - 1] ?? 0) + (a[at] === b[column - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
