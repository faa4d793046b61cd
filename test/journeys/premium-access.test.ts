import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readProxyLogin } from '../../src/core/login.ts'
import { enginesOf } from '../harness/database.ts'
import { joinNode, listNodeRows } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'

const generate = '/premium/proxies/generate'

describe.each([...enginesOf('sqlite')])('premium sub-users, ports and whitelists on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, {
      TURNPIKE_GATEWAY_HOST: 'gw.example.net',
      TURNPIKE_GATEWAY_ADDRESS: '198.51.100.1',
      TURNPIKE_PREMIUM_PORTS: '20000-21004',
      TURNPIKE_PREMIUM_WHITELIST: '5',
    })
  })
  afterAll(async () => {
    for (const verifier of service.services.verifiers) expect((await verifier.verify()).findings).toEqual([])
    await service.stop()
  })

  const addCustomer = async () => {
    const { token, customer } = await service.newCustomer(1000n)
    const { data } = await service.get('/premium/password', { token })
    return {
      token,
      customer,
      login: data.login as string,
      password: data.password as string,
      id: data.subuser.subuser_id,
    }
  }

  test('POST /premium/proxies/generate writes the four formats and a template, by name and by address', async () => {
    const { token, login, password } = await addCustomer()
    const lineOf = async (body: object) => {
      const { data } = await service.post(generate, { pool_type: 'residential', type: 'rotating', ...body }, { token })
      expect(data.proxies).toEqual(data.domain.split('\n'))
      return [data.domain, data.ip]
    }
    const full = `${login}-pool-residential`
    expect(await lineOf({})).toEqual([
      `gw.example.net:10800:${full}:${password}`,
      `198.51.100.1:10800:${full}:${password}`,
    ])
    expect((await lineOf({ format_id: 2 }))[0]).toBe(`${full}:${password}@gw.example.net:10800`)
    expect((await lineOf({ format_id: 4, protocol: 'socks5' }))[0]).toBe(
      `socks5://${full}:${password}@gw.example.net:10800`,
    )
    expect((await lineOf({ format: '{protocol}|{host}|{port}|{login}|{password}' }))[0]).toBe(
      `http|gw.example.net|10800|${full}|${password}`,
    )
    expect((await lineOf({ format_id: 3 }))[0]).toMatch(/^gw\.example\.net:2\d{4}$/)
  })

  test('lines without a login have a warning while the whitelist of their sub-user is empty, and others none', async () => {
    const { token } = await addCustomer()
    const warningsFor = async (body: object) => {
      const { text } = await service.post(generate, { pool_type: 'residential', ...body }, { token })
      return (JSON.parse(text) as { warnings?: object[] }).warnings
    }
    const warning = (field: string) => [{ field, reason: 'whitelist_empty', problem: expect.any(String), params: {} }]
    expect(await warningsFor({ format_id: 3 })).toEqual(warning('format_id'))
    expect(await warningsFor({ format: '{host}:{port}' })).toEqual(warning('format'))
    expect(await warningsFor({ format_id: 1 })).toBeUndefined()
    const made = await service.post('/premium/subusers', { name: 'shop' }, { token })
    await service.post('/premium/whitelist/add', { ip: '198.18.0.7' }, { token })
    expect(await warningsFor({ format_id: 3 })).toBeUndefined()
    const { subuser_id } = made.data.subuser
    expect(await warningsFor({ format_id: 3, subuser_id })).toEqual(warning('format_id'))
    await service.post('/premium/whitelist/remove', { ip: '198.18.0.7' }, { token })
    expect(await warningsFor({ format_id: 3, quanttity: 1 })).toMatchObject([
      { field: 'quanttity' },
      ...warning('format_id'),
    ])
  })

  test('POST /premium/proxies/generate refuses locations that make a login longer than 255 characters', async () => {
    const { token } = await addCustomer()
    const namesOf = async (part: 'states' | 'cities'): Promise<string[]> => {
      const { data } = await service.post(`/premium/locations/${part}`, { pool_type: 'residential' }, { token })
      return data[part].map((each: { name: string }) => each.name)
    }
    const order = { pool_type: 'residential', states: await namesOf('states'), cities: await namesOf('cities') }
    for (const rest of [{ format_id: 1 }, { format_id: 3 }, { format_id: 3, type: 'rotating' }]) {
      const refused = await service.post(generate, { ...order, ...rest }, { token })
      expect([refused.status, refused.error.details[0].problem]).toEqual([
        400,
        expect.stringContaining('longer than 255'),
      ])
    }
  })

  test('POST /premium/subusers refuses a login with the form of a dedicated proxy’s username', async () => {
    const { token } = await addCustomer()
    const refused = await service.post('/premium/subusers', { login: 'tpthxr5y' }, { token })
    expect([refused.status, refused.error.details[0].field]).toEqual([400, 'login'])
  })

  test('1,000 sticky lines have 1,000 session names and the same location, pool and ttl', async () => {
    const { token } = await addCustomer()
    const { data } = await service.post(
      generate,
      {
        pool_type: 'residential',
        countries: ['US'],
        states: ['New York'],
        cities: ['New York'],
        zipcodes: ['10001'],
        asns: [7018],
        quantity: 1000,
        session_ttl: 120,
      },
      { token },
    )
    const logins = (data.proxies as string[]).map((line) => readProxyLogin(line.split(':')[2] ?? ''))
    expect(new Set(logins.map((each) => each?.session?.name)).size).toBe(1000)
    for (const each of logins) {
      expect(each).toMatchObject({
        pool: 'residential',
        countries: ['us'],
        states: ['newyork'],
        cities: ['newyork'],
        zips: ['10001'],
        asns: [7018],
        session: { ttlMinutes: 120 },
      })
    }
    expect(data.params).toMatchObject({
      countries: ['US'],
      type: 'sticky',
      session_ttl: 120,
      quantity: 1000,
      format_id: 1,
    })
  })

  test.each([
    ['countries', { countries: ['BR'] }],
    ['states', { country_code: 'US', states: ['Bayern'] }],
    ['cities', { country_code: 'US', cities: ['Paris'] }],
    ['cities', { states: ['Texas'], cities: ['Chicago'] }],
    ['zipcodes', { cities: ['Houston'], zipcodes: ['10001'] }],
    ['asns', { countries: ['DE'], asns: [7018] }],
    ['pool_type', { pool_type: 'space' }],
    ['pool_type', { pool_type: 7 }],
    ['country_code', { country_code: 'USA' }],
    ['countries.0', { countries: [1] }],
    ['countries', { countries: 'US' }],
    ['states.0', { states: ['Москва'] }],
    ['cities.0', { cities: [''] }],
    ['zipcodes', { zipcodes: Array.from({ length: 51 }, () => '1') }],
    ['asns.0', { asns: [0] }],
    ['asns.0', { asns: ['7018'] }],
    ['type', { type: 'static' }],
    ['protocol', { protocol: 'https' }],
    ['session_ttl', { session_ttl: 121 }],
    ['session_ttl', { session_ttl: 0 }],
    ['session_ttl', { session_ttl: 1.5 }],
    ['session_ttl', { type: 'rotating', session_ttl: 10 }],
    ['quantity', { quantity: 1001 }],
    ['quantity', { quantity: 0 }],
    ['format_id', { format_id: 5 }],
    ['format', { format: '{host}:{secret}' }],
    ['format', { format: 'plain' }],
    ['format', { format: '{host}\n{port}' }],
    ['format', { format: '' }],
    ['format', { format: '{host}'.padEnd(501, '.') }],
    ['format', { format: '{host}', format_id: 1 }],
    ['subuser_id', { subuser_id: '!' }],
  ])('POST /premium/proxies/generate answers 400 that names %s for %o', async (field, body) => {
    const answer = await service.post(generate, { pool_type: 'residential', ...body })
    expect(answer.status).toBe(400)
    expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([field])
  })

  test('POST /premium/proxies/generate refuses a login longer than 255 characters instead of cutting it', async () => {
    const { services } = service
    const long = Array.from({ length: 12 }, (_, index) => `abcdefghijklmnopqrstuvwxyz${index}`)
    await services.db.transact(async (tx) => {
      const exit = { pool: 'mobile', kind: 'local' as const, host: '127.110.0.1', port: null, credentials: null }
      services.premium.exits.add(
        tx,
        long.map((city) => ({ ...exit, country: 'DE', state: '', city, zip: '', asn: null })),
      )
    })
    const answer = await service.post(generate, { pool_type: 'mobile', cities: long })
    expect(answer.status).toBe(400)
    expect(answer.error.message).toContain('longer than 255')
  })

  test('a port belongs to one sub-user and one set of parameters, and a repeat gives the same ports', async () => {
    const one = await addCustomer()
    const two = await addCustomer()
    const body = { pool_type: 'residential', country_code: 'DE', format_id: 3, quantity: 3 }
    const ask = async (token: string, more = {}) =>
      (await service.post(generate, { ...body, ...more }, { token })).data.proxies as string[]
    const [a, b] = await Promise.all([ask(one.token), ask(two.token)])
    expect(new Set([...a, ...b]).size).toBe(6)
    expect(await ask(one.token)).toEqual(a)
    const c = await ask(one.token, { country_code: 'FR' })
    const d = await ask(one.token, { session_ttl: 20 })
    expect(new Set([...a, ...b, ...c, ...d]).size).toBe(12)
    const rotating = await ask(one.token, { type: 'rotating' })
    expect(new Set(rotating).size).toBe(1)
    const nodes = service.services.premium.nodes
    await service.post('/premium/whitelist/add', { ip: '198.18.0.0/24' }, { token: one.token })
    await service.post('/premium/whitelist/add', { ip: '198.18.0.7' }, { token: two.token })
    const portOf = (line: string | undefined) => Number(line?.split(':')[1])
    // Both whitelists contain the source; the port decides the sub-user and the parameters.
    const findByPort = async (source: string, port: number) => {
      const subuser = (await nodes.find({ source, port }))?.subuser
      return (
        subuser && {
          id: subuser.id,
          login: readProxyLogin(subuser.ports.find((each) => each.port === port)?.login ?? ''),
        }
      )
    }
    const first = await findByPort('198.18.0.7', portOf(a[0]))
    expect(first?.id).toBe(one.id)
    expect(first?.login).toMatchObject({ countries: ['de'], session: { ttlMinutes: 10 } })
    expect((await findByPort('198.18.0.7', portOf(b[0])))?.id).toBe(two.id)
    expect((await findByPort('198.18.0.7', portOf(c[0])))?.login?.countries).toEqual(['fr'])
    expect((await findByPort('198.18.0.7', portOf(rotating[0])))?.login?.session).toBeNull()
    expect(await findByPort('198.18.1.7', portOf(a[0]))).toBeUndefined()
    expect(await findByPort('198.18.0.8', portOf(b[0]))).toBeUndefined()
    expect(await findByPort('198.18.0.7', 29_999)).toBeUndefined()
  })

  test('concurrent requests never share a port, and a request above the rest answers out_of_stock', async () => {
    const one = await addCustomer()
    const two = await addCustomer()
    const ask = (token: string, quantity: number) =>
      service.post(generate, { pool_type: 'residential', format_id: 3, quantity }, { token })
    const answers = await Promise.all([ask(one.token, 400), ask(two.token, 400), ask(one.token, 400)])
    const lines = answers.map((each) => each.data.proxies as string[])
    expect(lines[0]).toEqual(lines[2] ?? [])
    expect(new Set([...(lines[0] ?? []), ...(lines[1] ?? [])]).size).toBe(800)
    const tooMany = await ask(one.token, 1000)
    expect(tooMany.status).toBe(409)
    expect(tooMany.error.code).toBe('out_of_stock')
    // The refused request took no port.
    expect((await ask((await addCustomer()).token, 5)).status).toBe(200)
  })

  test('a customer holds at most 1,000 ports over all sub-users', async () => {
    const { token } = await addCustomer()
    const { data } = await service.post('/premium/subusers', {}, { token })
    const body = { pool_type: 'residential', format_id: 3 }
    await service.post(generate, { ...body, quantity: 3 }, { token })
    const answer = await service.post(
      generate,
      { ...body, quantity: 998, subuser_id: data.subuser.subuser_id },
      { token },
    )
    expect(answer.status).toBe(409)
    expect(answer.error).toMatchObject({ code: 'conflict', details: { limit: 1000, available: 997 } })
  })

  test('a whitelist stores an address once in canonical form, with its comment', async () => {
    const { token } = await addCustomer()
    const add = (ip: string, comment?: string) => service.post('/premium/whitelist/add', { ip, comment }, { token })
    const first = await add('::ffff:8.8.8.8', 'office')
    expect(first.data).toMatchObject({ ip: '8.8.8.8', added: true, limit: 5 })
    expect((await add('8.8.8.8')).data).toMatchObject({ added: false })
    expect((await add('2A00:1450:0:0::/56')).data.ip).toBe('2a00:1450::/56')
    expect((await add('1.1.1.0/24')).data.ip).toBe('1.1.1.0/24')
    const { data } = await service.get('/premium/whitelist', { token })
    expect(data.ips.map((each: { ip: string }) => each.ip).toSorted()).toEqual([
      '1.1.1.0/24',
      '2a00:1450::/56',
      '8.8.8.8',
    ])
    expect(data.ips.find((each: { ip: string }) => each.ip === '8.8.8.8')).toMatchObject({
      comment: 'office',
      last_used_at: null,
    })
    const removed = await service.post('/premium/whitelist/remove', { ip: '::ffff:8.8.8.8' }, { token })
    expect(removed.data).toMatchObject({ ip: '8.8.8.8', removed: true })
    expect((await service.post('/premium/whitelist/remove', { ip: '8.8.8.8' }, { token })).data.removed).toBe(false)
  })

  test('a whitelist with a limit of 5 accepts 5 of 9 concurrent additions', async () => {
    const { token } = await addCustomer()
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        service.post('/premium/whitelist/add', { ip: `9.9.9.${index}` }, { token }),
      ),
    )
    expect(answers.filter((each) => each.status === 200)).toHaveLength(5)
    const refused = answers.filter((each) => each.status === 409)
    expect(refused).toHaveLength(4)
    expect(refused[0]?.error).toMatchObject({ code: 'conflict', details: { limit: 5 } })
  })

  test.each([
    ['a prefix wider than /24', '1.1.0.0/23'],
    ['a prefix wider than /56', '2a00:1450::/55'],
    ['bits past the length', '1.1.1.1/24'],
    ['a short form', '127.1'],
    ['a hexadecimal form', '0x7f.0.0.1'],
    ['a name', 'example.com'],
    ['nothing', ''],
    ['the unspecified address', '0.0.0.0'],
    ['a number', 5],
    ['a long text', '1'.repeat(100)],
  ])('POST /premium/whitelist/add and remove refuse %s', async (_, ip) => {
    for (const path of ['add', 'remove']) {
      const answer = await service.post(`/premium/whitelist/${path}`, { ip })
      expect(answer.status).toBe(400)
      expect(answer.error.details[0].field).toBe('ip')
    }
  })

  test('POST /premium/whitelist/add refuses a comment over 200 characters or with control characters', async () => {
    for (const comment of ['a'.repeat(201), 'a\nb', 5]) {
      const answer = await service.post('/premium/whitelist/add', { ip: '8.8.4.4', comment })
      expect(answer.error.details[0].field).toBe('comment')
    }
  })

  test('a gateway’s report sets last_used_at of the whitelist entry that contains the address', async () => {
    const { token, id } = await addCustomer()
    await service.post('/premium/whitelist/add', { ip: '8.8.8.0/24' }, { token })
    await service.services.premium.metering.takeReport({
      node: `seen-${engine}`,
      boot: 'b',
      counts: [],
      leaseRequests: [],
      sources: [{ subuser: id, address: '8.8.8.77' }],
    })
    const { data } = await service.get('/premium/whitelist', { token })
    expect(data.ips[0].last_used_at).toBe(new Date(service.clock.nowMs).toISOString())
  })

  test('a password reset replaces the digest that nodes read, at once', async () => {
    const { token, login, password } = await addCustomer()
    const nodes = service.services.premium.nodes
    const sha256 = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex')
    const known = async () => (await nodes.find({ username: login }))?.subuser
    expect((await known())?.digest).toBe(sha256(password))
    service.clock.advance(5)
    const reset = await service.post('/premium/password/reset', {}, { token })
    expect(reset.data.password).not.toBe(password)
    expect(reset.data.password).toMatch(/^[0-9a-z]{20,}$/)
    expect((await service.get('/premium/password', { token })).data).toEqual(reset.data)
    expect((await known())?.digest).toBe(sha256(reset.data.password))
    const changes = await listNodeRows(nodes, 'subusers', { since: service.clock.nowMs })
    expect(changes.map(({ shape, changedAt }) => [shape.login, changedAt])).toContainEqual([login, service.clock.nowMs])
  })

  test('a sub-user has its own login, password, whitelist, traffic and limits, and can be blocked', async () => {
    const { token, login } = await addCustomer()
    const made = await service.post(
      '/premium/subusers',
      { name: 'Alice', login: `alice_${engine}`, day_limit_bytes: 10 ** 9, tunnel_limit: 50, keep_hosts: false },
      { token },
    )
    expect(made.data.subuser).toMatchObject({
      login: `alice_${engine}`,
      name: 'Alice',
      is_default: false,
      status: 'active',
      day_limit_bytes: 10 ** 9,
      month_limit_bytes: null,
      tunnel_limit: 50,
      keep_hosts: false,
    })
    const id = made.data.subuser.subuser_id
    expect((await service.get(`/premium/password?subuser_id=${id}`, { token })).data.password).toBe(made.data.password)
    await service.post('/premium/whitelist/add', { ip: '8.8.8.8', subuser_id: id }, { token })
    expect((await service.get('/premium/whitelist', { token })).data.ips).toEqual([])
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 0.5, subuser_id: id }, { token })
    const listed = await service.get('/premium/subusers', { token })
    expect(listed.data.subusers.map((each: { login: string }) => each.login).toSorted()).toEqual(
      [login, `alice_${engine}`].toSorted(),
    )
    const paged = await service.get('/premium/subusers?limit=1', { token })
    const last = await service.get(`/premium/subusers?limit=1&cursor=${paged.data.next_cursor}`, { token })
    expect([last.data.subusers.length, last.data.next_cursor]).toEqual([1, null])
    const taken = await service.post('/premium/subusers', { login: `alice_${engine}` }, { token })
    expect(taken.error.code).toBe('conflict')
    const blocked = await service.post(
      '/premium/subusers/update',
      { subuser_id: id, blocked: true, day_limit_bytes: null },
      { token },
    )
    expect(blocked.data.subuser).toMatchObject({ status: 'blocked', day_limit_bytes: null, tunnel_limit: 50 })
    const find = async () => (await service.services.premium.nodes.find({ username: `alice_${engine}` }))?.subuser
    expect((await find())?.state).toBe('blocked')
    const back = await service.post('/premium/subusers/update', { subuser_id: id, blocked: false }, { token })
    expect(back.data.subuser.status).toBe('active')
    const node = await find()
    expect(node).toMatchObject({
      state: 'active',
      tunnels: 50,
      whitelist: ['8.8.8.8'],
      pools: [{ pool: 'residential', left: 500_000_000 }],
    })
    expect(JSON.stringify(node)).not.toContain(made.data.password)
  })

  test('deleting a sub-user returns its traffic and later its leases, and keeps its login reserved', async () => {
    const { token } = await addCustomer()
    const login = `gone_${engine}`
    const { data } = await service.post('/premium/subusers', { login }, { token })
    const id = data.subuser.subuser_id
    await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1, subuser_id: id }, { token })
    const { premium } = service.services
    const { metering, nodes } = premium
    const leaseRequest = { subuser: id, pool: 'residential', turn: 1, want: 'lease' as const }
    await metering.takeReport({ node: `del-${engine}`, boot: 'b', counts: [], leaseRequests: [leaseRequest] })
    const deleted = await service.post('/premium/subusers/delete', { subuser_id: id }, { token, key: 'd1' })
    expect(deleted.data).toMatchObject({
      deleted: { login },
      to: { is_default: true },
      returned: [{ pool_type: 'residential', gb: 0.991611392 }],
    })
    expect((await service.post('/premium/subusers/delete', { subuser_id: id }, { token, key: 'd1' })).text).toBe(
      deleted.text,
    )
    expect((await service.post('/premium/subusers/delete', { subuser_id: id }, { token })).status).toBe(404)
    expect((await service.get(`/premium/password?subuser_id=${id}`, { token })).status).toBe(404)
    expect((await service.post('/premium/subusers', { login }, { token })).error.code).toBe('conflict')
    const changes = await listNodeRows(nodes, 'subusers', { since: 0 })
    expect(changes.find(({ shape }) => shape.login === login)?.shape.state).toBe('deleted')
    // An empty answer, so that nodes do not learn the former owner.
    expect(await nodes.find({ username: login })).toEqual({ proxy: null, subuser: null })
    // A lease returned after the deletion goes to the same sub-user as the rest.
    await metering.takeReport({
      node: `del-${engine}`,
      boot: 'b',
      counts: [],
      leaseRequests: [{ ...leaseRequest, turn: 2, want: 'return' }],
    })
    expect(await premium.passOn()).toBe(1)
    expect(await premium.passOn()).toBe(0)
    const { data: left } = await service.get('/premium/traffic/balance?pool_type=residential', { token })
    expect(left.traffic_gb).toBe(1)
  })

  test('the default sub-user cannot be deleted, and a sub-user cannot inherit from itself', async () => {
    const { token, id } = await addCustomer()
    const { data } = await service.post('/premium/subusers', {}, { token })
    const other = data.subuser.subuser_id
    expect((await service.post('/premium/subusers/delete', { subuser_id: id }, { token })).status).toBe(409)
    expect(
      (await service.post('/premium/subusers/delete', { subuser_id: id, to_subuser_id: other }, { token })).status,
    ).toBe(409)
    const self = await service.post('/premium/subusers/delete', { subuser_id: other, to_subuser_id: other }, { token })
    expect(self.status).toBe(400)
    expect((await service.post('/premium/subusers/delete', {}, { token })).error.details[0].field).toBe('subuser_id')
  })

  test.each([
    ['name', { name: '' }],
    ['name', { name: 'a'.repeat(101) }],
    ['login', { login: 'abc' }],
    ['login', { login: 'Alice' }],
    ['login', { login: 'a-b-c-d' }],
    ['day_limit_bytes', { day_limit_bytes: -1 }],
    ['month_limit_bytes', { month_limit_bytes: 1.5 }],
    ['total_limit_bytes', { total_limit_bytes: '5' }],
    ['tunnel_limit', { tunnel_limit: 0 }],
    ['keep_hosts', { keep_hosts: 'no' }],
  ])('POST /premium/subusers answers 400 that names %s for %o', async (field, body) => {
    const paths = field === 'login' ? ['subusers'] : ['subusers', 'subusers/update']
    for (const path of paths) {
      const answer = await service.post(`/premium/${path}`, body)
      expect(answer.status).toBe(400)
      expect(answer.error.details.map((each: { field: string }) => each.field)).toEqual([field])
    }
  })

  test('each pool of a sandbox has 8 exits per country, and locations count them', async () => {
    for (const pool of ['residential', 'datacenter', 'residential_premium']) {
      const { data } = await service.post('/premium/locations/countries', { pool_type: pool })
      expect(data.countries).toEqual(
        ['DE', 'FR', 'GB', 'NL', 'RU', 'US'].map((country_code) => ({ country_code, exits: 8 })),
      )
    }
    const at = async (kind: string, body: object) =>
      (await service.post(`/premium/locations/${kind}`, { pool_type: 'residential', ...body })).data[kind]
    expect(await at('states', { country_code: 'GB' })).toEqual([
      { country_code: 'GB', state: 'england', name: 'England', exits: 4 },
      { country_code: 'GB', state: 'scotland', name: 'Scotland', exits: 2 },
      { country_code: 'GB', state: 'wales', name: 'Wales', exits: 2 },
    ])
    expect(await at('cities', { country_code: 'GB', states: ['England'] })).toEqual([
      { country_code: 'GB', city: 'london', name: 'London', exits: 2 },
      { country_code: 'GB', city: 'manchester', name: 'Manchester', exits: 2 },
    ])
    expect(await at('zipcodes', { countries: ['GB'], cities: ['London'] })).toEqual([
      { country_code: 'GB', zipcode: 'sw1a1aa', name: 'SW1A 1AA', exits: 2 },
    ])
    expect(await at('asns', { country_code: 'US' })).toEqual([
      { country_code: 'US', asn: 7018, name: 'AS7018', exits: 4 },
      { country_code: 'US', asn: 7922, name: 'AS7922', exits: 4 },
    ])
  })

  test.each(['countries', 'states', 'cities', 'zipcodes', 'asns'])(
    'POST /premium/locations/%s refuses an unknown pool and an unknown country',
    async (kind) => {
      const path = `/premium/locations/${kind}`
      expect((await service.post(path, {})).error.details[0].field).toBe('pool_type')
      expect((await service.post(path, { pool_type: 'space' })).error.details[0].field).toBe('pool_type')
      if (kind === 'countries') return
      expect((await service.post(path, { pool_type: 'mobile', country_code: 'BR' })).error.details[0].field).toBe(
        'countries',
      )
      expect((await service.post(path, { pool_type: 'mobile', countries: ['x'] })).error.details[0].field).toBe(
        'countries.0',
      )
    },
  )

  test('a drained exit is not offered, and only nodes read its credentials', async () => {
    const { premium } = service.services
    const exit = await premium.exits.addOne({
      pool: 'mobile',
      kind: 'socks5',
      host: 'upstream.example',
      port: 1080,
      credentials: { username: 'shop', password: 'upstream-secret' },
      country: 'JP',
      state: 'Tokyo',
      city: 'Tokyo',
      zip: '100-0001',
      asn: 2516,
    })
    const ask = () => service.post(generate, { pool_type: 'mobile', country_code: 'JP' })
    expect((await ask()).status).toBe(200)
    const seen = await listNodeRows(premium.nodes, 'exits', { since: exit.changedAt })
    expect(seen.find((each) => each.id === exit.id)?.shape.credentials).toEqual({
      username: 'shop',
      password: 'upstream-secret',
    })
    expect(JSON.stringify(await premium.exits.list('mobile', '', 1000))).not.toContain('upstream-secret')
    await premium.exits.drain(exit.id, true)
    expect((await ask()).error.details[0].field).toBe('countries')
    await premium.exits.drain(exit.id, false)
    expect((await ask()).status).toBe(200)
  })

  test('the log and the database contain no password in plain text', async () => {
    const { token, password } = await addCustomer()
    await service.post(generate, { pool_type: 'residential', quantity: 3 }, { token })
    await service.post('/premium/whitelist/add', { ip: 'nonsense' }, { token })
    const reset = await service.post('/premium/password/reset', {}, { token })
    const secrets = [password, reset.data.password as string, 'upstream-secret']
    for (const secret of secrets) expect(service.log.join('')).not.toContain(secret)
    for (const table of ['subusers', 'exits', 'answers', 'orders', 'gateway_ports']) {
      const rows = await service.services.db.all(`SELECT * FROM ${table}`)
      const text = JSON.stringify(rows, (_, value) =>
        typeof value === 'bigint'
          ? String(value)
          : value instanceof Uint8Array
            ? Buffer.from(value).toString('latin1')
            : value,
      )
      for (const secret of secrets) expect(text).not.toContain(secret)
    }
  })

  test('a reader of sub-user changes in pages of 3 gets each row once', async () => {
    const changes = await listNodeRows(service.services.premium.nodes, 'subusers', { since: 0, limit: 3 })
    const seen = changes.map((each) => each.id)
    const rows = await service.services.db.all<{ id: string }>('SELECT id FROM subusers')
    expect(seen.toSorted()).toEqual(rows.map((row) => row.id).toSorted())
    expect(new Set(seen).size).toBe(seen.length)
  })
})

test('POST /premium/whitelist/add refuses reserved addresses outside a sandbox', async () => {
  const service = await startService('sqlite', { TURNPIKE_SANDBOX: 'off', TURNPIKE_GATEWAY_HOST: 'gw.example.net' })
  try {
    const { token } = await service.newCustomer(10n)
    for (const ip of ['127.0.0.1', '10.0.0.1', '192.168.1.0/24', '::1', 'fe80::1', '2001:db8::1', '::ffff:10.0.0.1']) {
      const answer = await service.post('/premium/whitelist/add', { ip }, { token })
      expect(answer.status).toBe(400)
      expect(answer.error.details[0].problem).toContain('reserved')
    }
    expect((await service.post('/premium/whitelist/add', { ip: '8.8.8.8' }, { token })).status).toBe(200)
  } finally {
    await service.stop()
  }
})

test.each([...enginesOf('sqlite')])(
  'concurrent requests for three sub-users cannot exceed the customer’s 1,000 ports, on %s',
  async (engine) => {
    const service = await startService(engine)
    const { token } = await service.newCustomer(1000n)
    const made = Array.from({ length: 3 }, () => service.post('/premium/subusers', {}, { token }))
    const ids = (await Promise.all(made)).map((each) => each.data.subuser.subuser_id as string)
    const order = { pool_type: 'residential', format_id: 3, quantity: 600 }
    const answers = await Promise.all(ids.map((id) => service.post(generate, { ...order, subuser_id: id }, { token })))
    expect(answers.filter((each) => each.status === 200)).toHaveLength(1)
    expect(answers.filter((each) => each.status === 409)).toHaveLength(2)
    await service.stop()
  },
)

test.each([...enginesOf('sqlite')])('a gateway leaves out a port whose login is too long, on %s', async (engine) => {
  const service = await startService(engine)
  const { token, customer } = await service.newCustomer(1000n)
  const { subuser_id: id } = (await service.get('/premium/password', { token })).data.subuser
  const gateway = await joinNode(service)
  await gateway.catchUp()
  await service.services.db.transact(async (tx) => {
    await tx.run(
      `INSERT INTO gateway_ports (port, subuser_id, parameters, ttl_minutes, session, created_at)
       VALUES (38100, $1, $2, 0, '', 0)`,
      [id, 'x'.repeat(300)],
    )
    service.services.premium.nodes.touch(tx, customer)
  })
  await gateway.catchUp()
  expect(gateway.held.subusers.get(id)?.ports).toEqual([])
  await service.stop()
})
