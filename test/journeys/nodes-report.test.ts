import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { askNode, joinNode, makeSecret, reportOf } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { findingsOf } from '../harness/vpn.ts'
import { needWireguardTools, toolsWithinMs, wgPublicKey } from '../harness/wireguard.ts'

const pool = 'residential'

describe.each([...enginesOf('sqlite')])('reports of nodes to the shop on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  /** The rows of every table that a report can change. */
  async function readTables(): Promise<string> {
    const tables = ['usage_counts', 'usage_leases', 'traffic_accounts', 'traffic_hours', 'traffic_hosts', 'vpn_peers']
    const rows = await Promise.all(tables.map((name) => service.services.db.all(`SELECT * FROM ${name}`)))
    return Bun.inspect(
      rows.map((each) =>
        each
          .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
          .toSorted(),
      ),
      { depth: 9 },
    )
  }

  async function subuserWithTraffic() {
    const { token, customer } = await service.newCustomer(100_000n)
    await service.post('/premium/traffic/buy', { pool_type: pool, gb: 1 }, { token })
    const { subusers } = service.services.premium
    const { id } = await subusers.load(customer, undefined)
    await subusers.update(customer, id, { keepHosts: true, limits: {} })
    const left = async () => {
      const { data } = await service.get(`/premium/traffic/balance?pool_type=${pool}`, { token })
      return JSON.stringify(data)
    }
    return { id, token, customer, left }
  }

  describe('POST /node/v1/join and the limits of a node', () => {
    const add = async (name: string) => {
      const { db, fleet } = service.services
      await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'here' }))
      service.clock.advance(60_000)
      return (await fleet.issueKey(name)).text
    }
    const join = (key: string, secret: string) =>
      askNode(service.url, 'POST', 'join', { key, secret, version: '1.2.3' })

    test('a node joins with its key once and then authenticates with its secret', async () => {
      const key = await add('joins')
      const secret = makeSecret()
      expect((await askNode(service.url, 'GET', 'state', undefined, secret)).status).toBe(401)
      const joined = await join(key, secret)
      expect(joined.data).toMatchObject({ name: 'joins', kind: 'gateway', node: expect.stringMatching(/^nod_/) })
      expect((await join(key, secret)).data).toEqual(joined.data)
      expect(await join(key, makeSecret())).toMatchObject({ status: 401, error: { code: 'invalid_join_key' } })
      expect((await askNode(service.url, 'GET', 'state', undefined, secret)).status).toBe(200)
    })

    test('the shop answers 429 after 10 wrong join keys per minute', async () => {
      const key = await add('guessed')
      const statuses: number[] = []
      for (let count = 0; count < 12; count += 1) {
        statuses.push((await join(`tpj_${'0'.repeat(38)}${10 + count}`, makeSecret())).status)
      }
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
      expect((await join(key, makeSecret())).status).toBe(429)
      service.clock.advance(6000)
      expect((await join(key, makeSecret())).status).toBe(200)
    })

    test('POST /node/v1/tried takes 600 requests per minute and 20,000 runs per body', async () => {
      const secret = makeSecret()
      await join(await add('eager'), secret)
      const sendTrial = (runs: number) => {
        const served = Array.from({ length: 2000 }, (_, at) => [at * 2, 1])
        const ranges = Array.from({ length: runs / 2000 }, (_, at) => ({
          id: at + 1,
          served,
          problems: [],
          seen_as: null,
        }))
        return askNode(service.url, 'POST', 'tried', { ranges }, secret)
      }
      expect((await sendTrial(20_000)).status).toBe(200)
      expect(await sendTrial(22_000)).toMatchObject({ status: 400, error: { code: 'invalid_request' } })
      for (let count = 2; count < 600; count += 1) await sendTrial(0)
      const refused = await sendTrial(0)
      expect([refused.status, refused.error.code]).toEqual([429, 'rate_limited'])
      // The limit covers only this operation.
      expect((await askNode(service.url, 'GET', 'seen', undefined, secret)).status).toBe(200)
      service.clock.advance(100)
      expect((await sendTrial(0)).status).toBe(200)
    })

    test('a node gets 429 with Retry-After above 4 concurrent and 1,200 reports per minute', async () => {
      const node = await joinNode(service)
      const report = () => node.ask('POST', 'report', reportOf({}))
      const written = Promise.withResolvers<void>()
      const holding = service.services.db.transact(async (tx) => {
        await tx.run('UPDATE nodes SET version = version')
        await written.promise
      })
      // Four wait for the database, one per process that a node may have; the fifth is refused at once.
      const many = Array.from({ length: 5 }, report)
      const refused = await Promise.race(many)
      written.resolve()
      await holding
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
      expect((await Promise.all(many)).filter((each) => each.status === 200)).toHaveLength(4)
      for (let count = 5; count < 1200; count += 1) await report()
      expect(await report()).toMatchObject({ status: 429, error: { code: 'rate_limited' } })
      expect((await (await joinNode(service)).ask('POST', 'report', reportOf({}))).status).toBe(200)
      service.clock.advance(50)
      expect((await report()).status).toBe(200)
    })

    test('a node starts at most 10 boots per minute and may keep reporting for a started boot', async () => {
      const node = await joinNode(service)
      const report = async (boot: number) =>
        (await node.ask('POST', 'report', reportOf({ boot: `0boot-000${boot}` }))).status
      for (let boot = 0; boot < 10; boot += 1) expect(await report(boot)).toBe(200)
      expect([await report(10), await report(9)]).toEqual([429, 200])
      service.clock.advance(60_000)
      expect(await report(10)).toBe(200)
    })

    test('a gateway changes its hop key at most 10 times per minute and may keep reporting the last one', async () => {
      const node = await joinNode(service)
      const report = async (key: string) =>
        (await node.ask('POST', 'report', reportOf({ hop_key: key.repeat(43) }))).status
      for (const key of 'abababab') expect(await report(key)).toBe(200)
      expect(await Promise.all(['b', 'b', 'b', 'b'].map(report))).toEqual([200, 200, 200, 200])
      expect([await report('c'), await report('d'), await report('e'), await report('d')]).toEqual([200, 200, 429, 200])
      service.clock.advance(60_000)
      expect(await report('e')).toBe(200)
    })

    test('a report with a count above 2^52 - 1 bytes answers 400 and changes nothing', async () => {
      const node = await joinNode(service)
      const { id } = await subuserWithTraffic()
      const before = await readTables()
      const send = (received: number) =>
        node.ask('POST', 'report', reportOf({ subusers: [{ id, pool, received, sent: 0 }] }))
      expect(await send(2 ** 52)).toMatchObject({ status: 400, error: { code: 'invalid_request' } })
      expect(await readTables()).toBe(before)
      expect((await send(2 ** 52 - 1)).status).toBe(200)
    })

    test('a restarted gateway counts as seen at its first report, not when it reads its state', async () => {
      const secret = makeSecret()
      await join(await add('opening'), secret)
      const lastSeenAt = async () => (await service.services.fleet.findByName('opening'))?.lastSeenAt
      const joinedAt = service.clock.nowMs
      service.clock.advance(60_000)
      expect((await askNode(service.url, 'GET', 'state', undefined, secret)).status).toBe(200)
      expect(await lastSeenAt()).toBe(joinedAt)
      await askNode(service.url, 'POST', 'report', reportOf({}), secret)
      expect(await lastSeenAt()).toBe(service.clock.nowMs)
    })

    test.each(['revoke', 'close'] as const)(
      'a node after %s gets 401 from every operation, also from a waiting read',
      async (how) => {
        const node = await joinNode(service)
        await node.catchUp()
        await node.catchUp()
        const waiting = node.ask('GET', `state?wait=20&cursor=${node.cursor}`)
        await service.untilPending(1)
        await service.services.fleet[how](node.name)
        await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 6 })
        // A page in progress at that moment may still be answered, without later changes.
        const last = await waiting
        if (last.status === 200) expect(last.data.proxies).toEqual([])
        else expect(last.status).toBe(401)
        for (const [method, path, body] of [
          ['GET', 'state', undefined],
          ['GET', 'vpn', undefined],
          ['POST', 'find', { username: 'x' }],
          ['POST', 'report', reportOf({})],
        ] as const) {
          expect(await node.ask(method, path, body)).toMatchObject({ status: 401, error: { code: 'invalid_token' } })
        }
      },
    )
  })

  test('node operations answer 401 without a secret, with a wrong one and with a customer’s token', async () => {
    for (const secret of [null, '', 'x', makeSecret(), service.token]) {
      for (const [method, path] of [
        ['GET', 'state'],
        ['GET', 'vpn'],
        ['POST', 'find'],
        ['POST', 'report'],
      ] as const) {
        const answer = await askNode(service.url, method, path, method === 'POST' ? {} : undefined, secret)
        expect(answer).toMatchObject({ status: 401, error: { code: 'invalid_token' } })
        expect(answer.headers.get('x-request-id')).toBeTruthy()
      }
    }
    const node = await joinNode(service)
    expect((await service.get('/balance', { token: node.secret })).status).toBe(401)
  })

  test('bytes of a proxy are counted once when reports repeat or arrive out of order', async () => {
    const node = await joinNode(service)
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 6 }
    const id = (await service.post('/dedicated/buy', order)).data.proxies[0].id as number
    const send = (received: number, sent: number, boot = '0boot-0001') =>
      node.report({
        boot,
        proxies: [
          { id, received, sent },
          { id: 987_654_321, received: 5, sent: 5 },
        ],
      })
    await send(100, 10)
    await send(300, 30)
    await send(200, 20)
    await send(300, 30)
    await send(7, 1, '0boot-0002')
    const { db, traffic } = service.services
    const totals = await traffic.counts.totals(db, [`proxy:${id}`, 'proxy:987654321'])
    expect(totals.get(`proxy:${id}`)).toMatchObject({ received: 307n, sent: 31n })
    expect(totals.has('proxy:987654321')).toBe(false)
  })

  test('a gateway leases 8,388,608 bytes and settles the bytes relayed; a repeat changes nothing', async () => {
    const { id, token } = await subuserWithTraffic()
    const node = await joinNode(service)
    const first = reportOf({ lease_requests: [{ id, pool, turn: 1, want: 'lease' }] })
    const { replaced, allowances, now } = await node.report(first)
    expect({ replaced, now }).toEqual({ replaced: false, now: service.clock.nowMs })
    expect(allowances).toEqual([{ id, pool, upto: 8_388_608 }])
    const usage = reportOf({
      subusers: [{ id, pool, received: 3_000_000, sent: 1_000_000 }],
      hosts: [{ id, pool, host: 'example.com', received: 3_000_000, sent: 1_000_000 }],
      lease_requests: [{ id, pool, turn: 2, want: 'lease' }],
    })
    const next = await node.report(usage)
    expect(next.allowances[0]?.upto ?? 0).toBeGreaterThan(8_388_608)
    const before = await readTables()
    for (const again of [usage, first, usage]) await node.report(again)
    const after = await readTables()
    // The times of the last report may differ; the counts may not.
    const withoutTimes = (text: string) => text.replaceAll(/"?(updated|changed)_at\\?"?:\\?"\d+\\?"/g, '')
    expect(withoutTimes(after)).toBe(withoutTimes(before))
    const shown = (await service.get(`/premium/traffic/balance?pool_type=${pool}`, { token })).data
    expect(shown).toMatchObject({ traffic_gb: 0.996, used_gb: 0.004 })
    const byHost = (await service.get('/premium/usage?by=host', { token })).data
    expect(byHost.items).toMatchObject([{ key: 'example.com', received_bytes: 3_000_000, sent_bytes: 1_000_000 }])
  })

  test('a blocked customer gets a lease of 0 bytes, and a new lease 1 s after unblocking', async () => {
    const { id, customer } = await subuserWithTraffic()
    const node = await joinNode(service)
    await service.services.setBlocked(customer, true)
    const refused = await node.report({ lease_requests: [{ id, pool, turn: 1, want: 'lease' }] })
    expect(refused.allowances).toEqual([{ id, pool, upto: 0 }])
    await service.services.setBlocked(customer, false)
    service.clock.advance(1000)
    const given = await node.report({ lease_requests: [{ id, pool, turn: 2, want: 'lease' }] })
    expect(given.allowances[0]?.upto).toBe(8_388_608)
  })

  test('a report ignores sub-users, pools, devices and proxies that do not exist', async () => {
    const node = await joinNode(service)
    const before = await readTables()
    const unknownId = `sub_${'0'.repeat(26)}`
    const answer = await node.report({
      subusers: [unknownId, 'x', `sub_${'u'.repeat(26)}`].map((id) => ({ id, pool, received: 5, sent: 5 })),
      lease_requests: [{ id: unknownId, pool, turn: 1, want: 'lease' }],
      hosts: [{ id: unknownId, pool, host: 'example.com', received: 1, sent: 1 }],
      sources: [{ id: unknownId, address: '198.18.0.1' }],
      proxies: [{ id: 987_654_320, received: 1, sent: 1 }],
    })
    expect(answer.allowances).toEqual([])
    const { id } = await subuserWithTraffic()
    const odd = await node.report({
      subusers: [{ id, pool: 'no such:pool', received: 5, sent: 5 }],
      lease_requests: [{ id, pool: '', turn: 1, want: 'lease' }],
    })
    expect(odd.allowances).toEqual([])
    const vpn = await joinNode(service, 'vpn')
    await vpn.report({ peers: [{ id: 'dev_x', received: 1, sent: 1, handshake_at: 1 }] })
    expect((await readTables()).length).toBeGreaterThanOrEqual(before.length)
    const { db } = service.services
    expect(await db.all('SELECT 1 FROM usage_counts WHERE node = $1 OR node = $2', [node.id, vpn.id])).toEqual([])
  })

  test('a malformed body or query answers 400 or 413 and changes nothing', async () => {
    const { id } = await subuserWithTraffic()
    const node = await joinNode(service)
    const good = reportOf({ subusers: [{ id, pool, received: 5, sent: 5 }] })
    const before = await readTables()
    const many = Array.from({ length: 1001 }, () => ({ id: 1, received: 1, sent: 1 }))
    const bad: unknown[] = [
      { ...good, boot: 'short' },
      { ...good, boot: undefined },
      { ...good, version: '1\u{1b}[2J' },
      { ...good, version: 'версия' },
      { ...good, subusers: [{ id, pool, received: -1, sent: 0 }] },
      { ...good, subusers: [{ id, pool, received: 1.5, sent: 0 }] },
      { ...good, subusers: [{ id, pool, received: 2 ** 53, sent: 0 }] },
      { ...good, proxies: many },
      { ...good, proxies: [{ id: 0, received: 1, sent: 1 }] },
      { ...good, lease_requests: [{ id, pool, turn: 0, want: 'lease' }] },
      { ...good, lease_requests: [{ id, pool, turn: 1, want: 'all' }] },
      { ...good, peers: null },
      '[]',
      '{"boot":',
      '{"boot":"0boot-0001","boot":"0boot-0002"}',
    ]
    for (const body of bad) {
      expect(await node.ask('POST', 'report', body)).toMatchObject({ status: 400, error: { code: 'invalid_request' } })
    }
    service.clock.advance(60_000)
    const large = await node.ask('POST', 'report', { ...good, version: 'x'.repeat(1_100_000) })
    expect(large).toMatchObject({ status: 413, error: { code: 'payload_too_large' } })
    for (const [path, body] of [
      ['find', {}],
      ['find', { username: '' }],
      ['find', { source: '198.18.0.1' }],
      ['find', { source: '198.18.0.1', port: 70_000 }],
      ['join', { key: 'x', secret: makeSecret(), version: '1' }],
      ['join', { key: `tpj_${'0'.repeat(40)}`, secret: 'x', version: '1' }],
      ['join', { key: `tpj_${'0'.repeat(40)}`, secret: makeSecret(), version: '1\n2' }],
    ] as const) {
      expect((await node.ask('POST', path, body)).status).toBe(400)
    }
    for (const query of ['wait=26', 'wait=-1', 'wait=x', 'cursor=x', 'cursor=', `cursor=${'x'.repeat(501)}`]) {
      expect((await node.ask('GET', `state?${query}`)).status).toBe(400)
    }
    expect(await readTables()).toBe(before)
  })

  test('a report with 1,000 lines of each kind is accepted', async () => {
    const { id } = await subuserWithTraffic()
    const node = await joinNode(service)
    const each = <Of>(make: (index: number) => Of): Of[] => Array.from({ length: 1000 }, (_, index) => make(index))
    const answer = await node.ask('POST', 'report', {
      ...reportOf({}),
      proxies: each((index) => ({ id: index + 1, received: 1, sent: 1 })),
      subusers: each((index) => ({ id, pool: `pool_${index}`, received: 0, sent: 0 })),
      lease_requests: each((index) => ({ id, pool: `pool_${index}`, turn: 1, want: 'return' })),
      hosts: each((index) => ({ id, pool, host: `h${index}.example.com`, received: 1, sent: 1 })),
      sources: each((index) => ({ id, address: `198.18.${index >> 8}.${index & 255}` })),
    })
    expect(answer.status).toBe(200)
  })

  test('a node may report only what its kind relays, and its secret decides which node it is', async () => {
    const { id } = await subuserWithTraffic()
    const [gateway, vpn] = [await joinNode(service), await joinNode(service, 'vpn')]
    const counts = [{ id, pool, received: 5, sent: 5 }]
    expect((await vpn.ask('POST', 'report', reportOf({ subusers: counts }))).status).toBe(403)
    const peers = [{ id: 'dev_x', received: 1, sent: 1, handshake_at: null }]
    expect((await gateway.ask('POST', 'report', reportOf({ peers }))).status).toBe(403)
    expect((await vpn.ask('POST', 'find', { username: 'x' })).status).toBe(403)
    await gateway.ask('POST', 'report', { ...reportOf({ proxies: [{ id: 1, received: 9, sent: 9 }] }), node: vpn.id })
    expect(await service.services.db.all('SELECT 1 FROM usage_counts WHERE node = $1', [vpn.id])).toEqual([])
  })

  test('bytes of a device are counted once, and a handshake in the future is stored as now', async () => {
    const { token } = await service.newCustomer(100_000n)
    const device = (await service.post('/vpn/buy', { period: 1 }, { token })).data.device as string
    const node = await joinNode(service, 'vpn')
    const send = (received: number, handshake: number | null) =>
      node.report({ peers: [{ id: device, received, sent: 1, handshake_at: handshake }] })
    await send(100, service.clock.nowMs - 5000)
    await send(50, null)
    const shown = async () => (await service.get('/vpn/info', { token })).data.devices[0]
    expect(await shown()).toMatchObject({ rx_bytes: 100, tx_bytes: 1 })
    await send(200, service.clock.nowMs + 86_400_000)
    expect(Date.parse((await shown()).last_handshake_at)).toBe(service.clock.nowMs)
  })

  test('a report stores the node’s version and health', async () => {
    const node = await joinNode(service)
    await node.report({ version: '9.9.9', health: { tunnels: 3, lag_ms: 12, total_bytes: 4096 } })
    expect(await service.services.fleet.findByName(node.name)).toMatchObject({
      version: '9.9.9',
      lastSeenAt: service.clock.nowMs,
      health: { boot: '0boot-0001', tunnels: 3, lagMs: 12, totalBytes: 4096 },
    })
  })

  test('a VPN node that only reads its state is stored as seen at most every 20 s', async () => {
    const node = await joinNode(service, 'vpn')
    const seenAt = async () => {
      await node.page()
      return (await service.services.fleet.findByName(node.name))?.lastSeenAt
    }
    service.clock.advance(60_000)
    const firstAt = service.clock.nowMs
    expect(await seenAt()).toBe(firstAt)
    service.clock.advance(20_000)
    expect(await seenAt()).toBe(firstAt)
    service.clock.advance(1)
    expect(await seenAt()).toBe(firstAt + 20_001)
  })

  test(
    'GET /node/v1/vpn gives a VPN node its key and addresses, and answers 403 to a gateway',
    async () => {
      const vpn = await joinNode(service, 'vpn')
      const setup = (await vpn.ask('GET', 'vpn')).data
      expect(setup).toMatchObject({
        listen_port: 51_820,
        mtu: 1420,
        addresses: ['10.66.0.1/16', 'fd74:7572:6e70::a42:1/64'],
      })
      const known = await service.services.fleet.findByName(vpn.name)
      await needWireguardTools()
      expect(await wgPublicKey(setup.private_key)).toBe(known?.publicKey as string)
      const gateway = await joinNode(service)
      expect(await gateway.ask('GET', 'vpn')).toMatchObject({ status: 403, error: { code: 'forbidden' } })
    },
    toolsWithinMs,
  )

  test('the customers’ openapi.json has no node operation; a wrong method answers 405 with Allow', async () => {
    const text = await (await fetch(`${service.url}/api/v1/openapi.json`)).text()
    expect(text).not.toContain('/node/')
    expect(text).not.toContain('tpn_')
    const node = await joinNode(service)
    const wrong = await node.ask('POST', 'state', {})
    expect(wrong).toMatchObject({ status: 405, error: { code: 'method_not_allowed' } })
    expect(wrong.headers.get('allow')).toBe('GET')
    expect((await node.ask('GET', 'nothing')).status).toBe(404)
  })

  test('the log contains no join key, no secret and no private key', async () => {
    const vpn = await joinNode(service, 'vpn')
    const key = (await vpn.ask('GET', 'vpn')).data.private_key as string
    await vpn.ask('POST', 'join', { key: `tpj_${'0'.repeat(40)}`, secret: vpn.secret, version: '1' })
    const log = service.log.join('')
    expect(log).toContain('/node/v1/join')
    expect(log).not.toContain(vpn.secret.slice(4))
    expect(log).not.toContain(key)
    expect(log).not.toMatch(/tp[jn]_[0-9a-z]/)
  })
})

test.each([...enginesOf('sqlite')])(
  'a stopping shop on %s answers waiting nodes with 503 and ends within 3 s',
  async (engine) => {
    const service = await startService(engine)
    const node = await joinNode(service)
    await node.catchUp()
    await node.catchUp()
    const waiting = Array.from({ length: 3 }, () => node.ask('GET', `state?wait=25&cursor=${node.cursor}`))
    await service.untilPending(3)
    const stopwatch = startStopwatch(engine)
    const stopped = service.stop()
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(503)
    await stopped
    expect(stopwatch.elapsedMs()).toBeLessThan(3000)
  },
)
