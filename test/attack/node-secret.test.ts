import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shopSocket } from '../../src/app/settings/config.ts'
import { runRows } from '../../src/db/rows.ts'
import { toBootTime } from '../../src/node-protocol/report.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { askNode, joinNode, makeSecret, reportOf, TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

const lease = 8_388_608
const health = { tunnels: 0, lag_ms: 0, total_bytes: 0 }

/** A thief of a node's secret reports as that node, from another machine. */
describe.each([...engines])('a stolen node secret, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, {
      TURNPIKE_GATEWAY_HOST: 'gw.example.net',
      TURNPIKE_PUBLIC_URL: 'https://shop.example.org',
      TURNPIKE_LOCAL_NODES: 'gateway',
    })
  })
  afterAll(() => service.stop())

  const shown = async ({ name }: TestNode) => (await service.services.fleet.findByName(name))?.health?.tls?.host
  const reportHost = (node: TestNode, host: string) => node.report({ health, tls: { host, port: 443 } })

  test('a reported TLS host is stored only at or below the endpoint, the gateway host or the shop host', async () => {
    const node = await joinNode(service)
    for (const host of ['gw.example.net', 'eu.gw.example.net', 'shop.example.org', 'a.shop.example.org']) {
      await reportHost(node, host)
      expect(await shown(node)).toBe(host)
    }
    for (const host of ['thief.example', 'example.net', 'evilgw.example.net', 'gw.example.net.thief.example']) {
      service.clock.advance(60_000)
      service.log.length = 0
      await reportHost(node, host)
      expect(await shown(node)).toBe('a.shop.example.org')
      const lines = service.log.filter((line) => line.includes('tls host refused'))
      expect(lines).toHaveLength(1)
      expect(lines.join()).toContain(host)
      expect(lines.join()).not.toContain('tpn_')
    }
    await reportHost(node, 'thief.example')
    expect(service.log.filter((line) => line.includes('tls host refused'))).toHaveLength(1)
    await service.services.fleet.setEndpoint(node.name, { host: 'node.example.com', port: 10_800 })
    await reportHost(node, 'node.example.com')
    expect(await shown(node)).toBe('node.example.com')
    await node.report({ health })
    expect(await shown(node)).toBeUndefined()
  })

  test('a gateway cannot take the TLS host or browser host of another open gateway, unless the operator gives it that endpoint', async () => {
    const [owner, thief] = [await joinNode(service), await joinNode(service)]
    const browser_host = 'browser.one.gw.example.net'
    await owner.report({ health, tls: { host: 'one.gw.example.net', port: 443, browser_host } })
    service.clock.advance(60_000)
    for (const host of ['one.gw.example.net', browser_host]) await reportHost(thief, host)
    expect([await shown(owner), await shown(thief)]).toEqual(['one.gw.example.net', undefined])
    await service.services.fleet.setEndpoint(thief.name, { host: 'one.gw.example.net', port: 10_800 })
    await reportHost(thief, 'one.gw.example.net')
    expect(await shown(thief)).toBe('one.gw.example.net')
  })

  test('a reported browser host is stored only at or below these hosts, and the TLS host is stored without it', async () => {
    const node = await joinNode(service)
    const reportBrowserHost = (browser_host?: string) =>
      node.report({ health, tls: { host: 'gw.example.net', port: 443, browser_host } })
    const shownTls = async () => (await service.services.fleet.findByName(node.name))?.health?.tls
    for (const browserHost of ['browser.gw.example.net', 'gw.example.net', 'shop.example.org']) {
      await reportBrowserHost(browserHost)
      expect(await shownTls()).toEqual({ host: 'gw.example.net', port: 443, browserHost, pin: null })
    }
    service.log.length = 0
    await reportBrowserHost('browser.example.net')
    expect(await shownTls()).toEqual({ host: 'gw.example.net', port: 443, browserHost: null, pin: null })
    const lines = service.log.filter((line) => line.includes('browser host refused'))
    expect(lines).toHaveLength(1)
    expect(lines.join()).toContain('browser.example.net')
    await reportBrowserHost('gw.example.net')
    await reportBrowserHost()
    expect(await shownTls()).toEqual({ host: 'gw.example.net', port: 443, browserHost: null, pin: null })
  })

  test('an IP address as the endpoint allows that address and no host that ends with it', async () => {
    const node = await joinNode(service)
    await service.services.fleet.setEndpoint(node.name, { host: '198.51.100.7', port: 10_800 })
    await reportHost(node, '198.51.100.7')
    for (const host of ['1.198.51.100.7', 'thief.example']) await reportHost(node, host)
    expect(await shown(node)).toBe('198.51.100.7')
  })

  test('the shop stores any TLS host that a gateway reports over the local socket', async () => {
    const node = await joinNode(service)
    const body = reportOf({ health, tls: { host: 'any.example', port: 443 } })
    const response = await fetch('http://localhost/node/v1/report', {
      unix: shopSocket(service.testDatabase.folder),
      method: 'POST',
      headers: { Authorization: `Bearer ${node.secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    expect(await shown(node)).toBe('any.example')
  })

  const bootIn = (hours: number, name: string) => `${toBootTime(service.clock.nowMs + hours * 3_600_000)}-${name}`
  const rejoin = async ({ name }: TestNode) => {
    service.clock.advance(6000)
    const secret = makeSecret()
    const key = (await service.services.fleet.issueKey(name)).text
    const joined = await askNode(service.url, 'POST', 'join', { key, secret, version: '0.0.0' })
    return new TestNode(service.url, secret, name, joined.data.node)
  }

  test('a boot name more than 1 day ahead of the clock of the shop is refused and stores nothing', async () => {
    const node = await joinNode(service)
    for (const boot of ['zzzzzzzz', bootIn(24.1, 'ahead')]) {
      const refused = await node.ask('POST', 'report', reportOf({ boot, health }))
      expect(refused).toMatchObject({ status: 400, error: { details: [{ field: 'boot', reason: 'boot_ahead' }] } })
    }
    for (const boot of [bootIn(-1, 'past'), bootIn(23.9, 'fast')]) {
      await node.report({ boot, health })
      expect((await service.services.fleet.findByName(node.name))?.health?.boot).toBe(boot)
    }
  })

  test('a join forgets the boot, the TLS host and the hop key of a thief, and keeps the bytes', async () => {
    const { db, fleet } = service.services
    const stolen = await joinNode(service)
    const tls = { host: 'gw.example.net', port: 443, browser_host: 'b.gw.example.net' }
    const thief = { boot: bootIn(23, 'thief'), health: { ...health, total_bytes: 1000 }, tls, hop_key: 'x'.repeat(43) }
    await stolen.report(thief)
    // Another shop process may still accept the secret before for half a second.
    const late = (await fleet.findByName(stolen.name))?.joinedAt ?? 0
    const node = await rejoin(stolen)
    expect((await stolen.ask('POST', 'report', reportOf(thief))).status).toBe(401)
    const id = (await fleet.findByName(node.name))?.id
    if (!id) throw new Error('the node is not there')
    const lateReport = { ...health, boot: thief.boot, lagMs: 0, totalBytes: 0, hopBytes: 0, isStopping: false }
    const sent = fleet.seen(
      id,
      { version: '1', health: { ...lateReport, maxPorts: null, tls: { ...tls, browserHost: null } } },
      late,
    )
    expect(await failureOf(sent)).toMatchObject({ code: 'not_found' })
    const row = await db.first('SELECT boot, tls_host, tls_port, tls_browser_host, hop_key FROM nodes WHERE id = $1', [
      id,
    ])
    expect(row).toEqual({ boot: null, tls_host: null, tls_port: null, tls_browser_host: null, hop_key: null })
    expect((await fleet.earlierFigures()).get(id)).toMatchObject({ totalBytes: 1000 })
    const boot = bootIn(0, 'honest')
    await node.report({ boot, health: { ...health, total_bytes: 10 } })
    expect((await fleet.findByName(node.name))?.health).toMatchObject({ boot, totalBytes: 10, tls: null })
    expect((await fleet.earlierFigures()).get(id)).toMatchObject({ totalBytes: 1000 })
  })

  test('a node that joins again gets a lease at once, and the bytes that a thief has leased go back', async () => {
    const { db, traffic } = service.services
    const { token } = await service.newCustomer(10_000n)
    const pool = 'residential'
    expect((await service.post('/premium/traffic/buy', { pool_type: pool, gb: 1 }, { token })).status).toBe(200)
    const id = (await service.get('/premium/subusers', { token })).data.subusers[0].subuser_id as string
    const account = async () => (await traffic.accounts.list(db, [id as never]))[0] ?? { balance: 0n, aside: 0n }
    const ask = (of: TestNode, boot: string, turn: number) =>
      of.report({ boot, lease_requests: [{ id, pool, turn, want: 'lease' }] })
    const stolen = await joinNode(service)
    const earlier = bootIn(0, 'earlier')
    expect((await ask(stolen, earlier, 1)).allowances).toEqual([{ id, pool, upto: lease }])
    await stolen.report({ boot: earlier, subusers: [{ id, pool, received: 1000, sent: 0 }] })
    expect((await ask(stolen, bootIn(23, 'thief'), 1)).allowances).toEqual([{ id, pool, upto: lease }])
    const node = await rejoin(stolen)
    const honest = bootIn(0, 'honest')
    expect(await ask(node, honest, 1)).toMatchObject({ replaced: false, allowances: [{ id, pool, upto: lease }] })
    await traffic.leases.lapse()
    expect(await account()).toMatchObject({ balance: 1_000_000_000n - 1000n - BigInt(lease), aside: BigInt(lease) })
    service.clock.advance(60_000)
    expect(await ask(node, bootIn(0, 'next'), 1)).toMatchObject({ replaced: false })
    expect((await ask(node, honest, 2)).replaced).toBe(true)
    expect(await findingsOf(service)).toEqual([])
  })

  test('a figure of 2^52 answers 400, and 1,100 boots of 2^52 - 1 bytes leave "node list" and its sums readable', async () => {
    const { db, fleet } = service.services
    const node = await joinNode(service)
    const max = 2 ** 52 - 1
    const largest = { tunnels: max, lag_ms: max, total_bytes: max, hop_bytes: max }
    for (const name of ['tunnels', 'lag_ms', 'total_bytes', 'hop_bytes']) {
      const body = reportOf({ health: { ...largest, [name]: 2 ** 52 } })
      expect((await node.ask('POST', 'report', body)).status).toBe(400)
    }
    for (const name of ['cpu_ms', 'errors', 'max_ports', 'interface_mbit']) {
      expect((await node.ask('POST', 'report', reportOf({ [name]: 2 ** 52 }))).status).toBe(400)
    }
    const figures = { cpu_ms: max, errors: max, max_ports: max, interface_mbit: max }
    for (const boot of ['0boot-9998', '0boot-9999']) await node.report({ boot, health: largest, ...figures })
    await db.transact(async (tx) => {
      const { nowMs } = service.clock
      const rows = Array.from({ length: 1100 }, (_, index) => [node.id, `0boot-${index}`, max, max, max, nowMs])
      await runRows(tx, 'INSERT INTO node_boots (node_id, boot, total_bytes, hop_bytes, tunnels, reported_at)', rows)
    })
    expect((await fleet.earlierFigures()).get(node.id)).toMatchObject({ totalBytes: max, hopBytes: max, tunnels: max })
    const listed = (await fleet.nodes('gateway')).find((each) => each.id === node.id)
    expect(listed?.health).toMatchObject({ totalBytes: max, tunnels: max, interfaceMegabits: 800_000 })
  })
})
