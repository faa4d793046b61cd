import { clientNameOf, toSnake } from './client-names.ts'

type Parameter = {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: { readonly example?: unknown; readonly default?: unknown; readonly enum?: readonly unknown[] }
}
export type DescribedOperation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> }
}

/** One operation of the description, as its examples need it. */
export type ExampleSource = { readonly method: string; readonly path: string; readonly operation: DescribedOperation }

type Values = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Values => typeof value === 'object' && value !== null

/** The clients have a method for each operation that a token may call. */
export const isForTokens = ({ security }: DescribedOperation): boolean =>
  security === undefined || security.some((each) => 'token' in each)

const exampleOf = ({ schema }: Parameter): unknown => schema.example ?? schema.default ?? schema.enum?.[0]

/** Required parameters of the path or the query, with their examples. */
const valuesOf = (operation: DescribedOperation, place: string): Values =>
  Object.fromEntries(
    (operation.parameters ?? [])
      .filter((each) => each.in === place && each.required === true)
      .map((each) => [each.name, exampleOf(each)]),
  )

const bodyOf = (operation: DescribedOperation): Values => {
  const example = operation.requestBody?.content['application/json']?.example
  return isObject(example) ? example : {}
}

const asText = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value))

const inShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The example request as a curl command, for TURNPIKE_URL and TURNPIKE_TOKEN. */
export function toCurlExample({ method, path, operation }: ExampleSource): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(asText(valuesOf(operation, 'path')[name])),
  )
  const query = new URLSearchParams(
    Object.entries(valuesOf(operation, 'query')).map(([name, value]): [string, string] => [name, asText(value)]),
  ).toString()
  const address = `"$TURNPIKE_URL/api/v1${filled}${query === '' ? '' : `?${query}`}"`
  const key = operation.parameters?.find((each) => each.name === 'Idempotency-Key')
  const options = [
    isForTokens(operation) && '-H "Authorization: Bearer $TURNPIKE_TOKEN"',
    key && `-H ${inShell(`Idempotency-Key: ${asText(exampleOf(key))}`)}`,
    method === 'post' && `-H 'Content-Type: application/json'`,
    method === 'post' && `-d ${inShell(JSON.stringify(bodyOf(operation)))}`,
  ].filter((each) => typeof each === 'string')
  return [`curl ${address}`, ...options].join(' \\\n  ')
}

const fieldsOf = ({ operation }: ExampleSource): Values => ({
  ...valuesOf(operation, 'path'),
  ...valuesOf(operation, 'query'),
  ...bodyOf(operation),
})

/** The example request with `@turnpike/client`. */
export function toTypeScriptExample(source: ExampleSource): string {
  const { group, name } = clientNameOf(source.operation.operationId, source.path)
  const fields = fieldsOf(source)
  const input =
    Object.keys(fields).length === 0 ? '' : JSON.stringify(fields, null, 2).replace(/"([a-z_]\w*)":/g, '$1:')
  return `import { createClient } from '@turnpike/client'

const { TURNPIKE_URL: url = '', TURNPIKE_TOKEN: token = '' } = process.env
const client = createClient({ url, token })
const answer = await client.${group}.${name}(${input})
console.log(answer)`
}

/** A value of JSON as a literal of Python. Strings of JSON are strings of Python. */
function inPython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inPython).join(', ')}]`
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${inPython(each)}`)
    return `{${members.join(', ')}}`
  }
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

/** The example request with `turnpike_client`. */
export function toPythonExample(source: ExampleSource): string {
  const { group, name } = clientNameOf(source.operation.operationId, source.path)
  const fields = Object.entries(fieldsOf(source)).map(([field, value]) => `${field}=${inPython(value)}`)
  return `import os
from turnpike_client import Client

client = Client(os.environ["TURNPIKE_URL"], os.environ["TURNPIKE_TOKEN"])
print(client.${group}.${toSnake(name)}(${fields.join(', ')}))`
}
