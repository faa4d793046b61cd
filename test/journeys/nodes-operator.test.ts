import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { joinKeyFile } from '../../src/app/settings/config.ts'
import { joinKeysIn } from '../../src/app/shop/data-folder.ts'
import type { NodeKind } from '../../src/domains/fleet/rules.ts'
import { admitLocalNodes } from '../../src/jobs/local-nodes.ts'
import { runtimeWith } from '../harness/clock.ts'
import { enginesOf } from '../harness/database.ts'
import { askNode, joinNode, makeSecret } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { runCommand, runJson, runTurnpike, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'

const version = '1.2.3'

describe.each([...enginesOf('sqlite')])('the node commands on %s', (engine) => {
  let service: Service
  let env: Record<string, string>
  beforeAll(async () => {
    service = await startService(engine)
    // Commands run on the real clock.
    service.clock.nowMs = Date.now()
    env = { ...testDatabaseEnv(service.testDatabase), TURNPIKE_PUBLIC_URL: 'https://shop.example.net' }
  })
  afterAll(() => service.stop())

  const run = (...args: string[]) => runJson(args, env)
  const join = (key: string, secret: string) => askNode(service.url, 'POST', 'join', { key, secret, version })
  const stateOf = async (secret: string) => (await askNode(service.url, 'GET', 'state', undefined, secret)).status

  test('node add prints a key with which a node joins; node list shows it; node revoke refuses it', async () => {
    const locationFlags = ['--kind', 'gateway', '--location', 'berlin', '--country', 'de', '--city', 'Berlin']
    const endpoint = ['--endpoint-host', 'gw1.example.net', '--endpoint-port', '10800']
    const added = await run('node', 'add', 'gw1', ...locationFlags, ...endpoint)
    const { key, command, service_commands: commands } = added.json
    expect(commands).toEqual([
      `(umask 077; printf '%s\\n' TURNPIKE_SHOP_URL=https://shop.example.net TURNPIKE_NODE_KEY=${key} >> /etc/turnpike/turnpike-gateway.env)`,
      'systemctl enable --now turnpike-gateway',
    ])
    expect(added.exit).toBe(0)
    expect(command).toBe(`TURNPIKE_SHOP_URL=https://shop.example.net TURNPIKE_NODE_KEY=${key} turnpike gateway`)
    const secret = makeSecret()
    expect((await join(key, secret)).data).toMatchObject({ name: 'gw1', kind: 'gateway' })
    const health = { tunnels: 4, lag_ms: 9, total_bytes: 12_300_000 }
    const body = { boot: '0boot-0001', version, health, max_ports: 700 }
    const noCounts = { proxies: [], subusers: [], peers: [], lease_requests: [], hosts: [], sources: [] }
    const report = () => askNode(service.url, 'POST', 'report', { ...body, ...noCounts }, secret)
    expect((await report()).status).toBe(200)
    const listed = await run('node', 'list')
    expect(listed.json.items).toContainEqual(
      expect.objectContaining({
        name: 'gw1',
        kind: 'gateway',
        location: 'berlin',
        country_code: 'DE',
        city: 'Berlin',
        endpoint: { host: 'gw1.example.net', port: 10_800 },
        state: 'online',
        version,
        lag_ms: 9,
        tunnels: 4,
        carried_bytes: 12_300_000,
        most_ports: 700,
      }),
    )
    expect(listed.out).not.toContain(key)
    expect((await report()).status).toBe(200)
    const lines = (await runCommand(['node', 'list'], env)).out
    expect(lines).toMatch(
      /gw1 +gateway +berlin +online +1\.2\.3 +9 +4 +10000 +12\.3 MB +0\.0 MB +0\.0 MB +0 +700 +0 +20\d\d-/,
    )
    // As a gateway in a sandbox, over loopback. A report counts for 10 s, and a loaded machine lists later.
    const atAnySpeed = { ...body, ...noCounts, interface_mbit: 800_000 }
    const isListed = async (): Promise<boolean> => {
      expect((await askNode(service.url, 'POST', 'report', atAnySpeed, secret)).status).toBe(200)
      return /gw1 +gateway +berlin +online +1\.2\.3 +9 +4 +any +/.test((await runCommand(['node', 'list'], env)).out)
    }
    expect(await untilTrue(isListed)).toBe(true)
    expect((await runCommand(['node', 'show', 'gw1'], env)).out).toContain('Bandwidth: any Mbit/s')
    expect((await runCommand(['node', 'drain', 'gw1'], env)).out).toContain('its free addresses are not sold')
    expect((await runCommand(['node', 'list'], env)).out).toMatch(
      /gw1 +gateway +berlin +online +20\d\d-\S+ \S+ +1\.2\.3/,
    )
    expect((await runCommand(['node', 'show', 'gw1'], env)).out).toMatch(
      /^Draining since 20\d\d-.* "turnpike node close gw1"/m,
    )
    await run('node', 'drain', 'gw1', '--undo')
    expect((await runCommand(['node', 'show', 'gw1'], env)).out).not.toContain('Draining')
    // A node is offline after 10 s without a report.
    await service.services.db.transact((tx) =>
      tx.run('UPDATE nodes SET last_seen_at = $1 WHERE name = $2', [Date.now() - 10_001, 'gw1']),
    )
    expect((await run('node', 'list')).json.items).toContainEqual(
      expect.objectContaining({ name: 'gw1', state: 'offline' }),
    )
    expect((await run('node', 'revoke', 'gw1')).json).toMatchObject({ name: 'gw1', state: 'closed' })
    service.clock.advance(999)
    expect(await stateOf(secret)).toBe(401)
  })

  test('node add prints the key once on its own line, and node key replaces it', async () => {
    const added = await runCommand(['node', 'add', 'v1', '--kind', 'vpn', '--location', 'oslo'], env)
    const [first = ''] = added.out.split('\n')
    expect(first).toMatch(/^tpj_[0-9a-z]{40}$/)
    expect(added.out).toContain(`TURNPIKE_NODE_KEY=${first} turnpike vpn-node`)
    const { key } = (await run('node', 'key', 'v1')).json
    expect((await join(first, makeSecret())).status).toBe(401)
    const secret = makeSecret()
    expect((await join(key, secret)).data).toMatchObject({ name: 'v1', kind: 'vpn' })
    expect(added.out).not.toContain('needs no key')
    expect((await runCommand(['node', 'key', 'v1'], env)).out).toContain('v1 joined')
    await run('node', 'close', 'v1')
    expect((await run('node', 'key', 'v1')).json.error.code).toBe('conflict')
    service.clock.advance(999)
    expect(await stateOf(secret)).toBe(401)
    expect((await run('node', 'open', 'v1')).json.state).toBe('online')
    service.clock.advance(999)
    expect(await stateOf(secret)).toBe(200)
    await run('node', 'revoke', 'v1')
    expect((await runCommand(['node', 'open', 'v1'], env)).out).toContain('turnpike node key v1')
  })

  test('node add exits 2 for each malformed option and refuses a name that exists', async () => {
    const mistakes = [
      ['gw 2', '--kind', 'gateway'],
      ['gw2', '--kind', 'router'],
      ['gw2', '--kind', 'gateway', '--location', 'A B'],
      ['gw2', '--kind', 'gateway', '--country', 'ZZ'],
      ['gw2', '--kind', 'gateway', '--endpoint-host', 'x'],
      ['gw2', '--kind', 'gateway', '--endpoint-host', 'x', '--endpoint-port', '0'],
    ]
    for (const args of mistakes) expect((await runCommand(['node', 'add', ...args], env)).exit).toBe(2)
    expect((await run('node', 'add', 'twice')).json.kind).toBe('gateway')
    expect((await run('node', 'add', 'twice', '--kind', 'vpn')).json.error.code).toBe('conflict')
    expect((await run('node', 'revoke', 'nobody')).json.error.code).toBe('not_found')
  })

  test('node endpoint shows the new endpoint at once, and node rename keeps the node’s id and secret', async () => {
    const { key, node_id: id } = (await run('node', 'add', 'old-name')).json
    const secret = makeSecret()
    expect((await join(key, secret)).status).toBe(200)
    const moved = await run('node', 'endpoint', 'old-name', '--host', 'new.example.net', '--port', '10801')
    expect(moved.json).toMatchObject({ endpoint: { host: 'new.example.net', port: 10_801 } })
    const renamed = await run('node', 'rename', 'old-name', 'new-name')
    expect(renamed.json).toMatchObject({ name: 'new-name', node_id: id, endpoint: { host: 'new.example.net' } })
    expect((await run('node', 'show', 'old-name')).json.error.code).toBe('not_found')
    service.clock.advance(999)
    expect(await stateOf(secret)).toBe(200)
    for (const [from, to] of [
      ['new-name', 'twice'],
      ['new-name', 'local-gateway'],
      ['nowhere', 'somewhere'],
    ] as const)
      expect((await run('node', 'rename', from, to)).exit).toBe(1)
    expect((await run('node', 'rename', 'new-name', 'New Name')).exit).toBe(2)
    expect((await run('node', 'endpoint', 'new-name', '--host', 'a b', '--port', '1')).exit).toBe(2)
    expect((await run('node', 'endpoint', 'new-name', '--host', 'a.example', '--port', '0')).exit).toBe(2)
    expect((await run('verify')).json).toMatchObject({ ok: true })
  })

  test('customer block reaches a waiting node within 1 s of the command’s end', async () => {
    const { token, customer } = await service.newCustomer(1000n)
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 6 }
    const id = (await service.post('/dedicated/buy', order, { token })).data.proxies[0].id as number
    const node = await joinNode(service)
    await node.catchUp()
    await node.catchUp()
    const waiting = node.page(25)
    expect((await runTurnpike(['customer', 'block', customer], env)).exit).toBe(0)
    const stopwatch = startStopwatch(engine)
    node.applyPage(await waiting)
    expect(stopwatch.elapsedMs()).toBeLessThan(1000)
    expect(node.held.proxies.get(id)?.state).toBe('blocked')
  })
})

describe.each([...enginesOf('sqlite')])('local nodes of a shop on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_LOCAL_NODES: 'gateway,vpn' })
  })
  afterAll(() => service.stop())

  const pathOf = (kind: NodeKind) => joinKeyFile(service.testDatabase.folder, kind)
  const keyOf = (kind: NodeKind) => readFileSync(pathOf(kind), 'utf8').trim()
  const restart = () =>
    admitLocalNodes(
      { ...service.services, ...runtimeWith(service.clock), keys: joinKeysIn(service.testDatabase.folder) },
      ['gateway', 'vpn'],
    )
  const join = (key: string, secret: string) => askNode(service.url, 'POST', 'join', { key, secret, version })

  test('each local node joins with a key file of mode 0600 in a folder of mode 0700', async () => {
    for (const kind of ['gateway', 'vpn'] as const) {
      expect(statSync(pathOf(kind)).mode & 0o777).toBe(0o600)
      expect(statSync(dirname(pathOf(kind))).mode & 0o777).toBe(0o700)
      const name = kind === 'gateway' ? 'local-gateway' : 'local'
      expect((await join(keyOf(kind), makeSecret())).data).toMatchObject({ name, kind })
    }
    expect(readdirSync(dirname(pathOf('vpn'))).toSorted()).toEqual(['gateway.key', 'shop.sock', 'vpn.key'])
    expect((await service.services.fleet.nodes('vpn')).map((node) => node.name)).toEqual(['local'])
  })

  test('a local node gets a new key 60 s after its last report, and its secret stays valid', async () => {
    const secret = makeSecret()
    service.clock.advance(120_000)
    await restart()
    await join(keyOf('gateway'), secret)
    const used = keyOf('gateway')
    service.clock.advance(59_000)
    await restart()
    expect(keyOf('gateway')).toBe(used)
    service.clock.advance(1000)
    await restart()
    expect(keyOf('gateway')).not.toBe(used)
    expect((await askNode(service.url, 'GET', 'state', undefined, secret)).status).toBe(200)
  })

  test('a job replaces a local key that is deleted, used or 12 h old without a restart', async () => {
    const jobs = await restart()
    const run = async () => {
      for (const job of jobs) await job.work()
      return keyOf('gateway')
    }
    service.clock.advance(120_000)
    const first = await run()
    expect(await run()).toBe(first)
    rmSync(pathOf('gateway'))
    const second = await run()
    expect(second).not.toBe(first)
    service.clock.advance(12 * 3_600_000)
    const third = await run()
    expect(third).not.toBe(second)
    await join(third, makeSecret())
    expect(await run()).toBe(third)
    service.clock.advance(60_000)
    expect(await run()).not.toBe(third)
  })

  test('a start sets the mode of the key folder back to 0700', async () => {
    chmodSync(dirname(pathOf('gateway')), 0o755)
    service.clock.advance(120_000)
    await restart()
    expect(statSync(dirname(pathOf('gateway'))).mode & 0o777).toBe(0o700)
  })

  test('a revoked local node gets no new key until the operator opens it', async () => {
    service.clock.advance(120_000)
    await service.services.fleet.revoke('local-gateway')
    const before = keyOf('gateway')
    await restart()
    expect(keyOf('gateway')).toBe(before)
    expect((await join(before, makeSecret())).status).toBe(401)
    await service.services.fleet.open('local-gateway')
    await restart()
    expect((await join(keyOf('gateway'), makeSecret())).status).toBe(200)
  })

  test('the log contains no join key of a local node', () => {
    expect(service.log.join('')).not.toContain(keyOf('vpn').slice(4))
  })
})

test('a shop without TURNPIKE_LOCAL_NODES writes no key file and adds no node', async () => {
  const service = await startService('sqlite')
  expect(existsSync(joinKeyFile(service.testDatabase.folder, 'gateway'))).toBe(false)
  expect(await service.services.fleet.findByName('local-gateway')).toBeUndefined()
  await service.stop()
})
