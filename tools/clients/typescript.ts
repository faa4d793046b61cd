import { capitalized, type Field, isNullable, type Method, type Model, refName, type Schema, typesOf } from './model.ts'
import { readReasonParams } from './reasons.ts'

const plain: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
}

/** A schema as a type. */
function toType(schema: Schema): string {
  if (schema.$ref) return refName(schema.$ref)
  if (schema.enum) return [...schema.enum.map(literal), ...(isNullable(schema) ? ['null'] : [])].join(' | ')
  const parts = schema.allOf ?? []
  if (parts.length > 0) return parts.map((each) => toType(each)).join(' & ')
  const forms = schema.properties ? [] : [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  if (forms.length > 0) return forms.map(toType).join(' | ')
  const types = typesOf(schema).map((type) => toOneType(type, schema))
  if (isNullable(schema)) types.push('null')
  return types.length === 0 ? 'unknown' : types.join(' | ')
}

const literal = (value: string | number | boolean | null): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value)

function toOneType(type: string, schema: Schema): string {
  if (type === 'array') return `readonly (${toType(schema.items ?? {})})[]`
  if (type !== 'object') return plain[type] ?? 'unknown'
  if (!schema.properties || Object.keys(schema.properties).length === 0) return `Record<string, ${toValues(schema)}>`
  return `{ ${Object.entries(schema.properties)
    .map(([name, field]) => toMember(name, field, schema.required?.includes(name) ?? false))
    .join('\n')} }`
}

const toValues = ({ additionalProperties: values }: Schema): string =>
  typeof values === 'object' && Object.keys(values).length > 0 ? toType(values) : 'unknown'

const toMember = (name: string, schema: Schema, isRequired: boolean, type = toType(schema)): string =>
  `${toComment(schema.description)}readonly ${name}${isRequired ? '' : '?'}: ${type}${isRequired ? '' : ' | undefined'}`

const width = 110

/** A doc comment, in lines of at most 120 columns when it is indented. */
function toComment(text: string | undefined): string {
  if (!text) return ''
  const lines: string[] = []
  for (const word of text.replaceAll('*/', '* /').split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width - 10) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.length === 1 ? `\n/** ${lines[0]} */\n` : `\n/**\n${lines.map((line) => ` * ${line}`).join('\n')}\n */\n`
}

/** Ids in a query are one text; the clients take a list too. */
const inputType = (field: Field): string =>
  field.in === 'query' && field.name === 'ids' ? 'string | readonly number[]' : toType(field.schema)

const inputName = ({ id }: Method): string => `${capitalized(id)}Input`
const answerName = ({ id }: Method): string => `${capitalized(id)}Answer`

function toDeclarations(method: Method): string {
  const members = method.fields.map((field) => toMember(field.name, field.schema, field.isRequired, inputType(field)))
  const input = members.length === 0 ? '' : `export type ${inputName(method)} = { ${members.join('\n')} }\n`
  return `${input}export type ${answerName(method)} = ${toType(method.answer)}\n`
}

function toSignatures(method: Method): string {
  const isOptional = method.fields.every((field) => !field.isRequired)
  const input = method.fields.length === 0 ? 'input?: undefined' : `input${isOptional ? '?' : ''}: ${inputName(method)}`
  const options = `options?: ${method.isKeyed ? 'KeyedCallOptions' : 'CallOptions'}`
  const answer = `${answerName(method)}${method.hasFile ? ' | string' : ''}`
  const { pages } = method
  const iterator = pages
    ? `/** ${method.summary}: every item of every page. */
       ${pages.all}(input?: ${inputName(method)}, options?: CallOptions): AsyncGenerator<${toType(pages.item)}, void>\n`
    : ''
  return `/** ${method.summary}. */\n${method.name}(${input}, ${options}): Promise<${answer}>\n${iterator}`
}

function toRows(method: Method): string {
  const { http, path, isKeyed, pages } = method
  const row = (rest: string) => `{ http: '${http}', path: '${path}'${rest} },`
  const own = `${method.name}: ${row(isKeyed ? ', isKeyed: true' : '')}\n`
  return pages ? `${own}${pages.all}: ${row(`, items: '${pages.items}'`)}\n` : own
}

function inGroups(methods: readonly Method[], print: (method: Method) => string, end: string): string {
  return [...Map.groupBy(methods, (each) => each.group)]
    .map(([group, own]) => `${group}: {\n${own.map(print).join('')}}${end}\n`)
    .join('')
}

const head = '// `npm run clients` writes this file from the description of the API.\n\n'

/** The operations of the TypeScript client: types, and the table that calls them. */
export function toTypeScript({ schemas, methods, codes, reasons }: Model): string {
  const params = readReasonParams()
  return [
    head,
    "import type { CallOptions, KeyedCallOptions } from './call.ts'\n\n",
    ...Object.entries(schemas).map(([name, schema]) => `export type ${name} = ${toType(schema)}\n\n`),
    ...methods.map((each) => `${toDeclarations(each)}\n`),
    '/** The operations that a token may call. */\n',
    `export type Operations = {\n${inGroups(methods, toSignatures, '')}}\n\n`,
    '/** How each of them is called. */\n',
    `export const operations = {\n${inGroups(methods, toRows, ',')}} as const\n\n`,
    `export type RefusalCode = ${codes.map(literal).join(' | ')}\n\n`,
    '/** Parameters of each reason of a refusal. */\nexport type ReasonParams = {\n',
    ...reasons.map((each) => `${each}: ${params.get(each) ?? 'Record<string, never>'}\n`),
    '}\n',
  ].join('')
}

const kindOf = ({ name, in: place, schema }: Field): string => {
  const [type = 'json'] = typesOf(schema)
  if (place === 'query' && name === 'ids') return 'text'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'boolean'
  if (type === 'string') return 'text'
  if (type !== 'array') return 'json'
  return ['integer', 'number'].some((each) => typesOf(schema.items ?? {}).includes(each)) ? 'numbers' : 'texts'
}

/** The fields of each operation, for the command line. */
export function toCommandTable({ methods }: Model): string {
  const print = (method: Method): string =>
    `${method.name}: { summary: ${JSON.stringify(method.summary)}, charges: ${method.charges}, fields: { ${method.fields
      .map((field) => `${field.name}: '${kindOf(field)}'`)
      .join(', ')} } },\n`
  const comment = '/** The fields of each operation, as the command line reads them. */\n'
  return `${head}${comment}export const commandTable = {\n${inGroups(methods, print, ',')}} as const\n`
}
