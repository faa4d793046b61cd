import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { bytesInGigabyte } from '../../src/core/bytes.ts'
import { engines } from '../harness/database.ts'
import { reportOf } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { runJson, testDatabaseEnv } from '../harness/turnpike.ts'
import { findingsOf, sellVpn } from '../harness/vpn.ts'

const gigabyte = Number(bytesInGigabyte)
const plan = { months: { 1: 300 }, device_limit: 2, traffic_gb: 500, refund: 'none' }
const tls = { port: 443, browserHost: null }
const figures = { boot: '1', tunnels: 0, lagMs: 1, totalBytes: 0, hopBytes: 0, isStopping: false, maxPorts: null }

describe.each([...engines])('parts of VPN traffic for groups of nodes on %s', (engine) => {
  let service: Service
  let far: string
  let near: string
  beforeAll(async () => {
    service = await startService(engine)
    await sellVpn(service, { ...plan, groups: { far: 1 } })
    ;[far, near] = await Promise.all([addGateway('far-1'), addGateway('near-1')])
    await service.services.fleet.setVpnLinks('far-1', { group: 'far' })
    service.clock.advance(1000)
  })
  afterAll(async () => {
    expect(await findingsOf(service, ['vpn', 'traffic'])).toEqual([])
    await service.stop()
  })

  async function addGateway(name: string): Promise<string> {
    const { db, fleet } = service.services
    const { id } = await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'de' }))
    const health = { ...figures, tls: { ...tls, host: `${name}.example` }, isForVpn: true }
    await fleet.seen(id, { version: 'test', health })
    return id
  }

  async function subscribe() {
    const { token } = await service.newCustomer(10_000n)
    const post = (path: string, body: unknown) => service.post(path, body, { token })
    await post('/vpn/buy', { period: 1 })
    const info = async () => (await service.get('/vpn/info', { token })).data
    const { devices, subscription_url: link } = await info()
    const device: string = devices[0].id
    let boot = 0
    /** Bytes of the device at a node, in one report of a node that was silent for a day. */
    async function use(node: string, received: number) {
      boot += 1
      service.clock.advanceDays(0.1)
      await service.services.db.transact((tx) =>
        tx.run(
          `INSERT INTO usage_budgets (node, purpose, rest, at, refused) VALUES ($1, 'bytes', 0, $2, 0)
           ON CONFLICT (node, purpose) DO UPDATE SET at = excluded.at`,
          [node, service.clock.nowMs - 86_400_000],
        ),
      )
      const peers = [{ id: device, protocol: 'vless' as const, received, sent: 0, handshake_at: service.clock.nowMs }]
      await service.services.vpn.gateways.report(
        node,
        reportOf({ boot: `boot-${device}-${boot}`.toLowerCase(), peers }),
      )
    }
    /** The state of the device as a node reads it. */
    async function stateAt(node: string): Promise<string> {
      const [table] = service.services.vpn.gateways.tables
      const rows = (await table?.read({ changedAt: 0, id: '' }, 500, false)) ?? []
      const row = rows.find(({ id }) => id === device)
      const shape = row && (table?.forNode?.(row.shape, { id: node, entry: null }) ?? row.shape)
      return (shape as { state: string } | undefined)?.state ?? 'none'
    }
    return { post, info, link, use, stateAt }
  }

  test('a used-up part closes the nodes of its group only, and a renewal opens them', async () => {
    const { post, info, use, stateAt } = await subscribe()
    await use(near, 3 * gigabyte)
    await use(far, gigabyte - 1)
    expect([await stateAt(far), await stateAt(near)]).toEqual(['up', 'up'])
    expect((await info()).traffic.parts).toEqual([{ group: 'far', used_bytes: gigabyte - 1, limit_bytes: gigabyte }])
    await use(far, 1)
    expect([await stateAt(far), await stateAt(near)]).toEqual(['down', 'up'])
    await post('/vpn/renew', { period: 1 })
    expect(await stateAt(far)).toBe('up')
    expect((await info()).traffic.parts).toEqual([{ group: 'far', used_bytes: gigabyte, limit_bytes: 2 * gigabyte }])
  })

  test('the link leaves out a gateway whose part is used up, and its page shows both numbers', async () => {
    const { link, use } = await subscribe()
    const names = async () => {
      for (const name of ['far-1', 'near-1']) {
        const id = (await service.services.fleet.findByName(name))?.id
        const health = { ...figures, tls: { ...tls, host: `${name}.example` }, isForVpn: true }
        if (id) await service.services.fleet.seen(id, { version: 'test', health })
      }
      const text = Buffer.from(await (await fetch(`${link}?format=base64`)).text(), 'base64').toString()
      return ['far-1', 'near-1'].filter((name) => text.includes(`@${name}.example`))
    }
    expect(await names()).toEqual(['far-1', 'near-1'])
    await use(far, gigabyte)
    expect(await names()).toEqual(['near-1'])
    expect(await (await fetch(`${link}?format=page`)).text()).toContain('0.0 / 1.0 GB')
  })

  test('a larger part in the price list and another group of the node open it again', async () => {
    const { use, stateAt } = await subscribe()
    await use(far, gigabyte)
    expect(await stateAt(far)).toBe('down')
    await sellVpn(service, { ...plan, groups: { far: 2 } })
    await service.services.vpn.recheckGroups()
    expect(await stateAt(far)).toBe('up')
    await use(far, gigabyte)
    expect(await stateAt(far)).toBe('down')
    await service.services.fleet.setVpnLinks('far-1', { group: null })
    await service.services.vpn.recheckGroups()
    expect(await stateAt(far)).toBe('up')
  })

  test('turnpike vpn usage sums the bytes of all devices by node and protocol', async () => {
    const env = testDatabaseEnv(service.testDatabase)
    const received = async () => {
      const { json } = await runJson(['vpn', 'usage'], env)
      const rows = json.items as { node: string; protocol: string; devices: number; rx_bytes: number }[]
      return rows.find((row) => row.node === 'near-1' && row.protocol === 'vless') ?? { devices: 0, rx_bytes: 0 }
    }
    const before = await received()
    const { use } = await subscribe()
    await use(near, 5)
    await use(near, 6)
    const after = await received()
    expect([after.devices, after.rx_bytes]).toEqual([before.devices + 1, before.rx_bytes + 11])
  })
})
