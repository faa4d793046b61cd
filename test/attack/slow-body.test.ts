import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { startDripping } from '../harness/slow-body.ts'

/** Authorization is checked again when a slow body is complete. */
describe.each([...enginesOf('sqlite')])('slow request bodies, on %s', (engine) => {
  let service: Service
  let posts: string[]
  beforeAll(async () => {
    service = await startService(engine)
    const described = (await (await fetch(`${service.url}/api/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { security?: object[] }>>
    }
    // Operations for sessions only are left out: a token cannot call them.
    posts = Object.entries(described.paths).flatMap(([path, { post }]) => (post && !post.security ? [path] : []))
  })
  afterAll(() => service.stop())

  /** Losses of access while the body arrives, and the status of each. */
  const ends = [
    {
      how: 'its token revoked',
      status: 401,
      end: async (customer: string) => {
        const { customers } = service.services
        for (const token of await customers.listTokens(customer as never)) await customers.revokeToken(token.id)
      },
    },
    {
      how: 'its token expired',
      status: 401,
      end: async () => service.clock.advance(3_600_000),
    },
    {
      how: 'its customer blocked',
      status: 403,
      end: async (customer: string) => {
        await service.services.setBlocked(customer as never, true)
        service.clock.advance(1000)
      },
    },
  ] as const

  async function newCaller() {
    const { customer } = await service.newCustomer(1000n)
    const expiresAt = service.clock.nowMs + 3_600_000
    const { text } = await service.services.customers.issueToken(customer, { name: 'slow', expiresAt })
    return { customer, token: text }
  }

  test.each(ends)('every POST operation refuses a slow body with $how', async ({ status, end }) => {
    expect(posts.length).toBeGreaterThan(20)
    for (const path of posts) {
      const { customer, token } = await newCaller()
      const dripping = await startDripping(service, `/api/v1${path}`, { token, body: {} })
      await end(customer)
      expect([path, (await dripping.finish()).status]).toEqual([path, status])
    }
  })

  const purchases = [
    { path: '/dedicated/buy', body: { country_code: 'DE', period: 30, count: 1, ipv: 4 } },
    { path: '/premium/traffic/buy', body: { pool_type: 'residential', gb: 1 } },
    { path: '/vpn/buy', body: { period: 1 } },
  ] as const
  const others = [
    { path: '/premium/subusers', body: { label: 'late one' } },
    { path: '/premium/whitelist/add', body: { ip: '203.0.113.7' } },
  ] as const

  test.each(ends)('a slow purchase with $how makes no order and charges nothing', async ({ status, end }) => {
    for (const { path, body } of [...purchases, ...others]) {
      const { customer, token } = await newCaller()
      const dripping = await startDripping(service, `/api/v1${path}`, { token, body, key: 'slow' })
      await end(customer)
      expect([path, (await dripping.finish()).status]).toEqual([path, status])
      const { services } = service
      expect((await services.ledger.balance(customer)).balance).toBe(100_000n as never)
      expect(await services.orders.list(customer, undefined, 10)).toEqual([])
    }
  })

  test('the shop accepts a body that arrives over 50 minutes while its token is valid', async () => {
    const { customer, token } = await newCaller()
    const dripping = await startDripping(service, '/api/v1/vpn/buy', { token, body: { period: 1 } })
    service.clock.advance(3_000_000)
    expect(await dripping.finish()).toMatchObject({ status: 200, body: { ok: true } })
    expect((await service.services.orders.list(customer, undefined, 10)).length).toBe(1)
  })

  test('the shop logs no fault for a client that disconnects within its body', async () => {
    const { token } = await newCaller()
    const before = service.log.length
    const dripping = await startDripping(service, '/api/v1/vpn/buy', { token, body: { period: 1 } })
    dripping.leave()
    const seen = () => service.log.slice(before).filter((line) => line.includes('/vpn/buy'))
    while (seen().length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(seen().join('\n')).not.toMatch(/fault|"level":"error"/)
  })

  test('the shop answers 401 to a node revoked while its report arrives, and counts nothing', async () => {
    const { fleet, db, vpn } = service.services
    const { token } = await newCaller()
    const bought = await service.post('/vpn/buy', { period: 1 }, { token })
    const device = bought.data.devices?.[0]?.id ?? (await service.get('/vpn/info', { token })).data.devices[0].id
    await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'dripping', location: 'local' }))
    const secret = `tpn_${'5a'.repeat(32)}`
    await fleet.join((await fleet.issueKey('dripping')).text, secret, 'test')
    const parts = { proxies: [], subusers: [], lease_requests: [], hosts: [], sources: [] }
    const peers = [{ id: device, received: 1000, sent: 0, handshake_at: null }]
    const body = { boot: '0000000001', version: 'test', peers, ...parts }
    const dripping = await startDripping(service, '/node/v1/report', { token: secret, body })
    await fleet.revoke('dripping')
    expect((await dripping.finish()).status).toBe(401)
    expect((await vpn.show(bought.data.uuid)).subscription.received).toBe(0n as never)
  })
})
