import { say } from './messages.js'

/** Reads OpenAPI 3.1, as this shop writes it: every body, answer and required parameter has an example. */
const maxDepth = 12
let root = {}

export function readFrom(description) {
  root = description
}

/** Follows a reference inside the document. */
export function resolve(node) {
  if (!node?.$ref) return node ?? {}
  const steps = node.$ref.split('/').slice(1)
  return steps.reduce((at, step) => at?.[step], root) ?? {}
}

const isNull = (schema) => schema.type === 'null' || schema.const === null

/** A schema without references, `allOf` and null, which becomes `nullable`. */
export function plain(schema, depth = 0) {
  if (!schema || typeof schema !== 'object' || depth > maxDepth) return {}
  const { $ref, allOf = [], ...own } = schema
  const parts = [...($ref ? [resolve(schema)] : []), ...allOf].map((part) => plain(part, depth + 1))
  const merged = parts.length > 0 ? merge([...parts, own]) : own
  if ($ref) merged.reference = $ref
  if (Array.isArray(merged.type)) return withoutNullType(merged)
  const { anyOf: choices, ...rest } = merged
  if (!choices) return merged
  const kept = choices.filter((choice) => !isNull(choice))
  const nullable = merged.nullable || kept.length < choices.length
  if (kept.length === 1) return { ...plain(kept[0], depth + 1), ...rest, ...(nullable && { nullable }) }
  return { ...rest, choices: kept, nullable }
}

function merge(parts) {
  const merged = Object.assign({}, ...parts)
  merged.properties = Object.assign({}, ...parts.map((part) => part.properties))
  merged.required = parts.flatMap((part) => part.required ?? [])
  return merged
}

function withoutNullType(schema) {
  const kept = schema.type.filter((type) => type !== 'null')
  const nullable = schema.nullable || kept.length < schema.type.length
  if (kept.length === 1) return { ...schema, type: kept[0], nullable }
  return { ...schema, type: undefined, choices: kept.map((type) => ({ type })), nullable }
}

export const allowedOf = (schema) => ('const' in schema ? [schema.const] : schema.enum)

export function typeName(schema, depth = 0) {
  const kind = kindName(schema, depth)
  return schema.nullable ? say('{} or null', kind) : kind
}

function kindName({ type, items, choices, format, properties }, depth) {
  if (depth > maxDepth) return '…'
  if (choices) return [...new Set(choices.map((choice) => typeName(plain(choice), depth + 1)))].join(say(' or '))
  if (type === 'array') return items ? say('array of {}', kindName(plain(items), depth + 1)) : 'array'
  if (type === undefined) return properties ? 'object' : say('anything')
  return format ? `${type} (${format})` : type
}

export function limitsOf(schema) {
  const span = (min, max, unit = '{}') => {
    if (min === undefined && max === undefined) return undefined
    if (min !== undefined && max !== undefined) return say(unit, say('{} to {}', min, max))
    return say(unit, min === undefined ? say('at most {}', max) : say('at least {}', min))
  }
  return [
    span(schema.minimum, schema.maximum),
    schema.exclusiveMinimum !== undefined && say('more than {}', schema.exclusiveMinimum),
    schema.exclusiveMaximum !== undefined && say('less than {}', schema.exclusiveMaximum),
    schema.multipleOf !== undefined && say('a multiple of {}', schema.multipleOf),
    span(schema.minLength, schema.maxLength, 'characters: {}'),
    span(schema.minItems, schema.maxItems, 'items: {}'),
  ].filter(Boolean)
}

export const exampleOf = (schema) => schema.example ?? schema.examples?.[0] ?? schema.default

/** The example that is given for a whole body or answer. */
export function givenExample(media) {
  return media?.example ?? resolve(Object.values(media?.examples ?? {})[0]).value
}
