import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import { type Service, startService } from '../../test/harness/service.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'
import { readId } from '../core/ids.ts'
import { isDeviceName } from '../domains/vpn/rules.ts'
import { statusOfCode } from './operation.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  pattern?: string
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
}
type Media = {
  schema: Schema
  example?: object
  examples?: Record<string, { value: { error: { details: unknown; doc_url: string } } }>
}
type Described = {
  openapi: string
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, Schema>; headers: Record<string, { description?: string }> }
}
type DescribedOperation = {
  operationId?: string
  summary?: string
  tags: string[]
  parameters?: { name: string; in: string; description?: string; schema: Schema & { default?: unknown } }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { description: string; headers?: object; content: Record<string, Media> }>
}

/** Operations that need no token. */
const openToAll = ['getChangelog', 'getCatalogue']

describe('openapi.json of the customer API', () => {
  let service: Service
  let text: string
  let described: Described
  beforeAll(async () => {
    service = await startService('sqlite')
    text = await (await fetch(`${service.url}/api/v1/openapi.json`)).text()
    described = JSON.parse(text) as Described
  })
  afterAll(() => service.stop())
  const operations = () =>
    Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, method, operation })),
    )

  test('openapi.json is served without a token', () => {
    expect(described.openapi).toStartWith('3.1')
    expect(operations().map((each) => each.name)).toEqual(
      expect.arrayContaining(['get /balance', 'get /orders/{order_id}']),
    )
  })

  test('openapi.json gives every operation a name, a summary, an example and its codes', () => {
    const always = {
      400: ['invalid_request'],
      401: ['invalid_token'],
      403: ['forbidden'],
      429: ['rate_limited'],
      500: ['internal_error'],
      503: ['unavailable'],
    }
    const withBody = { 413: ['payload_too_large'], 415: ['unsupported_media_type'] }
    const ordering = {
      409: ['request_in_progress', 'conflict'],
      422: ['idempotency_key_reused'],
    }
    const orderedForFree = ['moveTraffic', 'deleteSubuser', 'createPayment', 'replaceProxy']
    const takesKeyForFree = [...orderedForFree, 'addVpnDevice', 'createSubuser', 'createToken', 'addWebhook']
    const names = new Set<string>()
    for (const { name, method, operation } of operations()) {
      expect(operation.summary ?? '').toMatch(/^.{5,}$/)
      names.add(operation.operationId ?? name)
      expect(operation.responses['200']?.content['application/json']?.example).toMatchObject({ ok: true })
      const orders = operation.parameters?.some((each) => each.name === 'Idempotency-Key')
      const isFree = takesKeyForFree.includes(operation.operationId ?? '')
      expect([name, '402' in operation.responses]).toEqual([name, orders === true && !isFree])
      const expected = {
        ...always,
        ...(method === 'post' && withBody),
        ...(orders && ordering),
        ...(orders && !isFree && { 402: ['insufficient_funds'] }),
      }
      for (const [status, codes] of Object.entries(expected)) {
        if (openToAll.includes(operation.operationId ?? '') && ['401', '403'].includes(status)) continue
        const examples = operation.responses[status]?.content['application/json']?.examples ?? {}
        for (const code of codes)
          expect({ name, status, codes: Object.keys(examples) }).toMatchObject({
            codes: expect.arrayContaining([code]),
          })
      }
      for (const answer of Object.values(operation.responses))
        expect(Object.keys(answer.headers ?? {})).toContain('X-Request-Id')
    }
    expect(names.size).toBe(operations().length)
  })

  test('every operation that can answer 402 takes max_price_rub, and every quote of a price has valid_until', () => {
    const charging = operations().filter(({ operation }) => '402' in operation.responses)
    expect(charging.length).toBeGreaterThanOrEqual(5)
    for (const { name, operation } of charging) {
      const fields = Object.keys(json(operation.requestBody?.content).schema.properties ?? {})
      expect([name, fields]).toEqual([name, expect.arrayContaining(['max_price_rub'])])
    }
    const quotes = operations().filter(({ name }) => name.endsWith('/quote') && !/payments|delete/.test(name))
    expect(quotes.length).toBeGreaterThanOrEqual(4)
    for (const { name, operation } of quotes) {
      const answers = [...schemasIn(json(operation.responses['200']?.content).schema, name)]
      expect([name, answers.some(([, { properties }]) => properties && 'valid_until' in properties)]).toEqual([
        name,
        true,
      ])
    }
  })

  /** Every schema below one, each with its location. References are followed once. */
  function* schemasIn(
    schema: Schema,
    location: string,
    seen = new Set<string>(),
  ): Generator<[location: string, schema: Schema]> {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.split('/').at(-1) ?? ''
      if (!seen.has(name))
        yield* schemasIn(described.components.schemas[name] ?? {}, `${location}(${name})`, seen.add(name))
      return
    }
    yield [location, schema]
    for (const [name, each] of Object.entries(schema.properties ?? {}))
      yield* schemasIn(each, `${location}.${name}`, seen)
    if (schema.items) yield* schemasIn(schema.items, `${location}[]`, seen)
    for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
      yield* schemasIn(each, location, seen)
    }
  }
  const json = (content: Record<string, Media> | undefined): Media => content?.['application/json'] ?? { schema: {} }
  const everySchema = () =>
    operations().flatMap(({ name, operation }) => [
      ...(operation.parameters ?? []).flatMap((each) => [...schemasIn(each.schema, `${name} ?${each.name}`)]),
      ...schemasIn(json(operation.requestBody?.content).schema, `${name} body`),
      ...Object.entries(operation.responses).flatMap(([status, answer]) => [
        ...schemasIn(json(answer.content).schema, `${name} ${status}`),
      ]),
    ])

  /** Whether a field has a description, itself or in its component. */
  function isDescribed(schema: Schema): boolean {
    if (schema.description !== undefined) return true
    const parts = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])].filter((each) => each.type !== 'null')
    if (parts.length > 0) return parts.some(isDescribed)
    // A named shape is described by its fields.
    return schema.$ref !== undefined
  }

  test('openapi.json describes every field of every request and answer', () => {
    const undescribed = everySchema().flatMap(([location, schema]) =>
      Object.entries(schema.properties ?? {})
        .filter(
          ([name, field]) => !isDescribed(field) && !['data', 'error'].includes(name) && !location.includes(' body'),
        )
        .map(([name]) => `${location}.${name}`),
    )
    expect(undescribed).toEqual([])
    const bodies = operations().flatMap(({ name, operation }) =>
      Object.entries(json(operation.requestBody?.content).schema.properties ?? {})
        .filter(([, field]) => !isDescribed(field))
        .map(([field]) => `${name} ${field}`),
    )
    const parameters = operations().flatMap(({ name, operation }) =>
      (operation.parameters ?? []).filter((each) => !each.description).map((each) => `${name} ${each.name}`),
    )
    expect([bodies, parameters]).toEqual([[], []])
  })

  test('every pattern of openapi.json is a regular expression that is anchored at both ends', () => {
    const patterns = everySchema().flatMap(([location, { pattern }]) =>
      pattern === undefined ? [] : [{ location, pattern }],
    )
    expect(patterns.length).toBeGreaterThan(5)
    for (const { location, pattern } of patterns) {
      expect(() => new RegExp(pattern, 'u'), location).not.toThrow()
      expect(pattern.startsWith('^') && pattern.endsWith('$'), `${location} ${pattern}`).toBe(true)
    }
  })

  test('openapi.json requires every field of an answer except warnings', () => {
    const optional = operations().flatMap(({ name, operation }) =>
      [...schemasIn(json(operation.responses['200']?.content).schema, name)].flatMap(
        ([location, { properties, required }]) =>
          Object.keys(properties ?? {})
            .filter((field) => !required?.includes(field))
            .map((field) => `${location}.${field}`),
      ),
    )
    expect(optional.filter((location) => !location.endsWith('.warnings'))).toEqual([])
    expect(optional.length).toBe(operations().length)
  })

  test('every example of openapi.json is valid by its schema and has no undescribed field', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
    ajv.addSchema(closed(described) as object, 'description')
    const validators = new Map<string, ValidateFunction>()
    const check = (pointer: string[], value: unknown) => {
      const location = pointer.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
      const validate = validators.get(location) ?? ajv.compile({ $ref: encodeURI(`description#/${location}`) })
      validators.set(location, validate)
      expect([location, validate(value), ajv.errorsText(validate.errors)]).toEqual([location, true, 'No errors'])
    }
    const refusal = ['components', 'schemas', 'Refusal']
    for (const { name, method, operation } of operations()) {
      const path = name.slice(method.length + 1)
      const body = json(operation.requestBody?.content)
      const to = ['paths', path, method]
      const hasFields = Object.keys(body.schema.properties ?? {}).length > 0
      if (hasFields) check([...to, 'requestBody', 'content', 'application/json', 'schema'], body.example)
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (status === '304') continue
        const { example, examples } = json(content)
        const given = [...(example ? [example] : []), ...Object.values(examples ?? {}).map((each) => each.value)]
        expect(given.length, `${name} ${status}`).toBeGreaterThan(0)
        const answer = ['responses', status, 'content', 'application/json', 'schema']
        for (const each of given) check(status === '200' ? [...to, ...answer] : refusal, each)
      }
    }
  })

  test('openapi.json shows refusals with their details', () => {
    for (const { name, operation } of operations()) {
      const detailsOf = (status: string, code: string) =>
        json(operation.responses[status]?.content).examples?.[code]?.value.error.details
      expect([name, detailsOf('400', 'invalid_request')]).toEqual([
        name,
        expect.arrayContaining([
          expect.objectContaining({
            field: expect.any(String),
            problem: expect.any(String),
            reason: expect.any(String),
            params: expect.any(Object),
          }),
        ]),
      ])
      if (!openToAll.includes(operation.operationId ?? '')) {
        expect([name, detailsOf('403', 'forbidden')]).toMatchObject([name, { charged: false }])
      }
      expect([name, detailsOf('429', 'rate_limited')]).toEqual([name, { charged: false }])
      if (operation.responses['402']) {
        expect(detailsOf('402', 'insufficient_funds')).toEqual({
          required_rub: expect.any(Number),
          balance_rub: expect.any(Number),
          charged: false,
        })
      }
      if (json(operation.responses['409']?.content).examples?.['out_of_stock']) {
        expect(detailsOf('409', 'out_of_stock')).toMatchObject({ available: expect.any(Number) })
      }
    }
  })

  test('openapi.json names every header that an answer has', () => {
    const headersOf = (operation: DescribedOperation, status: string) =>
      Object.keys(operation.responses[status]?.headers ?? {}).toSorted()
    const limits = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
    for (const { method, operation } of operations()) {
      const charges = operation.parameters?.some((each) => each.name === 'Idempotency-Key') ?? false
      const tag = method === 'get' ? ['ETag'] : []
      const isOpen = openToAll.includes(operation.operationId ?? '')
      const named = [...(isOpen ? [] : ['Turnpike-Version']), 'X-Request-Id']
      const replayed = charges ? ['Idempotent-Replayed'] : []
      expect(headersOf(operation, '200')).toEqual([...tag, ...replayed, ...limits, ...named])
      expect(headersOf(operation, '304')).toEqual(method === 'get' ? ['ETag', ...limits, ...named] : [])
      expect(headersOf(operation, '401')).toEqual(isOpen ? [] : ['WWW-Authenticate', 'X-Request-Id'])
      expect(headersOf(operation, '429')).toEqual([...limits, 'Retry-After', ...named])
      expect(headersOf(operation, '503')).toEqual([...limits, 'Retry-After', ...named])
      expect(headersOf(operation, '500')).not.toContain('Retry-After')
    }
    for (const { description } of Object.values(described.components.headers)) expect(description).toBeTruthy()
  })

  test('openapi.json gives the default of every optional field that has one', () => {
    const find = (id: string) => operations().find((each) => each.operation.operationId === id)?.operation
    const limits = operations().flatMap((each) => each.operation.parameters?.filter((of) => of.name === 'limit') ?? [])
    expect(limits.length).toBeGreaterThan(3)
    for (const limit of limits) expect(limit.schema.default).toBe(100)
    const { properties } = json(find('generateProxies')?.requestBody?.content).schema
    const given = { type: 'sticky', protocol: 'http', session_ttl: 10, quantity: 1, format_id: 1 }
    for (const [name, value] of Object.entries(given)) expect(properties?.[name]).toMatchObject({ default: value })
    expect(find('getPremiumUsage')?.parameters?.find((of) => of.name === 'by')?.schema.default).toBe('day')
    expect(find('getVpnConfig')?.parameters?.find((of) => of.name === 'format')?.schema.default).toBe('conf')
    for (const id of ['buyVpn', 'renewVpn']) {
      const { anyOf } = json(find(id)?.requestBody?.content).schema
      expect(anyOf?.map((each) => each.required)).toEqual([['period'], ['period_months']])
    }
  })

  test('examples of openapi.json equal real answers: ids, refusals and the calculation of a price', async () => {
    const prefixes = { ord: 'order', sub: 'subuser', dev: 'peer' } as const
    const ids = [...text.matchAll(/"((ord|sub|dev)_[0-9a-z]+)"/g)]
    expect(new Set(ids.map(([, , prefix]) => prefix))).toEqual(new Set(Object.keys(prefixes)))
    for (const [, id = '', prefix = ''] of ids) {
      expect([id, readId(prefixes[prefix as keyof typeof prefixes], id) as string]).toEqual([id, id])
    }
    const unauthorized = await service.get('/balance', { token: null })
    const find = (id: string) => operations().find((each) => each.operation.operationId === id)?.operation
    const refused = json(find('getBalance')?.responses['401']?.content).examples?.['invalid_token']
    const doc_url = unauthorized.error.doc_url.replace(service.url, '')
    expect(refused?.value.error).toEqual({ ...unauthorized.error, doc_url })
    await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 10, ipv: 4 })
    const [order] = (await service.get('/orders?limit=1')).data.orders
    const shown = json(find('getOrder')?.responses['200']?.content).example as { data: typeof order }
    const known = ({ price_rub, request, calculation, created_at }: typeof order) => {
      const { expires_at, ...rest } = calculation
      return { price_rub, request, rest, days: (expires_at - Date.parse(created_at)) / 86_400_000 }
    }
    expect(known(shown.data)).toEqual(known(order))
  })

  test('openapi.json has patterns for names of devices and pools, and integers for bytes', async () => {
    const find = (id: string) => operations().find((each) => each.operation.operationId === id)?.operation
    const { name } = json(find('addVpnDevice')?.requestBody?.content).schema.properties ?? {}
    const pattern = new RegExp(name?.pattern ?? '', 'u')
    for (const written of ['phone', 'Мой телефон (2)', "O'Neil", ' phone', '-x', 'a\nb', 'a"b', '', 'x'.repeat(65)]) {
      expect([written, pattern.test(written)]).toEqual([written, isDeviceName(written)])
    }
    const pool = find('getPremiumUsage')?.parameters?.find((each) => each.name === 'pool_type')?.schema.pattern ?? ''
    expect([new RegExp(pool).test('residential'), new RegExp(pool).test('Residential')]).toEqual([true, false])
    const counts = operations().flatMap(({ operation }) =>
      [...schemasIn(json(operation.responses['200']?.content).schema, '')].filter(([location]) =>
        location.endsWith('_bytes'),
      ),
    )
    expect(counts.length).toBeGreaterThan(10)
    for (const [location, schema] of counts)
      expect([location, [schema.type].flat()]).toEqual([location, expect.arrayContaining(['integer'])])
  })

  test('openapi.json contains the address of the shop and the tags of the specification, the catalogue first', async () => {
    expect(described.servers.map((each) => each.url)).toEqual([`${service.url}/api/v1`])
    expect(described.tags.map((each) => each.name)).toEqual([
      'Catalogue',
      'Account',
      'Payments',
      'Referrals',
      'Dedicated proxies',
      'Premium proxies',
      'VPN',
      'Orders',
      'Events',
      'Webhooks',
      'API tokens',
    ])
    const behind = await startService('sqlite', { TURNPIKE_PUBLIC_URL: 'https://shop.example' })
    const there = (await (await fetch(`${behind.url}/api/v1/openapi.json`)).json()) as Described
    await behind.stop()
    expect(there.servers[0]?.url).toBe('https://shop.example/api/v1')
  })

  test('openapi.json shows countries, periods and pools of the price list, and follows its changes', async () => {
    const read = async () => {
      const answer = await fetch(`${service.url}/api/v1/openapi.json`)
      return { paths: ((await answer.json()) as Described).paths, tag: answer.headers.get('etag') }
    }
    const examplesIn = ({ paths }: Pick<Described, 'paths'>) => {
      const ofQuery = (path: string, name: string) =>
        paths[path]?.['get']?.parameters?.find((each) => each.name === name)?.schema.examples
      const bodyOf = (path: string) => paths[path]?.['post']?.requestBody?.content['application/json']
      return {
        countries: ofQuery('/dedicated/quote', 'country_code'),
        days: bodyOf('/dedicated/buy')?.schema.properties?.['period']?.examples,
        prolonging: bodyOf('/dedicated/prolong')?.schema.properties?.['period']?.examples,
        pools: ofQuery('/premium/traffic/quote', 'pool_type'),
        months: bodyOf('/vpn/renew')?.schema.properties?.['period']?.examples,
        order: bodyOf('/dedicated/buy')?.example,
      }
    }
    expect(examplesIn(described)).toEqual({
      countries: ['DE', 'FR', 'GB', 'NL', 'RU', 'US'],
      days: [3, 7, 14, 30, 60, 90],
      prolonging: [3, 7, 14, 30, 60, 90],
      pools: ['datacenter', 'mobile', 'residential', 'residential_premium'],
      months: [1, 3, 6, 12],
      order: { country_code: 'DE', period: 30, count: 1, ipv: 4 },
    })
    const before = await read()
    const { pricing, db } = service.services
    const kinds = { 4: { periods: [5, 10], countries: { PL: { per_day: 1 } } } }
    const dedicated = { prolong_periods: [10], kinds }
    const premium = { pools: { mobile: { tiers: [{ from_gb: 0, per_gb: 100 }] } } }
    await db.transact((tx) => pricing.apply(tx, { dedicated, premium, vpn: { months: { 2: 100 }, refund: 'none' } }))
    // The shop may serve the price list of half a second ago.
    expect(await untilTrue(async () => (await read()).tag !== before.tag)).toBe(true)
    const after = await read()
    expect(examplesIn(after)).toEqual({
      countries: ['PL'],
      days: [5, 10],
      prolonging: [10],
      pools: ['mobile'],
      months: [2],
      order: { country_code: 'PL', period: 5, count: 1, ipv: 4 },
    })
    expect(after.tag).not.toBe(before.tag)
  })
})

/** The same document with additionalProperties: false in every object that does not set it. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]))
  const isShape = 'properties' in node && 'type' in node && node.type === 'object' && !('additionalProperties' in node)
  return isShape ? { ...copy, additionalProperties: false } : copy
}

test('docs/api/errors.md lists every refusal code with its status, and no other code', async () => {
  const table = await Bun.file(new URL('../../docs/api/errors.md', import.meta.url)).text()
  const rows = [...table.matchAll(/^\| (\d{3}) \| `(\w+)` \| \S/gm)].map(([, status, code]) => [code, Number(status)])
  expect(Object.fromEntries(rows)).toEqual(statusOfCode)
  expect(rows.length).toBe(Object.keys(statusOfCode).length)
})
