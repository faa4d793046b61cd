import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shopSocket } from '../../src/app/settings/config.ts'
import { engines } from '../harness/database.ts'
import { joinNode, reportOf, type TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'

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
})
