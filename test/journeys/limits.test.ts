import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Service, startService } from '../harness/service.ts'

type Schema = {
  $ref?: string
  type?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
}
type Operation = {
  security?: object[]
  parameters?: { name: string; in: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}
type Field = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly name: string
  readonly schema: Schema
  /** Whether a token may not try it; `signing-in.test.ts` does. */
  readonly ofSession: boolean
}

/** What a customer is promised: from, to; the length of a text; the number of things in a list. */
const promised: Readonly<Record<string, string>> = {
  limit: '1…500',
  count: '1…1000',
  quantity: '1…1000',
  session_ttl: '1…120',
  tunnel_limit: '1…1000000',
  gb: '0.1…10000',
  id: '1…9007199254740991',
  day_limit_bytes: '0…9007199254740991',
  month_limit_bytes: '0…9007199254740991',
  total_limit_bytes: '0…9007199254740991',
  period_months: '1…120',
  ids: '1…1000 of 1…9007199254740991',
  countries: '…50 of ',
  states: '…50 of 1…80 long',
  cities: '…50 of 1…80 long',
  zipcodes: '…50 of 1…80 long',
  asns: '…50 of 1…4294967295',
  ip: '…64 long',
  return_url: '…1000 long',
}
/** Fields that mean something else in another operation. */
const promisedHere: Readonly<Record<string, string>> = {
  '/dedicated/quote period': '1…3650',
  '/dedicated/buy period': '1…3650',
  '/dedicated/prolong/quote period': '1…3650',
  '/dedicated/prolong period': '1…3650',
  '/dedicated/auto-renew period': '1…3650',
  '/vpn/quote period': '1…120',
  '/vpn/buy period': '1…120',
  '/vpn/renew period': '1…120',
  '/vpn/auto-renew period': '1…120',
  '/dedicated/list comment': '…200 long',
  '/dedicated/comment comment': '…200 long',
  '/premium/whitelist/add comment': '0…200 long',
  '/premium/subusers name': '1…100 long',
  '/premium/subusers/update name': '1…100 long',
  '/events after': '1…9007199254740991',
  '/vpn/buy name': '…64 long',
  '/vpn/devices name': '…64 long',
  '/tokens/create name': '1…200 long',
  '/tokens/create scopes': '1… of ',
  '/tokens/create cap_rub': '0…1000000000',
  '/tokens/create from': '…100 of ',
}

describe('limits', () => {
  let service: Service
  let fields: Field[]
  beforeAll(async () => {
    service = await startService('sqlite')
    const response = await fetch(`${service.url}/api/v1/openapi.json`)
    fields = fieldsOf((await response.json()) as Parameters<typeof fieldsOf>[0])
  })
  afterAll(() => service.stop())

  test('are described as they are promised, every one of them', () => {
    const described = fields.map(({ path, name, schema }) => [`${path} ${name}`, limitOf(schema)] as const)
    const limited = described.filter(([, limit]) => limit !== '')
    const expected = limited.map(([where]) => [where, promisedHere[where] ?? promised[where.split(' ')[1] ?? '']])
    expect(limited as unknown[]).toEqual(expected)
    const met = new Set(limited.flatMap(([where]) => [where, where.split(' ')[1] ?? '']))
    for (const name of [...Object.keys(promised), ...Object.keys(promisedHere)]) expect(met).toContain(name)
  })

  /** Whether this value of this field is found fault with. What else is missing does not matter. */
  async function isRefused({ method, path, name }: Field, value: unknown): Promise<boolean> {
    const query = method === 'GET' ? `?${name}=${encodeURIComponent(String(value))}` : ''
    const answer = await service.call(method, `${path}${query}`, method === 'GET' ? {} : { body: { [name]: value } })
    if (answer.error?.code !== 'invalid_request') return false
    const faults = answer.error.details as { field: string }[]
    return faults.some(({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))
  }

  test('refuse the first value on either side', async () => {
    for (const field of fields.filter((each) => !each.ofSession)) {
      for (const value of pastOf(field)) {
        expect({ ...field, value, refused: await isRefused(field, value) }).toMatchObject({ refused: true })
      }
    }
  })

  test('let the last value on either side pass', async () => {
    for (const field of fields.filter((each) => !each.ofSession)) {
      for (const value of bordersOf(field)) {
        expect({ ...field, value, refused: await isRefused(field, value) }).toMatchObject({ refused: false })
      }
    }
  })
})

function fieldsOf(description: {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}): Field[] {
  const found = (schema: Schema | undefined): Schema =>
    description.components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? schema ?? {}
  return Object.entries(description.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, operation]) => {
      const method = verb === 'get' ? ('GET' as const) : ('POST' as const)
      const ofSession = operation.security !== undefined
      const body = found(operation.requestBody?.content['application/json']?.schema).properties ?? {}
      const query = (operation.parameters ?? []).filter((each) => each.in === 'query')
      return [
        ...query.map(({ name, schema }) => ({ method, path, name, schema: found(schema), ofSession })),
        ...Object.entries(body).map(([name, schema]) => ({ method, path, name, schema: found(schema), ofSession })),
      ]
    }),
  )
}

function limitOf(schema: Schema): string {
  const range = (from: number | undefined, to: number | undefined) =>
    from === undefined && to === undefined ? '' : `${from ?? ''}…${to ?? ''}`
  const lengths = range(schema.minLength, schema.maxLength)
  const items = range(schema.minItems, schema.maxItems)
  if (items !== '') return `${items} of ${limitOf(schema.items ?? {})}`
  return range(schema.minimum, schema.maximum) || (lengths === '' ? '' : `${lengths} long`)
}

/** One more than is described, and one less. A number past what JSON holds exactly is another refusal's. */
function pastOf({ method, schema, name }: Field): unknown[] {
  const { minimum, maximum, minLength = 0, maxLength, maxItems, items } = schema
  const step = name === 'gb' ? 0.1 : 1
  const past: unknown[] = []
  if (minimum !== undefined && (method === 'POST' || minimum > 0)) past.push(minimum - step)
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) past.push(maximum + step)
  if (maxLength !== undefined) past.push('x'.repeat(maxLength + 1))
  if (minLength > 0) past.push('')
  if (method === 'POST' && maxItems !== undefined) {
    past.push(Array.from({ length: maxItems + 1 }, (_, index) => itemOf(items ?? {}, index)))
    for (const item of items ? pastOf({ method, path: '', name: '', schema: items, ofSession: false }) : [])
      past.push([item])
  }
  return past
}

const itemOf = (schema: Schema, index: number): unknown => {
  if (schema.maximum !== undefined) return index + 1
  return schema.maxLength === undefined ? 'US' : 'x'.repeat(schema.maxLength)
}

/** The last on either side, where it depends on nothing else: a period is in the price list, an address is one. */
function bordersOf({ method, schema, name }: Field): unknown[] {
  if (/^(?:period|period_months|ip|return_url|ids|countries|states|cities|zipcodes|asns)$/.test(name)) return []
  const { minimum, maximum, minLength, maxLength } = schema
  const borders: unknown[] = [minimum, maximum].filter((value) => value !== undefined && value >= 0)
  if (maxLength !== undefined) borders.push('x'.repeat(maxLength))
  if (minLength !== undefined && minLength > 0 && method === 'POST') borders.push('x'.repeat(minLength))
  return borders
}
