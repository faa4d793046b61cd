import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { listNodeRows } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, report, sellVpn } from '../harness/vpn.ts'

describe.each([...enginesOf('sqlite')])('devices that VPN nodes read on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  async function addSubscriber(body: Record<string, unknown> = {}) {
    const { token } = await service.newCustomer(10_000n)
    const bought = (await service.post('/vpn/buy', { period: 1, ...body }, { token })).data
    return {
      token,
      bought,
      device: bought.device as string,
      info: async () => (await service.get('/vpn/info', { token })).data,
      post: (path: string, sent: unknown) => service.post(path, sent, { token }),
    }
  }

  /** All changes that a node reads, page by page. */
  async function readPeers(page: { since?: number; limit?: number } = {}) {
    const changes = await listNodeRows(service.services.vpn.nodes, 'peers', page)
    return new Map(changes.map((each) => [each.id, each.shape]))
  }

  test('a bought device is in the node’s state at once with key, addresses and end', async () => {
    const { device, info } = await addSubscriber()
    const shown = (await info()).devices[0]
    expect((await readPeers()).get(device)).toEqual({
      id: device,
      public_key: shown.public_key,
      allowed: [`${shown.ipv4}/32`, `${shown.ipv6}/128`],
      state: 'up',
      expires_at: Date.parse((await info()).expires_at),
      speed_mbit: null,
      left: null,
    })
  })

  test('pages of 2 devices together equal one large page', async () => {
    for (let count = 0; count < 5; count += 1) await addSubscriber()
    const whole = await readPeers()
    expect([...(await readPeers({ limit: 2 })).values()]).toEqual([...whole.values()])
    expect((await readPeers({ since: 0, limit: 2 })).size).toBeGreaterThanOrEqual(whole.size)
  })

  test('a node reads each removal, renewal, disabling and deletion of a device as a change', async () => {
    const { device, bought, post } = await addSubscriber()
    const second = (await post('/vpn/devices', {})).data.device.id
    service.clock.advance(3_600_000)
    let since = service.clock.nowMs
    const stateAfter = async (act: () => Promise<unknown>, id: string) => {
      expect((await readPeers({ since })).has(id)).toBe(false)
      await act()
      const state = (await readPeers({ since })).get(id)?.state
      service.clock.advance(3_600_000)
      since = service.clock.nowMs
      return state
    }
    expect(await stateAfter(() => post('/vpn/devices/remove', { device: second }), second)).toBe('down')
    expect(await stateAfter(() => post('/vpn/renew', { period: 1 }), device)).toBe('up')
    expect(await stateAfter(() => service.services.vpn.setDisabled(bought.uuid, true), device)).toBe('down')
    expect(await stateAfter(() => service.services.vpn.setDisabled(bought.uuid, false), device)).toBe('up')
    expect(await stateAfter(() => post('/vpn/delete', {}), device)).toBe('down')
    expect((await readPeers()).has(device)).toBe(false)
  })

  test('an expired device is down without a change, and up again after renewal', async () => {
    const { device, post } = await addSubscriber()
    service.clock.advanceDays(40)
    expect((await readPeers()).get(device)?.state).toBe('down')
    await post('/vpn/renew', { period: 1 })
    expect((await readPeers()).get(device)?.state).toBe('up')
  })

  test('bytes of a device are counted once when reports repeat or arrive out of order', async () => {
    const { device, info } = await addSubscriber()
    await report(service, 'boot-1', [{ device, rx: 100, tx: 10, handshakeAt: 5000 }])
    await report(service, 'boot-1', [{ device, rx: 100, tx: 10, handshakeAt: 5000 }])
    await report(service, 'boot-1', [{ device, rx: 300, tx: 30, handshakeAt: 9000 }])
    await report(service, 'boot-1', [{ device, rx: 200, tx: 20, handshakeAt: 7000 }])
    const { devices, traffic } = await info()
    expect(devices[0]).toMatchObject({ rx_bytes: 300, tx_bytes: 30, last_handshake_at: '1970-01-01T00:00:09.000Z' })
    expect(traffic).toEqual({ rx_bytes: 300, tx_bytes: 30, limit_bytes: null, parts: [] })
    await report(service, 'boot-1', [{ device, rx: 400, tx: 30, handshakeAt: 8000 }])
    await report(service, 'boot-1', [{ device, rx: 500, tx: 30 }])
    const [after] = (await info()).devices
    expect(after).toMatchObject({ rx_bytes: 500, last_handshake_at: '1970-01-01T00:00:09.000Z' })
  })

  test('byte totals add up over restarts and nodes, and stay after the device is removed', async () => {
    const { device, info, post } = await addSubscriber()
    await report(service, 'boot-1', [{ device, rx: 100, tx: 0 }])
    await report(service, 'boot-2', [{ device, rx: 50, tx: 0 }])
    await report(service, 'boot-1', [{ device, rx: 7, tx: 7 }], 'node-2')
    expect((await info()).traffic).toMatchObject({ rx_bytes: 157, tx_bytes: 7 })
    await post('/vpn/devices/remove', { device })
    await report(service, 'boot-2', [{ device, rx: 60, tx: 0 }])
    expect(await info()).toMatchObject({ devices: [], traffic: { rx_bytes: 167, tx_bytes: 7 } })
  })

  test('a report about unknown devices is accepted and counts only the known ones', async () => {
    const { device, info } = await addSubscriber()
    await report(service, 'boot-1', [
      { device: `dev_${'z'.repeat(26)}`, rx: 1, tx: 1 },
      { device, rx: 5, tx: 5 },
      { device, rx: 4, tx: 9 },
    ])
    expect((await info()).traffic).toMatchObject({ rx_bytes: 5, tx_bytes: 9 })
    await report(service, 'boot-1', [])
  })

  test('concurrent reports of 16 nodes add up exactly', async () => {
    const { device, info } = await addSubscriber()
    await Promise.all(
      Array.from({ length: 16 }, (_, index) => report(service, 'boot', [{ device, rx: 10, tx: 1 }], `many-${index}`)),
    )
    expect((await info()).traffic).toMatchObject({ rx_bytes: 160, tx_bytes: 16 })
  })

  test('a plan’s 1 GB cuts devices off when used up, a renewal adds to it, and nothing of it is refunded', async () => {
    await sellVpn(service, {
      months: { 1: 300, 3: 900 },
      device_limit: 5,
      traffic_gb: 1,
      speed_mbit: 50,
      refund: 'pro_rata',
    })
    const { device, info, post } = await addSubscriber()
    expect((await readPeers()).get(device)).toMatchObject({ speed_mbit: 50, left: 1_000_000_000 })
    await report(service, 'boot-1', [{ device, rx: 600_000_000, tx: 399_999_999 }])
    expect(await info()).toMatchObject({ status: 'ACTIVE', traffic: { limit_bytes: 1_000_000_000 } })
    service.clock.advance(3_600_000)
    const since = service.clock.nowMs
    await report(service, 'boot-1', [{ device, rx: 600_000_001, tx: 400_000_010 }])
    expect(await info()).toMatchObject({ status: 'LIMITED', limited_by: ['traffic'] })
    expect((await readPeers({ since })).get(device)).toMatchObject({ state: 'down', left: 0 })
    await post('/vpn/renew', { period: 3 })
    expect(await info()).toMatchObject({ status: 'ACTIVE', traffic: { limit_bytes: 4_000_000_000 } })
    expect((await readPeers({ since })).get(device)?.state).toBe('up')
    await report(service, 'boot-1', [{ device, rx: 4_000_000_000, tx: 0 }])
    expect((await post('/vpn/delete', {})).data.refunded_rub).toBe(0)
  })
})
