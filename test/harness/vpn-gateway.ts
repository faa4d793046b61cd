import { type Made, makeCertificate, putCertificate } from './certificates.ts'
import { type BoughtDevice, buyVpn, freePort, keysOfDevice, openShopWithGateway } from './gateway.ts'
import { KeyClient, vlessHead } from './key-client.ts'
import { startEcho } from './tunnel.ts'
import { untilTrue } from './turnpike.ts'
import { startUdpEcho } from './udp.ts'

/** Beside the first device. */
const maxAdded = 4

export type VpnGateway = Awaited<ReturnType<typeof openVpnGateway>>

/** A shop with a gateway that serves VPN devices over TLS, a device that it knows, and echoes to reach. */
export async function openVpnGateway(more: Readonly<Record<string, string>> = {}) {
  const tlsPort = freePort()
  const made: Made = await makeCertificate('vpn')
  const files = putCertificate(made)
  const echo = startEcho()
  const udpEcho = await startUdpEcho()
  const shop = await openShopWithGateway('sqlite', {
    shop: { TURNPIKE_GATEWAY_VPN: 'on' },
    gateway: { ...files.env, TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort), TURNPIKE_GATEWAY_VPN: 'on', ...more },
  })

  /** Waits until a tunnel of the device has carried 5 bytes both ways. */
  async function untilKnown(device: BoughtDevice): Promise<BoughtDevice> {
    await untilTrue(async () => {
      const client = await KeyClient.open(tlsPort, made, vlessHead(device, { port: echo.spot.port }, 'tcp'))
      client.send('hello')
      const text = await client.readText(5)
      client.close()
      return text === 'hello'
    })
    return device
  }

  const added: BoughtDevice[] = []
  const remove = (removed: BoughtDevice) => shop.post('/vpn/devices/remove', { device: removed.id })
  const first = await untilKnown(await buyVpn(shop))
  return {
    shop,
    tlsPort,
    made,
    echo,
    udpEcho,
    device: first,
    /** Bytes that a device's first tunnel has carried each way. */
    bytesOfFirst: 5,
    /** A further device of the subscription, which has five at most: the oldest one goes. */
    async addDevice(): Promise<BoughtDevice> {
      const oldest = added.length >= maxAdded ? added.shift() : undefined
      if (oldest) await remove(oldest)
      const { data } = await shop.post('/vpn/devices', {})
      const device = await untilKnown(await keysOfDevice(shop, data.device.id))
      added.push(device)
      return device
    },
    remove,
    /** Bytes that the shop has counted for a device. */
    async counted({ id }: BoughtDevice): Promise<{ readonly received: number; readonly sent: number }> {
      const { devices } = (await shop.get('/vpn/info')).data
      const found = devices.find((each: { id: string }) => each.id === id)
      return { received: found.rx_bytes, sent: found.tx_bytes }
    },
    async stop() {
      await shop.stop()
      echo.stop()
      udpEcho.stop()
      files.remove()
    },
  }
}
