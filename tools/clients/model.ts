import { clientNameOf } from '../../src/api/client-names.ts'
import { describe } from '../../src/api/describe.ts'
import { customerOperations } from '../../src/api/operation-tables.ts'

/** The part of JSON Schema that the description uses. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly (string | number | boolean | null)[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  /** The values of an object with any keys. */
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly description?: string
}

export type Field = {
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
  readonly in: 'path' | 'query' | 'body'
}

/** One method of the clients. */
export type Method = {
  readonly id: string
  readonly group: string
  readonly name: string
  readonly http: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly fields: readonly Field[]
  readonly answer: Schema
  /** Whether it can answer with a file in place of JSON. */
  readonly hasFile: boolean
  readonly isKeyed: boolean
  readonly charges: boolean
  /** The list in its answer, if it has pages; `all` is the name of the iterator over all of them. */
  readonly pages: { readonly items: string; readonly item: Schema; readonly all: string } | undefined
}

export type Model = {
  readonly schemas: Readonly<Record<string, Schema>>
  readonly methods: readonly Method[]
  readonly codes: readonly string[]
  readonly reasons: readonly string[]
}

type Parameter = { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: Schema }
type Content = Readonly<Record<string, { readonly schema: Schema }>>
type Described = {
  readonly operationId: string
  readonly summary: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Description = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Schemas that the clients have by hand. */
const unprinted = new Set(['Refusal', 'Warning', 'Token', 'NewToken'])

/** The customer API's description as the clients need it: all operations that a token may call. */
export function readModel(): Model {
  const document = describe(customerOperations(), { version: '', url: '' }) as Description
  const methods = Object.entries(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).flatMap(([http, described]) =>
      isForTokens(described) ? [toMethod(http === 'get' ? 'GET' : 'POST', path, described)] : [],
    ),
  )
  const error = document.components.schemas['Refusal']?.properties?.['error']?.properties
  checkNames(methods)
  return {
    schemas: Object.fromEntries(Object.entries(document.components.schemas).filter(([name]) => !unprinted.has(name))),
    methods: methods.toSorted((one, other) => compare(`${one.group} ${one.name}`, `${other.group} ${other.name}`)),
    codes: (error?.['code']?.enum ?? []).map(String),
    reasons: (error?.['reason']?.enum ?? []).map(String).toSorted(),
  }
}

const compare = (one: string, other: string): number => (one < other ? -1 : 1)

const isForTokens = ({ security }: Described): boolean =>
  security === undefined || security.some((each) => 'token' in each)

function toMethod(http: 'GET' | 'POST', path: string, described: Described): Method {
  const { operationId: id, summary, parameters = [], requestBody, responses } = described
  const body = requestBody?.content['application/json']?.schema
  const content = responses['200']?.content ?? {}
  const answer = content['application/json']?.schema.properties?.['data'] ?? {}
  const { group, name } = clientNameOf(id, path)
  const fields: Field[] = parameters
    .filter((each) => each.in === 'path' || each.in === 'query')
    .map((each) => ({
      name: each.name,
      schema: each.schema,
      isRequired: each.required ?? false,
      in: each.in === 'path' ? 'path' : 'query',
    }))
  for (const [field, schema] of Object.entries(body?.properties ?? {})) {
    fields.push({ name: field, schema, isRequired: body?.required?.includes(field) ?? false, in: 'body' })
  }
  const isPaged = fields.some((each) => each.name === 'cursor')
  const list = Object.entries(answer.properties ?? {}).find(([, schema]) => schema.items !== undefined)
  return {
    id,
    group,
    name,
    http,
    path,
    summary,
    fields,
    answer,
    hasFile: Object.keys(content).length > 1,
    isKeyed: parameters.some((each) => each.name === 'Idempotency-Key'),
    charges: '402' in responses,
    pages:
      isPaged && list?.[1].items
        ? { items: list[0], item: list[1].items, all: name.replace(/^list/, 'all') }
        : undefined,
  }
}

function checkNames(methods: readonly Method[]): void {
  const names = new Set<string>()
  for (const { id, group, name, pages } of methods) {
    for (const each of [name, ...(pages ? [pages.all] : [])]) {
      if (!/^[a-z][A-Za-z]*$/.test(each)) throw new Error(`${id} has no usable name: ${group}.${each}`)
      if (names.has(`${group}.${each}`)) throw new Error(`two operations are called ${group}.${each}`)
      names.add(`${group}.${each}`)
    }
  }
}

export const capitalized = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1)
export const refName = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1)

/** The types that a schema names, without null. */
export const typesOf = ({ type }: Schema): readonly string[] =>
  (typeof type === 'string' ? [type] : (type ?? [])).filter((each) => each !== 'null')

/** Whether it may be null. */
export const isNullable = ({ type }: Schema): boolean =>
  type === 'null' || (Array.isArray(type) && type.includes('null'))
