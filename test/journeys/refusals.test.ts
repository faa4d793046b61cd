import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Service, startService } from '../harness/service.ts'

type Problem = {
  field: string
  problem: string
  reason: string
  params: object
  allowed?: unknown[]
  see?: string
}
type Schema = {
  type?: string
  minimum?: number
  properties?: Record<string, Schema>
  required?: string[]
  anyOf?: Schema[]
}
type Operation = {
  security?: object[]
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema; example?: Record<string, unknown> }> }
}

describe('details of refusals', () => {
  let service: Service
  let operations: { method: 'GET' | 'POST'; path: string; operation: Operation }[]
  beforeAll(async () => {
    service = await startService('sqlite')
    const { paths } = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Operation>>
    }
    operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method === 'get' ? ('GET' as const) : ('POST' as const),
        path,
        operation,
      })),
    )
  })
  afterAll(() => service.stop())

  const problems = (details: unknown): Problem[] => details as Problem[]

  test('every operation names each missing field as required', async () => {
    // Operations that need a session are left out: a token cannot call them.
    for (const { method, path, operation } of operations.filter((each) => !each.operation.security)) {
      const schema = operation.requestBody?.content['application/json']?.schema
      const required = [
        ...(operation.parameters ?? []).filter((each) => each.in === 'query' && each.required).map((each) => each.name),
        ...(schema?.required ?? []),
        ...(schema?.anyOf?.[0]?.required ?? []),
      ]
      if (required.length === 0) continue
      const { status, error } = await service.call(method, path, method === 'POST' ? { body: {} } : {})
      expect([path, status]).toEqual([path, 400])
      const listed = problems(error.details).map(({ field, problem }) => `${field} ${problem}`)
      expect([path, new Set(listed)]).toEqual([path, new Set(required.map((name) => `${name} is required`))])
    }
  })

  test('the allowed values of a field have its type, in a query and in a body', async () => {
    const query = await service.get('/dedicated/quote?country_code=DE&period=30&count=1&ipv=5')
    const body = await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 5 })
    for (const { error } of [query, body]) {
      expect(problems(error.details)).toEqual([
        {
          field: 'ipv',
          problem: 'must be one of 3, 4, 6',
          reason: 'one_of',
          params: { allowed: [3, 4, 6] },
          allowed: [3, 4, 6],
        },
      ])
    }
  })

  test('a refusal of an unknown country lists the countries sold and the operation that lists them', async () => {
    const answers = [
      await service.get('/dedicated/quote?country_code=BR&period=30&count=1&ipv=4'),
      await service.post('/dedicated/buy', { country_code: 'BR', period: 30, count: 1, ipv: 4 }),
    ]
    for (const { status, error } of answers) {
      expect([status, error.code]).toEqual([404, 'not_found'])
      expect(error.details).toEqual({
        field: 'country_code',
        allowed: ['DE', 'FR', 'GB', 'NL', 'RU', 'US'],
        see: 'GET /dedicated/country',
        charged: false,
      })
      expect(error.message).toContain('DE, FR, GB, NL, RU, US')
    }
    const misspelt = await service.get('/dedicated/quote?country_code=Germany&period=30&count=1&ipv=4')
    expect(problems(misspelt.error.details)[0]).toMatchObject({ field: 'country_code', see: 'GET /dedicated/country' })
    const otherCountry = await service.post('/premium/proxies/generate', {
      pool_type: 'residential',
      countries: ['BR'],
    })
    expect(problems(otherCountry.error.details)[0]).toMatchObject({
      field: 'countries',
      allowed: expect.arrayContaining(['US']),
      see: 'POST /premium/locations/countries',
    })
  })

  test('a refusal of an unknown pool lists the four pools', async () => {
    const { data } = await service.post('/premium/subusers', {})
    const to = data.subuser.subuser_id
    const pools = ['residential', 'residential_premium', 'datacenter', 'mobile']
    for (const { status, error } of [
      await service.get('/premium/traffic/quote?pool_type=nope&gb=1'),
      await service.post('/premium/traffic/buy', { pool_type: 'nope', gb: 1 }),
      await service.get('/premium/traffic/balance?pool_type=nope'),
      await service.post('/premium/traffic/move', { pool_type: 'nope', all: true, to_subuser_id: to }),
      await service.post('/premium/proxies/generate', { pool_type: 'nope' }),
      await service.post('/premium/locations/countries', { pool_type: 'nope' }),
    ]) {
      expect(status).toBe(400)
      expect(problems(error.details)).toEqual([
        {
          field: 'pool_type',
          problem: `must be one of ${pools.join(', ')}`,
          reason: 'one_of',
          params: { allowed: pools },
          allowed: pools,
          see: 'GET /premium/traffic/balance',
        },
      ])
    }
    const capital = await service.get('/premium/traffic/quote?pool_type=Residential&gb=1')
    expect(problems(capital.error.details)[0]?.allowed).toEqual(pools)
  })

  test('a refusal of an unknown period lists the periods sold as numbers', async () => {
    const days = await service.get('/dedicated/quote?country_code=DE&period=8&count=1&ipv=4')
    expect(problems(days.error.details)[0]).toMatchObject({ field: 'period', allowed: [7, 14, 30, 60, 90] })
    for (const { error } of [await service.get('/vpn/quote?period=2'), await service.post('/vpn/buy', { period: 2 })]) {
      expect(problems(error.details)).toEqual([
        {
          field: 'period',
          problem: 'must be one of 1, 3, 6, 12',
          reason: 'one_of',
          params: { allowed: [1, 3, 6, 12] },
          allowed: [1, 3, 6, 12],
          see: 'GET /vpn/quote',
        },
      ])
    }
  })

  test('every query parameter that is a number above 0 refuses 0', async () => {
    const rest = { country_code: 'DE', period: '30', count: '1', ipv: '4', ids: '1', pool_type: 'residential', gb: '1' }
    for (const { method, path, operation } of operations) {
      if (method !== 'GET' || operation.security) continue
      const parameters = (operation.parameters ?? []).filter((each) => each.in === 'query')
      for (const { name } of parameters.filter(
        (each) => (/integer|number/.test(each.schema.type ?? '') && each.schema.minimum !== 0) || each.name === 'ids',
      )) {
        const needed = parameters.filter((each) => each.required).map((each) => each.name as keyof typeof rest)
        const query = new URLSearchParams(Object.fromEntries(needed.map((each) => [each, rest[each]])))
        query.set(name, '0')
        const { status, error } = await service.get(`${path}?${query.toString()}`)
        expect([path, name, status, error?.code]).toEqual([path, name, 400, 'invalid_request'])
        expect(problems(error.details).map((each) => each.field)).toEqual([name])
      }
    }
  })

  test('a refusal of a wrong type names the right one', async () => {
    const { error } = await service.post('/dedicated/comment', { ids: 'x', comment: 5 })
    expect(problems(error.details)).toEqual([
      {
        field: 'ids',
        problem: 'must be a list',
        reason: 'type',
        params: { expected: 'list' },
        see: 'GET /dedicated/list',
      },
      { field: 'comment', problem: 'must be a string', reason: 'type', params: { expected: 'string' } },
    ])
    const twice = await service.get('/dedicated/count?country_code=DE&country_code=FR&ipv=4')
    expect(problems(twice.error.details)[0]?.problem).toBe('must be given once')
  })
})
