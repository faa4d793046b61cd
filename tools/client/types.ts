/** As much of a description as the client's types are made of. */
export type Description = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

type Described = {
  readonly operationId: string
  /** The least role that may call it, where operators call it. */
  readonly 'x-role'?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`
const nameOf = (name: string): string => (/^\w+$/.test(name) ? name : quoted(name))

type Fields = readonly (readonly [name: string, isRequired: boolean, schema: Schema])[]

function toRecord(fields: Fields): string {
  const lines = fields.map(([name, isRequired, schema]) => `${nameOf(name)}${isRequired ? '' : '?'}: ${toType(schema)}`)
  return `{ ${lines.join('; ')} }`
}

/** Alternatives that only say which fields must be there add no type. */
const alternativesOf = (schema: Schema): readonly Schema[] =>
  (schema.anyOf ?? schema.oneOf ?? []).filter((each) => each.type ?? each.$ref ?? each.enum ?? each.anyOf ?? each.oneOf)

function toType(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? 'unknown'
  if (schema.enum) return [...new Set(schema.enum.map(toLiteral))].join(' | ')
  if (schema.const !== undefined) return toLiteral(schema.const)
  const alternatives = schema.properties ? [] : alternativesOf(schema)
  if (alternatives.length > 0) return [...new Set(alternatives.map(toType))].join(' | ')
  if (schema.allOf)
    return schema.allOf
      .filter((each) => each.$ref ?? each.type)
      .map(toType)
      .join(' & ')
  const types = [schema.type ?? []].flat()
  const named = types.filter((type) => type !== 'null').map((type) => toPlain(type, schema))
  const all = [...named, ...(types.includes('null') ? ['null'] : [])]
  return all.length > 0 ? all.join(' | ') : 'unknown'
}

const toLiteral = (value: unknown): string => (typeof value === 'string' ? quoted(value) : String(value))

function toPlain(type: string, schema: Schema): string {
  if (type === 'integer') return 'number'
  if (type === 'array') return `readonly (${toType(schema.items ?? {})})[]`
  if (type !== 'object') return type
  const { properties = {}, required = [], additionalProperties } = schema
  const fields = Object.entries(properties).map(([name, each]) => [name, required.includes(name), each] as const)
  if (fields.length > 0) return toRecord(fields)
  const value = typeof additionalProperties === 'object' ? toType(additionalProperties) : 'unknown'
  return `Readonly<Record<string, ${value}>>`
}

/** An answer of this length or more is written once; other operations with the same one refer to it. */
const longAnswer = 100

/** Writes the type of each operation: the fields of its path, its query and its body, if it has any, and its answer. */
function createOperationWriter() {
  const written = new Map<string, string>()
  const toAnswer = (answer: string, operationId: string): string => {
    const before = written.get(answer)
    if (before !== undefined) return `Operations['${before}']['answer']`
    if (answer.length >= longAnswer) written.set(answer, operationId)
    return answer
  }
  return (of: Described): string => {
    const given = (source: string): Fields =>
      (of.parameters ?? [])
        .filter((each) => each.in === source)
        .map((each) => [each.name, !!each.required, each.schema] as const)
    const [params, query] = [given('path'), given('query')]
    const data = of.responses['200']?.content?.['application/json']?.schema.properties?.['data']
    const body = of.requestBody?.content['application/json']?.schema
    const hasBody = Object.keys(body?.properties ?? {}).length > 0
    const parts = [
      ...(params.length > 0 ? [`params: ${toRecord(params)}`] : []),
      ...(query.length > 0 ? [`query: ${toRecord(query)}`] : []),
      ...(hasBody ? [`body: ${toType({ ...body, type: 'object' })}`] : []),
      `answer: ${toAnswer(toType(data ?? {}), of.operationId)}`,
    ]
    return `${of.operationId}: { ${parts.join('; ')} }`
  }
}

const shapesOf = (description: Description) => Object.entries(description.components?.schemas ?? {})

const toShape = ([name, schema]: readonly [string, Schema]): string => `export type ${name} = ${toType(schema)}`

/** The shapes that each of several descriptions has, and has alike. */
export function findShared(descriptions: readonly Description[]): ReadonlySet<string> {
  const [first, ...others] = descriptions.map(
    (each) => new Map(shapesOf(each).map((shape) => [shape[0], toShape(shape)])),
  )
  return new Set(
    [...(first ?? [])].flatMap(([name, text]) => (others.every((each) => each.get(name) === text) ? [name] : [])),
  )
}

/** The module of those shapes, written once for all clients. */
export const toShared = (description: Description, shared: ReadonlySet<string>): string =>
  [
    '/** Made by `npm run client`: what every API says alike. Never edited by hand. */',
    ...shapesOf(description)
      .filter(([name]) => shared.has(name))
      .map(toShape),
    '',
  ].join('\n')

/** The module that the console calls an API by: its own shapes as types, and its operations as a table. */
export function toClient(description: Description, name: string, shared: ReadonlySet<string> = new Set()): string {
  const all = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, of]) => ({ method, path, of })),
  )
  const shapes = shapesOf(description)
    .filter(([shape]) => !shared.has(shape))
    .map(toShape)
  const roleOf = (of: Described) => (of['x-role'] === undefined ? [] : [of['x-role']])
  const isKeyed = (of: Described) => (of.parameters ?? []).some((each) => each.name === 'Idempotency-Key')
  const rows = all.map(({ method, path, of }) => {
    const row = [method.toUpperCase(), path, ...(isKeyed(of) ? ['keyed'] : []), ...roleOf(of)]
    return `${of.operationId}: [${row.map(quoted).join(', ')}],`
  })
  const toOperation = createOperationWriter()
  const calls = all.map(({ of }) => toOperation(of)).join('\n')
  const used = [...shared].filter((each) => new RegExp(`\\b${each}\\b`).test([...shapes, calls].join('\n')))
  return [
    `/** Made by \`npm run client\` from the description of ${name}: never edited by hand. */`,
    ...(used.length > 0 ? [`import type { ${used.join(', ')} } from './shapes.ts'`] : []),
    shapes.join('\n'),
    `export type Operations = { ${calls} }`,
    `export const operations = { ${rows.join('\n')} } as const`,
    '',
  ].join('\n\n')
}
