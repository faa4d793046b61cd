import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gatewayProtocols } from '../../src/core/vpn-protocols.ts'
import { opensTunnel } from '../harness/device-protocols.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'

/** The machines of the five devices are at the first address; other machines are at the others. */
const [home, elsewhere, third] = ['127.0.0.1', '127.0.0.7', '127.0.0.8']

let gateway: VpnGateway
beforeAll(async () => {
  gateway = await openVpnGateway()
  for (let added = 0; added < 4; added += 1) await gateway.addDevice()
  expect((await gateway.shop.get('/vpn/info')).data).toMatchObject({ device_limit: 5, limited_by: ['devices'] })
})
afterAll(() => gateway.stop())

test.each([...gatewayProtocols])(
  'a sixth machine with a copied key is refused over %s on a limit of five, and the five are not',
  async (protocol) => {
    const opens = (from: string) => opensTunnel[protocol](gateway, gateway.device, from)
    expect(await opens(home)).toBe(true)
    expect(await opens(elsewhere)).toBe(false)
    expect(await opens(home)).toBe(true)
  },
)

test('another machine opens tunnels once a removed device has left a slot', async () => {
  const devices: { id: string }[] = (await gateway.shop.get('/vpn/info')).data.devices
  const removed = devices.find(({ id }) => id !== gateway.device.id)
  await gateway.shop.post('/vpn/devices/remove', { device: removed?.id })
  expect(await opensTunnel.trojan(gateway, gateway.device, third)).toBe(true)
})
