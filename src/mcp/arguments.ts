import { findNearest } from '../api/names.ts'
import type { ToolArguments } from './shop-call.ts'
import type { Tool } from './tools.ts'

/** More names are not compared: a request has room for thousands. */
const maxNamed = 5
const maxShownCharacters = 80

/** A sentence about arguments that a tool does not take, and what is near to them; undefined if it takes all. */
export function findUnknown({ operation, definition }: Tool, given: ToolArguments): string | undefined {
  const known = Object.keys(definition.inputSchema.properties)
  const read = new Set([...known, ...Object.keys(operation.singular), 'show_passwords'])
  const ofTool = Object.keys(given).filter((name) => !read.has(name))
  const ofFields = operation.inner.flatMap(({ field, namesIn }) => {
    const value = given[field]
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
    const names = namesIn(value as ToolArguments)
    return names === undefined
      ? []
      : Object.keys(value).flatMap((name) => (names.includes(name) ? [] : toSuggestion(name, names, `${field}.`)))
  })
  const unknown = [...ofTool.slice(0, maxNamed).flatMap((name) => toSuggestion(name, known, '')), ...ofFields]
  if (unknown.length === 0) return undefined
  const takes = known.length === 0 ? 'no arguments' : known.join(', ')
  return `${definition.name} does not take ${unknown.slice(0, maxNamed).join(', ')}. It takes ${takes}.`
}

function toSuggestion(name: string, known: readonly string[], prefix: string): string[] {
  const nearest = findNearest(name, known)
  return [`${shorten(prefix + name)}${nearest === undefined ? '' : ` (did you mean ${prefix}${nearest}?)`}`]
}

/**
 * The arguments as the user reads them in a question, in the order of the schema, lists and objects last: no value, and
 * no order that a model chooses, may hide another one.
 */
export function toText({ definition }: Tool, given: ToolArguments): string {
  const rank = (value: unknown): number =>
    typeof value !== 'object' || value === null ? 0 : Array.isArray(value) ? 1 : 2
  const order = Object.keys(definition.inputSchema.properties)
  const parts = Object.entries(given)
    .toSorted(([one, a], [other, b]) => rank(a) - rank(b) || order.indexOf(one) - order.indexOf(other))
    .map(([name, value]) => `${name} ${shorten(JSON.stringify(value))}${Array.isArray(value) ? ofAll(value) : ''}`)
  return parts.length > 0 ? ` (${parts.join(', ')})` : ''
}

const ofAll = (list: readonly unknown[]): string => (list.length > 1 ? ` (${list.length} in all)` : '')

/** Characters that change the direction or the visibility of others are left out: a dialogue would apply them. */
const shorten = (text: string): string => {
  const plain = text.replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, '')
  return plain.length > maxShownCharacters
    ? `${plain.slice(0, maxShownCharacters)}… (${plain.length} characters)`
    : plain
}
