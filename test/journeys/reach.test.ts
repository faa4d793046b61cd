import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readPrefix } from '../../src/core/address.ts'
import { isLoopback, isSellable } from '../../src/domains/fleet/reach.ts'
import { createCaller } from '../harness/caller.ts'
import { engines, enginesOf } from '../harness/database.ts'
import { addStock, applyCatalogue, shippedWith } from '../harness/proxies.ts'
import { startService } from '../harness/service.ts'
import { runCommand, testDatabaseEnv } from '../harness/turnpike.ts'

/** A production shop with prices, IPv4 and IPv6 stock, a running VPN node and a customer with money. */
async function openProduction(engine: (typeof engines)[number], env: Record<string, string>) {
  const service = await startService(engine, { TURNPIKE_SANDBOX: 'off', ...env })
  const { db, fleet } = service.services
  await applyCatalogue(service.services, shippedWith())
  await addStock(service.services, '203.0.113.0/28', 'DE', 4)
  await addStock(service.services, '2001:db8::/64', 'DE', 6)
  const node = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'v1', location: 'nl' }))
  await fleet.seen(node.id, { version: '1' })
  service.services.premium.exits.isServed = async () => true
  const { token } = await service.newCustomer(100_000n)
  const buy = async (path: string, body: object) => {
    return (await (await createCaller(service.url, token)).post(path, body)).status
  }
  return {
    service,
    buyAll: async () => ({
      ipv4: await buy('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 }),
      ipv6: await buy('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 6 }),
      traffic: await buy('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }),
      vpn: await buy('/vpn/buy', { period: 1 }),
    }),
    ready: async (): Promise<{ ok: boolean; warnings?: string[] }> =>
      (await fetch(`${service.url}/readyz`)).json() as Promise<{ ok: boolean; warnings?: string[] }>,
  }
}

describe.each([...enginesOf('postgres')])('public addresses of a production shop on %s', (engine) => {
  let unreachable: Awaited<ReturnType<typeof openProduction>>
  let reachable: Awaited<ReturnType<typeof openProduction>>
  beforeAll(async () => {
    unreachable = await openProduction(engine, {})
    reachable = await openProduction(engine, {
      TURNPIKE_GATEWAY_HOST: 'gw.example.net',
      TURNPIKE_VPN_HOST: 'vpn.example.net',
      TURNPIKE_PUBLIC_URL: 'https://shop.example.net',
    })
  })
  afterAll(async () => {
    await unreachable.service.stop()
    await reachable.service.stop()
  })

  test('a production shop with loopback addresses lists each in the log and /readyz, the VPN host once it has a VPN node', async () => {
    const settings = ['TURNPIKE_GATEWAY_HOST', 'TURNPIKE_VPN_HOST', 'TURNPIKE_PUBLIC_URL']
    const warnings = unreachable.service.log.filter((line) => line.includes('"event":"not reachable"'))
    // The shop had no VPN node when it started.
    expect(settings.map((name) => warnings.some((line) => line.includes(name)))).toEqual([true, false, true])
    const body = await unreachable.ready()
    expect(body).toMatchObject({ ok: true })
    expect(body.warnings).toEqual(settings.map((name) => `${name} is 127.0.0.1`))
    expect(reachable.service.log.join('')).not.toContain('not reachable')
    expect(await reachable.ready()).toEqual({ ok: true })
  })

  test('a production shop with loopback addresses answers 503 to purchases that need a public address', async () => {
    expect(await unreachable.buyAll()).toEqual({ ipv4: 200, ipv6: 503, traffic: 503, vpn: 503 })
    expect(await reachable.buyAll()).toEqual({ ipv4: 200, ipv6: 200, traffic: 200, vpn: 200 })
  })

  test('stock add refuses a private prefix in production', async () => {
    const env = testDatabaseEnv(unreachable.service.testDatabase)
    const add = (prefix: string) => runCommand(['stock', 'add', prefix, '--country', 'DE', '--ipv', '4'], env)
    const refused = await add('10.1.0.0/28')
    expect([refused.exit, refused.out]).toEqual([1, ''])
    expect(refused.err).toContain('not stock in production')
    expect((await add('198.51.100.0/28')).exit).toBe(0)
  })
})

test('a sandbox shop with loopback addresses logs no warning and sells traffic', async () => {
  const service = await startService('sqlite')
  expect(service.log.join('')).not.toContain('not reachable')
  expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({ ok: true })
  expect((await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 })).status).toBe(200)
  await service.stop()
})

test('isLoopback is true for loopback addresses, and isSellable is false for private ones', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', '0.0.0.0', '::', 'a.localhost']) {
    expect([host, isLoopback(host)]).toEqual([host, true])
  }
  for (const host of ['203.0.113.7', 'shop.example', '10.0.0.1'])
    expect([host, isLoopback(host)]).toEqual([host, false])
  const sellable = (text: string) => {
    const prefix = readPrefix(text)
    return prefix && isSellable(prefix)
  }
  for (const text of ['10.0.0.0/24', '127.0.0.0/8', '192.168.1.7/32', '100.64.0.0/10', 'fd00::/64', 'fe80::/64']) {
    expect([text, sellable(text)]).toEqual([text, false])
  }
  for (const text of ['8.8.8.0/24', '203.0.113.0/24', '2a00::/64']) expect([text, sellable(text)]).toEqual([text, true])
})
