import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { scaled } from '../harness/scale.ts'
import { scansIn } from '../harness/scans.ts'
import { type Service, startService } from '../harness/service.ts'
import { buyVpnDirectly, findingsOf, inParallel, report } from '../harness/vpn.ts'

const addressesOf = (service: Service) =>
  service.services.db.all<{ ipv4: bigint; ipv6: string }>('SELECT ipv4, ipv6 FROM vpn_peers WHERE removed_at IS NULL')

describe.each([...enginesOf('sqlite')])('addresses of VPN devices on %s', (engine) => {
  let service: Service
  let small: Service
  beforeAll(async () => {
    service = await startService(engine)
    small = await startService(engine)
  })
  afterAll(async () => {
    await service.stop()
    await small.stop()
  })

  test('each device gets its own IPv4 and IPv6 address, and adding one scans no table', async () => {
    const subscriptions = scaled(2000)
    const buyers = await Promise.all(
      Array.from({ length: Math.ceil(subscriptions / 50) }, () => service.newCustomer(100_000n)),
    )
    await inParallel(subscriptions, 8, async (index) => {
      const { customer } = buyers[index % buyers.length]!
      const { view } = await buyVpnDirectly(service, customer)
      for (let device = 2; device <= 5; device += 1) {
        await service.services.vpn.addDevice(customer, { uuid: view.subscription.uuid })
      }
    })
    const held = await addressesOf(service)
    expect(held).toHaveLength(subscriptions * 5)
    expect(new Set(held.map((each) => each.ipv4)).size).toBe(held.length)
    expect(new Set(held.map((each) => each.ipv6)).size).toBe(held.length)

    const { customer } = await service.newCustomer(1000n)
    const { view } = await buyVpnDirectly(service, customer)
    const addOne = () => service.services.vpn.addDevice(customer, { uuid: view.subscription.uuid })
    const { db } = service.services
    expect(await scansIn(db, ['vpn_addresses', 'vpn_peers', 'vpn_subscriptions'], addOne)).toEqual([])
    const scanAll = () => db.transact((tx) => tx.all('SELECT id FROM vpn_peers WHERE received = 5'))
    expect(await scansIn(db, ['vpn_peers'], scanAll)).toHaveLength(1)
    // `npm run bench -- vpn-devices` measures how long one more device takes.
    expect(await findingsOf(service)).toEqual([])
  })

  test('64 concurrent purchases get 64 different addresses', async () => {
    const buyers = await Promise.all(Array.from({ length: 64 }, () => small.newCustomer(1000n)))
    await Promise.all(buyers.map(({ customer }) => buyVpnDirectly(small, customer)))
    const held = await addressesOf(small)
    expect(new Set(held.map((each) => each.ipv4)).size).toBe(held.length)
    expect(await findingsOf(small)).toEqual([])
  })
})

describe.each([...enginesOf('sqlite')])('a pool of 8 VPN addresses on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine, { TURNPIKE_VPN_POOL: '10.9.0.0/29' })
  })
  afterAll(() => service.stop())

  test('the shop reuses a removed device’s address after 24 h if it was used, and after 2 min otherwise', async () => {
    const { token } = await service.newCustomer(10_000n)
    const first = (await service.post('/vpn/buy', { period: 3 }, { token })).data
    let unused = ''
    for (let device = 2; device <= 5; device += 1) {
      unused = (await service.post('/vpn/devices', {}, { token })).data.device.id
    }
    const other = await service.newCustomer(10_000n)
    const refused = await service.post('/vpn/buy', { period: 1 }, { token: other.token })
    expect(refused.error).toMatchObject({ code: 'unavailable', details: { charged: false } })
    await report(service, 'boot-0001', [{ device: first.device, rx: 1, tx: 1 }])
    await service.post('/vpn/devices/remove', { device: first.device }, { token })
    service.clock.advance(86_399_000)
    expect((await service.post('/vpn/buy', { period: 1 }, { token: other.token })).status).toBe(503)
    expect((await service.get('/balance', { token: other.token })).data.balance_rub).toBe(10_000)
    service.clock.advance(1000)
    expect((await service.post('/vpn/buy', { period: 1 }, { token: other.token })).status).toBe(200)
    const { devices } = (await service.get('/vpn/info', { token: other.token })).data
    expect(devices[0]).toMatchObject({ ipv4: '10.9.0.2', ipv6: 'fd74:7572:6e70::a09:2' })
    await service.post('/vpn/devices/remove', { device: unused }, { token })
    service.clock.advance(119_999)
    expect((await service.post('/vpn/devices', {}, { token: other.token })).status).toBe(503)
    service.clock.advance(1)
    expect((await service.post('/vpn/devices', {}, { token: other.token })).status).toBe(200)
    expect(await findingsOf(service)).toEqual([])
  })
})
