import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { nodeIsSeen } from '../harness/vpn.ts'

type Described = {
  paths: Record<
    string,
    Record<string, { security?: object[]; requestBody?: { content: Record<string, { example?: object }> } }>
  >
}

describe.each([...enginesOf('postgres')])('warnings and guesses about requests on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
    // Without a live VPN node a purchase of a VPN adds a warning.
    await nodeIsSeen(service)
  })
  afterAll(() => service.stop())

  const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
  const unknown = { problem: 'is not known here and was ignored', reason: 'ignored_unknown', params: {} }
  const similar = (field: string, nearest: string) => ({
    field,
    problem: `is not known here; did you mean ${nearest}?`,
    reason: 'ignored_similar',
    params: { nearest },
  })

  test('an unknown field is accepted with a warning that names the nearest known field', async () => {
    const answer = await service.post('/premium/locations/cities', { pool_type: 'residential', countrys: ['US'] })
    expect(answer.status).toBe(200)
    expect(answer.warnings).toEqual([similar('countrys', 'countries')])
    expect(answer.data.cities.length).toBeGreaterThan(0)
  })

  test('an answer to a valid request has no warnings', async () => {
    const answer = await service.post('/premium/proxies/generate', { pool_type: 'residential', countries: ['US'] })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain('"warnings"')
  })

  test('every operation with a body warns about an unknown field', async () => {
    const description = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as Described
    const { data: bought } = await service.post('/dedicated/buy', order)
    const { data: vpn } = await service.post('/vpn/buy', { period: 1 })
    const { data: made } = await service.post('/premium/subusers', { name: 'Bob' })
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 5 })
    const { data: webhook } = await service.post('/webhooks/add', { url: 'https://hooks.example.com/turnpike' })
    const { data: delivery } = await service.post('/webhooks/test', { webhook_id: webhook.webhook_id })
    const known: Record<string, unknown> = {
      id: bought.proxies[0].id,
      ids: [bought.proxies[0].id],
      uuid: vpn.uuid,
      device: vpn.device,
      webhook_id: webhook.webhook_id,
      delivery_id: delivery.delivery_id,
      subuser_id: made.subuser.subuser_id,
      to_subuser_id: made.subuser.subuser_id,
      // The customer has no e-mail address.
      kinds: [],
    }
    const last = [
      '/webhooks/remove',
      '/dedicated/replace',
      '/premium/subusers/delete',
      '/vpn/devices/remove',
      '/vpn/devices/reset',
      '/vpn/delete',
    ]
    // Operations that need a session are left out: a token cannot call them.
    const isOpen = (path: string) => description.paths[path]?.['post']?.security === undefined
    const paths = Object.keys(description.paths).filter((path) => description.paths[path]?.['post'] && isOpen(path))
    for (const path of [...paths.filter((each) => !last.includes(each)), ...last]) {
      const example = description.paths[path]?.['post']?.requestBody?.content['application/json']?.example ?? {}
      const body = Object.fromEntries(Object.entries(example).map(([name, value]) => [name, known[name] ?? value]))
      if (path.startsWith('/vpn/') && path !== '/vpn/buy') body['uuid'] = vpn.uuid
      const answer = await service.post(path, { ...body, zzzz: 1 })
      expect([path, answer.status, answer.warnings]).toEqual([path, 200, [{ field: 'zzzz', ...unknown }]])
    }
  })

  test('unknown query parameters are named, also where the operation reads its body', async () => {
    const listed = await service.get('/dedicated/list?contry_code=DE&limit=5')
    expect(listed.warnings).toEqual([similar('contry_code', 'country_code')])
    const bought = await service.post('/dedicated/buy?coupon=x&count=5', order)
    expect(bought.warnings).toEqual([
      { field: 'coupon', ...unknown },
      {
        field: 'count',
        problem: 'was ignored in the address; this operation reads it from the body',
        reason: 'ignored_in_address',
        params: {},
      },
    ])
    expect(bought.data.count).toBe(1)
  })

  test('a replayed answer contains the warnings of the first one byte for byte', async () => {
    const first = await service.post('/dedicated/buy', { ...order, qty: 1 }, { key: 'warned' })
    expect(first.warnings).toHaveLength(1)
    const again = await service.post('/dedicated/buy', { ...order, qty: 1 }, { key: 'warned' })
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  test('a misspelt Idempotency-Key header or field is named, because its sender expects a safe retry', async () => {
    const misplaced = {
      problem: 'was ignored, so a retry is not safe; send it as the header Idempotency-Key',
      reason: 'key_misplaced',
      params: {},
    }
    for (const name of ['X-Idempotency-Key', 'Idempotency_Key', 'IdempotencyKey']) {
      const answer = await service.post('/dedicated/buy', order, { headers: { [name]: 'a' } })
      expect([answer.status, answer.warnings]).toEqual([200, [{ field: name, ...misplaced }]])
      const both = await service.post('/dedicated/buy', order, {
        headers: { [name]: 'a' },
        key: name,
      })
      expect([both.status, both.text.includes('"warnings"')]).toEqual([200, false])
      expect((await service.get('/balance', { headers: { [name]: 'a' } })).warnings).toBeUndefined()
    }
    for (const field of ['idempotency_key', 'idempotencyKey', 'Idempotency-Key']) {
      const answer = await service.post('/dedicated/buy', { ...order, [field]: 'a' })
      expect([answer.status, answer.warnings]).toEqual([200, [{ field, ...misplaced }]])
    }
    const answer = await service.post('/dedicated/buy?idempotency_key=a', order)
    expect(answer.warnings).toEqual([{ field: 'idempotency_key', ...misplaced }])
    const needless = [
      {
        field: 'Idempotency-Key',
        problem: 'was ignored: this operation charges nothing and takes no key',
        reason: 'key_unused',
        params: {},
      },
    ]
    expect((await service.get('/balance', { key: 'a' })).warnings).toEqual(needless)
    expect((await service.post('/premium/password/reset', {}, { key: 'a' })).warnings).toEqual(needless)
  })

  test('a refusal of a missing field names the field sent in its place', async () => {
    const missing = async (path: string, body: object): Promise<Record<string, string>> => {
      const { status, error } = await service.post(path, body)
      expect(status).toBe(400)
      return Object.fromEntries(
        error.details.map((each: { field: string; problem: string }) => [each.field, each.problem]),
      )
    }
    const meant = (name: string) => `is required; did you mean it by "${name}"?`
    expect(await missing('/dedicated/buy', { country: 'DE' })).toEqual({
      country_code: meant('country'),
      period: 'is required',
      count: 'is required',
      ipv: 'is required',
    })
    const spelling = { country: 'DE', days: 7, quantity: 1, ip_version: 4 }
    expect(await missing('/dedicated/buy', spelling)).toEqual({
      country_code: meant('country'),
      period: meant('days'),
      count: meant('quantity'),
      ipv: meant('ip_version'),
    })
    expect(await missing('/dedicated/protocol', { id: [1], protocol: 'http' })).toEqual({
      ids: meant('id'),
      port_type: meant('protocol'),
    })
    expect(await missing('/vpn/buy', { months: 1 })).toEqual({ period: meant('months') })
    expect(await missing('/premium/traffic/buy', { pool: 'mobile', gigabytes: 1 })).toEqual({
      pool_type: meant('pool'),
      gb: meant('gigabytes'),
    })
    expect(await missing('/premium/whitelist/add', { ips: '192.0.2.1' })).toEqual({ ip: meant('ips') })
    expect(await missing('/premium/whitelist/add', { colour: 'red' })).toEqual({ ip: 'is required' })
    const quote = await service.get('/dedicated/prolong/quote?id=1&period=7')
    expect(quote.error.message).toBe(`The request is not valid. ids: ${meant('id')}`)
  })

  test('an answer names 20 of 500 unknown fields and cuts names to 64 characters', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${index}${'x'.repeat(90)}`, 1]))
    const { warnings, status } = await service.post('/premium/password/reset', many)
    expect(status).toBe(200)
    expect(warnings).toHaveLength(21)
    expect(warnings[0]?.field).toHaveLength(64)
    expect(warnings[20]).toEqual({
      field: 'body',
      problem: 'has 480 more fields that are not known here',
      reason: 'more_unknown',
      params: { fields: 480 },
    })
  })

  describe('spellings that are accepted', () => {
    test('POST /premium/proxies/generate reads country as countries instead of ignoring it', async () => {
      for (const spelling of [{ country: 'us' }, { country: ['US'] }, { country_code: 'US' }]) {
        const { data } = await service.post('/premium/proxies/generate', { pool_type: 'residential', ...spelling })
        expect([spelling, data.params.countries]).toEqual([spelling, ['US']])
        expect(data.proxies[0]).toContain('-country-us-')
      }
      const { warnings } = await service.post('/premium/proxies/generate', { pool_type: 'residential', country: 'US' })
      expect(warnings).toEqual([
        { field: 'country', problem: 'was read as countries', reason: 'read_as', params: { other: 'countries' } },
      ])
      const both = { pool_type: 'residential', country: 'DE', countries: ['US'] }
      const answer = await service.post('/premium/proxies/generate', both)
      expect([answer.data.params.countries, answer.warnings]).toEqual([
        ['US'],
        [
          {
            field: 'country',
            problem: 'was ignored, because countries is given',
            reason: 'ignored_for',
            params: { other: 'countries' },
          },
        ],
      ])
      const wrong = await service.post('/premium/proxies/generate', { pool_type: 'residential', country: 7 })
      expect([wrong.status, wrong.error.details[0].field]).toEqual([400, 'countries.0'])
    })

    test('POST /premium/proxies/generate accepts a format number and a template without braces', async () => {
      const generate = async (format: unknown) =>
        (await service.post('/premium/proxies/generate', { pool_type: 'residential', format })).data.params
      expect(await generate(2)).toMatchObject({ format_id: 2, format: '{login}:{password}@{host}:{port}' })
      expect(await generate('2')).toMatchObject({ format_id: 2, format: '{login}:{password}@{host}:{port}' })
      for (const plain of ['login:password@host:port', 'USER:PASS@IP:PORT', 'username:password@hostname:port']) {
        expect(await generate(plain)).toMatchObject({ format: '{login}:{password}@{host}:{port}' })
      }
      expect(await generate('{login}|host')).toMatchObject({ format: '{login}|host' })
      for (const malformed of [5, '5', 'json', '', 1.5]) {
        const answer = await service.post('/premium/proxies/generate', { pool_type: 'residential', format: malformed })
        expect([malformed, answer.status, answer.error?.details[0].field]).toEqual([malformed, 400, 'format'])
      }
    })

    test('GET /dedicated/prolong/quote reads ids[] and ids[0] as a list', async () => {
      const { data } = await service.post('/dedicated/buy', { ...order, count: 2 })
      const [a, b] = data.proxies.map((each: { id: number }) => each.id)
      for (const query of [`ids[]=${a}&ids[]=${b}`, `ids%5B%5D=${a}&ids%5B%5D=${b}`, `ids[0]=${a}&ids[1]=${b}`]) {
        const quoted = await service.get(`/dedicated/prolong/quote?${query}&period=7`)
        expect([query, quoted.data?.items.length, quoted.warnings]).toEqual([query, 2, undefined])
      }
    })

    test('gb accepts the rounding error of 0.1 + 0.2 and refuses 0.15', async () => {
      expect(0.1 + 0.2).not.toBe(0.3)
      const bought = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 0.1 + 0.2 })
      expect(bought.data.traffic_added_gb).toBe(0.3)
      const quoted = await service.get(`/premium/traffic/quote?pool_type=residential&gb=${0.7 + 0.1}`)
      expect(quoted.data.gb).toBe(0.8)
      for (const gb of [0.15, 0.30001, 0.04, 10_000.1]) {
        const body = await service.post('/premium/traffic/buy', { pool_type: 'residential', gb })
        const query = await service.get(`/premium/traffic/quote?pool_type=residential&gb=${gb}`)
        expect([gb, body.status, query.status]).toEqual([gb, 400, 400])
      }
    })
  })
})
