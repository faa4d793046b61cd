import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/db/open.ts'
import type { Answer } from '../harness/answers.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

type Method = 'GET' | 'POST'
/** A well-formed request of each operation. The proxy id 1 is a placeholder. */
const validRequests: Record<string, { method: Method; fields: Record<string, unknown> }> = {
  '/dedicated/quote': { method: 'GET', fields: { country_code: 'DE', period: 30, count: 1, ipv: 4 } },
  '/dedicated/buy': { method: 'POST', fields: { country_code: 'DE', period: 30, count: 1, ipv: 4 } },
  '/dedicated/prolong/quote': { method: 'GET', fields: { ids: '1', period: 30 } },
  '/dedicated/prolong': { method: 'POST', fields: { ids: [1], period: 30 } },
  '/dedicated/protocol': { method: 'POST', fields: { ids: [1], port_type: 'socks' } },
  '/dedicated/list': { method: 'GET', fields: {} },
  '/dedicated/country': { method: 'GET', fields: { ipv: 4 } },
  '/dedicated/count': { method: 'GET', fields: { country_code: 'DE', ipv: 4 } },
  '/dedicated/replace': { method: 'POST', fields: { id: 1 } },
  '/dedicated/comment': { method: 'POST', fields: { ids: [1], comment: 'x' } },
  '/dedicated/auto-renew': { method: 'POST', fields: { ids: [1], period: 30 } },
  '/dedicated/check': { method: 'POST', fields: { id: 1 } },
}

const missing = Symbol('missing')
/** Not plain decimal digits, even if a number parser accepts it, or above 2^53. */
const badQueryWhole = ['', '1e1', '+5', ' 5', '5.0', '0x5', '-1', 'x', '٣', '9007199254740993', '1,2', 'null']
const badBodyWhole = [missing, null, '5', 1.5, true, [], {}, -1, 0, '1e1']
const badCountry = ['', 'D', 'DEU', 'ZZ', 'UK', '12', 'D ', 'Д1', 'DE,FR']
const badIds = [missing, null, 1, '1', {}, [], [0], [-1], [1.5], ['1'], [null], [1, 1], true]
const badQueryIds = ['', ',', '1,', ',1', '1,,2', '1;2', '1 2', '-1', '1e1', '1.0', '0x1', '1,1', '9007199254740993']

/** For each operation and field: values that the operation must refuse. */
const invalidValues: Record<string, Record<string, readonly unknown[]>> = {
  '/dedicated/quote': {
    country_code: [missing, ...badCountry],
    period: [missing, '0', '3651', ...badQueryWhole],
    count: [missing, '0', '1001', ...badQueryWhole],
    ipv: [missing, '5', '04', '4.0', 'v4', ...badQueryWhole],
  },
  '/dedicated/buy': {
    country_code: [missing, null, 7, [], {}, ...badCountry],
    period: [3651, ...badBodyWhole],
    count: [1001, ...badBodyWhole],
    ipv: [5, '5', '04', ' 4', ...badBodyWhole],
  },
  '/dedicated/prolong/quote': { ids: [missing, ...badQueryIds], period: [missing, '0', '3651', ...badQueryWhole] },
  '/dedicated/prolong': { ids: badIds, period: [3651, ...badBodyWhole] },
  '/dedicated/protocol': { ids: badIds, port_type: [missing, null, '', 'HTTP', 'https', 'socks4', 5, ['http']] },
  '/dedicated/list': {
    limit: ['0', '501', ...badQueryWhole],
    cursor: ['', '!', 'a b', 'LTE', 'eA', '%00'],
    status: ['', 'gone', 'ACTIVE'],
    country_code: badCountry,
    ipv: ['5', ...badQueryWhole],
    expires_before: ['', 'soon', '2026-02-30', '2026-01-01T00:00', '1767225600'],
    comment: ['x'.repeat(201), '\u0000', 'a\nb'],
  },
  '/dedicated/country': { ipv: [missing, '5', ...badQueryWhole] },
  '/dedicated/count': { country_code: [missing, ...badCountry], ipv: [missing, '5', ...badQueryWhole] },
  '/dedicated/replace': { id: badBodyWhole },
  '/dedicated/comment': { ids: badIds, comment: [missing, null, 1, [], 'x'.repeat(201), 'a\nb', '\u007f'] },
  '/dedicated/auto-renew': { ids: badIds, period: [3651, ...badBodyWhole.filter((each) => each !== null)] },
  '/dedicated/check': { id: badBodyWhole },
}

describe.each([...enginesOf('sqlite')])('refusals of dedicated operations on %s', (engine) => {
  let service: Service
  let id: number
  let owner: { token: string }
  beforeAll(async () => {
    service = await startService(engine)
    owner = await service.newCustomer(10_000n)
    const { data } = await service.post('/dedicated/buy', validRequests['/dedicated/buy']?.fields, {
      token: owner.token,
    })
    id = data.proxies[0].id
  })
  afterAll(async () => {
    expect(await findingsOf(service.services)).toEqual([])
    expect(service.log.filter((line) => line.includes('"fault"'))).toEqual([])
    await service.stop()
  })

  function ask(path: string, fields: Record<string, unknown>, token: string | null): Promise<Answer> {
    const given = Object.entries(fields).filter(([, value]) => value !== missing)
    if (validRequests[path]?.method === 'POST') return service.post(path, Object.fromEntries(given), { token })
    const query = new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))
    return service.get(`${path}?${query.toString()}`, { token })
  }
  const readState = async () => [
    (await service.get('/balance', { token: owner.token })).text,
    (await service.get('/dedicated/list', { token: owner.token })).text,
  ]

  test.each(Object.keys(invalidValues))('%s answers 400, names the invalid field and changes nothing', async (path) => {
    const before = await readState()
    for (const [field, values] of Object.entries(invalidValues[path] ?? {})) {
      for (const value of values) {
        const fields = { ...validRequests[path]?.fields, [field]: value }
        const answer = await ask(path, fields, owner.token)
        const seen = `${field} ${String(value)}: ${answer.text}`
        expect(answer.status, seen).toBe(400)
        expect(answer.error.code, seen).toBe('invalid_request')
        const named = answer.error.details.map((each: { field: string }) => each.field.split('.')[0])
        expect(new Set(named), seen).toEqual(new Set([field]))
        expect(answer.error.message, seen).toContain(field)
      }
    }
    expect(await readState()).toEqual(before)
  })

  test('POST /dedicated/buy names all four invalid fields in one answer', async () => {
    const answer = await ask('/dedicated/buy', { country_code: 'ZZ', period: '30', count: 0, ipv: 5 }, owner.token)
    expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([
      'country_code',
      'period',
      'count',
      'ipv',
    ])
    expect(answer.error.details[3].allowed).toEqual([3, 4, 6])
  })

  test('POST /dedicated/prolong and its quote refuse 1,001 ids', async () => {
    const ids = Array.from({ length: 1001 }, (_, index) => index + 1)
    const answers = [
      await ask('/dedicated/prolong', { ids, period: 30 }, owner.token),
      await ask('/dedicated/prolong/quote', { ids: ids.join(','), period: 30 }, owner.token),
    ]
    for (const answer of answers) expect([answer.status, answer.error.details[0].field]).toEqual([400, 'ids'])
  })

  test('every dedicated operation answers 401 without a token and changes nothing', async () => {
    const before = await readState()
    for (const [path, { fields }] of Object.entries(validRequests)) {
      const answer = await ask(path, fields, null)
      expect([path, answer.status, answer.error.code]).toEqual([path, 401, 'invalid_token'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(await readState()).toEqual(before)
  })

  test('another customer’s proxy is 404 as an unknown id is, and the request changes nothing', async () => {
    const second = await service.newCustomer(10_000n)
    const bought = await ask('/dedicated/buy', validRequests['/dedicated/buy']?.fields ?? {}, second.token)
    const own: number = bought.data.proxies[0].id
    const unknownId = id + 5_000_000
    const list = () => service.get('/dedicated/list', { token: second.token })
    const [theirs, mine] = [await readState(), (await list()).text]
    for (const [path, { fields }] of Object.entries(validRequests)) {
      const field = ['id', 'ids'].find((name) => name in fields)
      if (field === undefined) continue
      const withId = (each: number) =>
        field === 'id' ? each : path.endsWith('quote') ? `${own},${each}` : ([own, each] as unknown)
      const other = await ask(path, { ...fields, [field]: withId(id) }, second.token)
      const none = await ask(path, { ...fields, [field]: withId(unknownId) }, second.token)
      expect([path, other.status, other.error.code]).toEqual([path, 404, 'not_found'])
      expect(none.status).toBe(404)
      const known = other.text.replaceAll(service.url, '')
      expect(known.replaceAll(String(id), 'N')).toBe(
        none.text.replaceAll(service.url, '').replaceAll(String(unknownId), 'N'),
      )
    }
    expect(await readState()).toEqual(theirs)
    expect((await list()).text).toBe(mine)
    expect((await service.get('/balance', { token: second.token })).data.balance_rub).toBe(bought.data.balance_rub)
  })

  test('a token with the scope read gets 403 from every POST of dedicated', async () => {
    const reader = await service.newCustomer(1_000n)
    const { text } = await service.services.customers.issueToken(reader.customer, { name: 'read', scopes: ['read'] })
    for (const [path, { method, fields }] of Object.entries(validRequests)) {
      const answer = await ask(path, fields, text)
      if (method === 'POST') expect([path, answer.status, answer.error.code]).toEqual([path, 403, 'forbidden'])
      else expect([path, answer.status === 200 || path.includes('prolong')]).toEqual([path, true])
    }
  })

  test('a token that another process revoked gets invalid_token, also when the fields are invalid', async () => {
    const buyer = await service.newCustomer(10_000n)
    const fields = validRequests['/dedicated/buy']?.fields ?? {}
    expect((await ask('/dedicated/buy', fields, buyer.token)).status).toBe(200)
    const elsewhere = openDatabase(service.testDatabase.address)
    await elsewhere.transact((tx) =>
      tx.run('UPDATE tokens SET revoked_at = 1 WHERE customer_id = $1', [buyer.customer]),
    )
    await elsewhere.close()
    expect((await ask('/dedicated/buy', fields, buyer.token)).error.code).toBe('invalid_token')
    service.clock.advance(500)
    const faulty = await ask('/dedicated/buy', { ...fields, country_code: 'ZZ' }, buyer.token)
    expect(faulty.error.code).toBe('invalid_token')
  })

  test('POST /dedicated/buy above a token’s cap answers 403 and leases no address', async () => {
    const buyer = await service.newCustomer(10_000n)
    const { text } = await service.services.customers.issueToken(buyer.customer, {
      name: 'capped',
      cap: 20_000n as never,
    })
    const first = await ask('/dedicated/buy', validRequests['/dedicated/buy']?.fields ?? {}, text)
    const second = await ask('/dedicated/buy', validRequests['/dedicated/buy']?.fields ?? {}, text)
    expect([first.status, second.status, second.error.code]).toEqual([200, 403, 'forbidden'])
    expect((await service.get('/dedicated/list', { token: text })).data.proxies).toHaveLength(1)
  })
})
