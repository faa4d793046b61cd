import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerId } from '../../src/core/ids.ts'
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
  /** True when the operation needs a session; `signing-in.test.ts` covers these. */
  readonly ofSession: boolean
}

/** The limits promised per field: smallest … largest value, length of a text, or items of a list. */
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
/** Limits of fields whose meaning depends on the operation. */
const promisedByPath: Readonly<Record<string, string>> = {
  '/dedicated/quote period': '1…3650',
  '/dedicated/buy period': '1…3650',
  '/dedicated/prolong/quote period': '1…3650',
  '/dedicated/prolong period': '1…3650',
  '/dedicated/auto-renew period': '1…3650',
  '/vpn/quote period': '1…120',
  '/vpn/buy period': '1…120',
  '/vpn/renew period': '1…120',
  '/vpn/auto-renew period': '1…120',
  '/vpn/devices/quote count': '1…100',
  '/vpn/devices/increase count': '1…100',
  '/dedicated/list comment': '…200 long',
  '/dedicated/list comment_contains': '…200 long',
  '/dedicated/comment comment': '…200 long',
  '/dedicated/traffic days': '1…31',
  '/premium/whitelist/add comment': '0…200 long',
  '/premium/subusers name': '1…100 long',
  '/premium/subusers/update name': '1…100 long',
  '/events after': '0…9007199254740991',
  '/events wait': '0…60',
  '/vpn/buy name': '…64 long',
  '/vpn/devices name': '…64 long',
  '/vpn/name name': '…64 long',
  '/tokens/create name': '1…200 long',
  '/tokens/create scopes': '1…4 of ',
  '/tokens/create cap_rub': '0…1000000000',
  '/tokens/create from': '…100 of ',
}

describe('limits in the API description', () => {
  let service: Service
  let fields: Field[]
  beforeAll(async () => {
    service = await startService('sqlite')
    const { db, events } = service.services
    const [owner] = await db.all<{ id: CustomerId }>('SELECT id FROM customers')
    if (!owner) throw new Error('the sandbox has no customer')
    // With an event in the list, `wait` of GET /events ends at once.
    const event = { customer: owner.id, type: 'email.set', order: null, subject: null, data: {} } as const
    await db.transact((tx) => events.note(tx, [event]))
    const response = await fetch(`${service.url}/api/v1/openapi.json`)
    fields = fieldsOf((await response.json()) as Parameters<typeof fieldsOf>[0])
  })
  afterAll(() => service.stop())

  test('openapi.json describes every promised limit and no other', () => {
    const described = fields.map(({ path, name, schema }) => [`${path} ${name}`, limitOf(schema)] as const)
    const limited = described.filter(([, limit]) => limit !== '')
    const expected = limited.map(([where]) => [where, promisedByPath[where] ?? promised[where.split(' ')[1] ?? '']])
    expect(limited as unknown[]).toEqual(expected)
    const met = new Set(limited.flatMap(([where]) => [where, where.split(' ')[1] ?? '']))
    for (const name of [...Object.keys(promised), ...Object.keys(promisedByPath)]) expect(met).toContain(name)
  })

  /** True when the answer names this field as invalid. Other missing fields do not matter. */
  async function isRefused({ method, path, name }: Field, value: unknown): Promise<boolean> {
    const query = method === 'GET' ? `?${name}=${encodeURIComponent(String(value))}` : ''
    const answer = await service.call(method, `${path}${query}`, method === 'GET' ? {} : { body: { [name]: value } })
    if (answer.error?.code !== 'invalid_request') return false
    const faults = answer.error.details as { field: string }[]
    return faults.some(({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))
  }

  test('each operation refuses the first value outside a described limit', async () => {
    for (const field of fields.filter((each) => !each.ofSession)) {
      for (const value of outsideOf(field)) {
        expect({ ...field, value, refused: await isRefused(field, value) }).toMatchObject({ refused: true })
      }
    }
  })

  test('each operation accepts the last value inside a described limit', async () => {
    for (const field of fields.filter((each) => !each.ofSession)) {
      for (const value of insideOf(field)) {
        expect({ ...field, value, refused: await isRefused(field, value) }).toMatchObject({ refused: false })
      }
    }
  })
})

function fieldsOf(description: {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}): Field[] {
  const resolve = (schema: Schema | undefined): Schema =>
    description.components.schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? schema ?? {}
  return Object.entries(description.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, operation]) => {
      const method = verb === 'get' ? ('GET' as const) : ('POST' as const)
      const ofSession = operation.security !== undefined
      const body = resolve(operation.requestBody?.content['application/json']?.schema).properties ?? {}
      const query = (operation.parameters ?? []).filter((each) => each.in === 'query')
      return [
        ...query.map(({ name, schema }) => ({ method, path, name, schema: resolve(schema), ofSession })),
        ...Object.entries(body).map(([name, schema]) => ({ method, path, name, schema: resolve(schema), ofSession })),
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

/** The first values outside the limits. Integers above 2^53 - 1 are left out: the JSON parser refuses them. */
function outsideOf({ method, schema, name }: Field): unknown[] {
  const { minimum, maximum, minLength = 0, maxLength, maxItems, items } = schema
  const step = name === 'gb' ? 0.1 : 1
  const outside: unknown[] = []
  if (minimum !== undefined && (method === 'POST' || minimum > 0)) outside.push(minimum - step)
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) outside.push(maximum + step)
  if (maxLength !== undefined) outside.push('x'.repeat(maxLength + 1))
  if (minLength > 0) outside.push('')
  if (method === 'POST' && maxItems !== undefined) {
    outside.push(Array.from({ length: maxItems + 1 }, (_, index) => itemOf(items ?? {}, index)))
    for (const item of items ? outsideOf({ method, path: '', name: '', schema: items, ofSession: false }) : [])
      outside.push([item])
  }
  return outside
}

const itemOf = (schema: Schema, index: number): unknown => {
  if (schema.maximum !== undefined) return index + 1
  return schema.maxLength === undefined ? 'US' : 'x'.repeat(schema.maxLength)
}

/** The last values inside the limits, for fields that depend on nothing else, such as the price list. */
function insideOf({ method, schema, name, path }: Field): unknown[] {
  if (path.startsWith('/vpn/devices/') && name === 'count') return []
  if (/^(?:period|period_months|ip|return_url|ids|countries|states|cities|zipcodes|asns)$/.test(name)) return []
  const { minimum, maximum, minLength, maxLength } = schema
  const inside: unknown[] = [minimum, maximum].filter((value) => value !== undefined && value >= 0)
  if (maxLength !== undefined) inside.push('x'.repeat(maxLength))
  if (minLength !== undefined && minLength > 0 && method === 'POST') inside.push('x'.repeat(minLength))
  return inside
}
