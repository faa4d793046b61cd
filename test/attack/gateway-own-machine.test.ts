import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { readConfig } from '../../src/app/settings/config.ts'
import { policyOf } from '../../src/app/settings/gateway.ts'
import { readPrefix } from '../../src/core/address.ts'
import { run } from '../harness/apt.ts'
import { loginLine, openEngine, proxyOf, type TestGateway } from '../harness/engine.ts'
import { type NamespaceWorker, startNamespaceWorker } from '../harness/namespace.ts'
import { batch } from '../harness/netns.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { enterOwnNetwork, type OwnNetwork } from '../harness/own-network.ts'
import { RawClient } from '../harness/raw-client.ts'
import { TestAssociation, UdpPeer } from '../harness/udp.ts'
import { until } from '../harness/until.ts'

const { test, isPossible } = await findNetnsSupport('tests of a machine with blocks of addresses on it')

const elsewhere = `tpt${process.pid}-elsewhere`
const originPort = 8080

/** Blocks routed to the machine: no interface has an address of them. */
const ownBlocks = ['45.12.7.0/24', '2a0c:bbbb::/64'] as const
const customers = { viktor: '45.12.7.9', vera: '2a0c:bbbb::9' } as const

const names: Readonly<Record<string, readonly string[]>> = {
  'own.example': ['45.12.7.10', '2a0c:bbbb::10'],
  'mixed.example': ['45.12.7.10', '45.12.0.2'],
}

async function lookup(name: string, version: 4 | 6) {
  const known = names[name] ?? []
  return known.filter((text) => text.includes(':') === (version === 6)).map((address) => ({ address, ttl: 60 }))
}

let network: OwnNetwork
let origin: NamespaceWorker
let gateway: TestGateway
let sandbox: TestGateway
/** A service that only the machine itself may reach. */
let internal: Bun.Server<undefined>

/**
 * A machine between its loopback and an origin in another namespace. A policy rule selects local routes of another
 * table.
 */
async function lay(): Promise<void> {
  network = enterOwnNetwork()
  await batch([`netns add ${elsewhere}`, `link add w0 type veth peer name w0 netns ${elsewhere}`])
  for (const line of [
    'link set dev w0 up',
    'address add 45.12.0.1/24 dev w0',
    'address add 2a0c:aaaa::1/64 dev w0 nodad',
    ...ownBlocks.map((block) => `route add local ${block} dev lo`),
    'route add local 45.12.8.0/24 dev lo table 77',
    `rule add from ${customers.viktor} lookup 77`,
    '-6 route add local 2a0c:cccc::/64 dev lo table 77',
    `-6 rule add from ${customers.vera} lookup 77`,
  ]) {
    network.ip(...line.split(' '))
  }
  // Binding to an IPv6 address that exists only by a route needs this setting.
  Bun.spawnSync(['sysctl', '-qw', 'net.ipv6.ip_nonlocal_bind=1'])
  await batch(
    [
      'link set dev lo up',
      'link set dev w0 up',
      'address add 45.12.0.2/24 dev w0',
      'address add 2a0c:aaaa::2/64 dev w0 nodad',
      'route add 45.12.7.0/24 via 45.12.0.1',
      'route add 2a0c:bbbb::/64 via 2a0c:aaaa::1',
    ],
    elsewhere,
  )
}

/** Requests a page through a proxy: the status, and the code of the refusal or the page. */
async function ask(port: number, who: string, authority: string): Promise<string> {
  const client = await RawClient.open(port)
  client.send(
    `GET http://${authority}/who HTTP/1.1\r\nHost: ${authority}\r\n${loginLine(who)}Connection: close\r\n\r\n`,
  )
  await client.readToEnd()
  const error = /X-Turnpike-Error: (\S+)/i.exec(client.text)?.[1]
  return `${client.text.slice(9, 12)} ${error ?? client.text.split('\r\n\r\n')[1]}`
}

describe('a gateway whose sold blocks are local routes', () => {
  beforeAll(async () => {
    if (!isPossible) return
    await lay()
    origin = startNamespaceWorker(elsewhere)
    await origin.ask('serve', { ports: [originPort] })
    internal = Bun.serve({ hostname: '::', port: 0, fetch: () => new Response('internal') })
    gateway = openEngine({ mode: 'production', lookup })
    const proxies = Object.entries(customers).map(([name, leave_from], at) => proxyOf(20 + at, name, { leave_from }))
    gateway.change({ proxies })
    sandbox = openEngine({ lookup })
  })

  afterAll(async () => {
    if (!isPossible) return
    await gateway.stop()
    await sandbox.stop()
    await internal.stop(true)
    await origin.end()
    network.leave()
    await run(['ip', 'netns', 'delete', elsewhere])
  })

  test.each([
    ['another address of its block', 'viktor', '45.12.7.10'],
    ['its own address', 'viktor', '45.12.7.9'],
    ['another address of its IPv6 block', 'vera', '[2a0c:bbbb::10]'],
    ['an address of an interface', 'viktor', '45.12.0.1'],
    ['an IPv6 address of an interface', 'vera', '[2a0c:aaaa::1]'],
    ['a name that resolves to its block', 'viktor', 'own.example'],
    ['a name that resolves to its IPv6 block', 'vera', 'own.example'],
    ['an address that a policy rule finds in another routing table', 'viktor', '45.12.8.1'],
    ['an IPv6 address that a policy rule finds in another routing table', 'vera', '[2a0c:cccc::1]'],
  ])('the gateway answers 403 destination_is_ours to a request for %s', async (_, who, host) => {
    expect(await ask(gateway.port, who, `${host}:${internal.port}`)).toStartWith('403 destination_is_ours')
  })

  test('the gateway answers 403 destination_is_ours for a local route that was just added', async () => {
    network.ip('route', 'add', 'local', '45.12.9.1/32', 'dev', 'lo')
    expect(await ask(gateway.port, 'viktor', `45.12.9.1:${internal.port}`)).toStartWith('403 destination_is_ours')
  })

  test("the gateway binds a customer's connection to the customer's address of a local route", async () => {
    expect(await ask(gateway.port, 'viktor', `45.12.0.2:${originPort}`)).toBe('200 45.12.7.9')
    expect(await ask(gateway.port, 'vera', `[2a0c:aaaa::2]:${originPort}`)).toBe('200 2a0c:bbbb::9')
  })

  test('the gateway dials the foreign address of a name that resolves to an own and a foreign address', async () => {
    expect(await ask(gateway.port, 'viktor', `mixed.example:${originPort}`)).toBe('200 45.12.7.9')
  })

  test('the gateway answers 403 destination_is_ours for a remote address that the shop lists', async () => {
    const listed = ['45.12.0.2', '2a0c:aaaa::/64'].flatMap((text) => readPrefix(text) ?? [])
    const policy = policyOf(readConfig({}), 'production', listed)
    const careful = openEngine({ mode: 'production', lookup, policy, leaveFrom: customers.viktor })
    careful.change({ proxies: [proxyOf(21, 'vera', { leave_from: customers.vera })] })
    try {
      expect(await ask(careful.port, 'anna', `45.12.0.2:${originPort}`)).toStartWith('403 destination_is_ours')
      expect(await ask(careful.port, 'anna', `mixed.example:${originPort}`)).toStartWith('403 destination_is_ours')
      expect(await ask(careful.port, 'vera', `[2a0c:aaaa::2]:${originPort}`)).toStartWith('403 destination_is_ours')
    } finally {
      await careful.stop()
    }
  })

  test('the gateway sends no datagram to an address of a local route, and sends those to another machine', async () => {
    gateway.change({ proxies: [proxyOf(30, 'udo', { port_type: 'socks', leave_from: customers.viktor })] })
    const inside = await UdpPeer.open('45.12.7.10')
    const association = await TestAssociation.open(gateway.port, 'udo')
    let sent = 0
    const untilSent = (bytes: number) =>
      until(() => {
        for (const each of gateway.engine.dataPath.takeChanged().proxies) if (each.id === 30) sent = each.sent
        return sent >= bytes
      })
    for (const host of ['own.example', '45.12.7.10', '45.12.7.9', '45.12.0.1', '45.12.8.1', '127.0.0.1'])
      association.send(host, inside.port, 'to this machine')
    association.send('45.12.0.2', originPort, 'elsewhere')
    await untilSent('elsewhere'.length)
    // Resolved after the first name.
    association.send('mixed.example', originPort, 'elsewhere')
    await untilSent(2 * 'elsewhere'.length)
    expect([sent, inside.received]).toEqual([2 * 'elsewhere'.length, []])
    association.close()
    inside.stop()
  })

  test('a sandbox gateway reaches loopback and no address of a local route', async () => {
    expect(await ask(sandbox.port, 'anna', `127.0.0.1:${internal.port}`)).toBe('200 internal')
    expect(await ask(sandbox.port, 'anna', `45.12.7.10:${internal.port}`)).toStartWith('403 destination_is_ours')
  })
})
