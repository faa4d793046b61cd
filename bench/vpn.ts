import { measureBulk, type ProxyPeer } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { routeOfDevice, startDeviceServers } from './device-servers.ts'
import { type GatewayShop, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { writeCertificate } from './tls-certificate.ts'
import { openTunnels, type Tunnels } from './tunnels.ts'

/** Bytes for a CPU second, against Debian's servers. */
const targets = { vless: { min: 1.5 }, trojan: { min: 1 }, xhttp: { min: 1 } } as const

/** Files of 16 MiB over the protocols of VPN devices, with the same TLS as the bench `tls`. */
export const vpn: Bench = {
  name: 'vpn',
  about: 'bulk over VLESS, Trojan, XHTTP and WebSocket through the gateway, beside Debian’s v2ray and trojan',
  async run(context) {
    const { stage, say } = context
    const tunnels = await openTunnels(stage, true).catch((error: unknown) => {
      say(`  ${String(error)}`)
    })
    if (!tunnels) {
      const needs = 'the load needs a C compiler and OpenSSL (apt-get install gcc libssl-dev)'
      say(`  NOTHING IS MEASURED: ${needs}`)
      return [{ what: 'everything', figure: `not measured: ${needs}`, rounds: [] }]
    }
    const certificate = await writeCertificate(stage.makeFolder())
    const shop = await startGatewayShop(stage, certificate, undefined, { TURNPIKE_GATEWAY_VPN: 'on' })
    const ours = await openOurs(shop, tunnels)
    const others = await startDeviceServers(stage, say, certificate)
    return compareAll(context, tunnels, ours, others)
  },
}

type Ours = Readonly<Record<'vless' | 'trojan' | 'ws' | 'xhttp', ProxyPeer>>

/** A device of a bought subscription, as its link describes it. */
async function openOurs(shop: GatewayShop, tunnels: Tunnels): Promise<Ours> {
  const device = await shop.buyDevice()
  const peerOf = (way: 'vless' | 'trojan' | 'ws' | 'xhttp'): ProxyPeer => ({
    name: `Turnpike with ${protocolNames[way]}`,
    pid: shop.pid,
    isOurs: true,
    route: routeOfDevice(way, shop.tlsPort, device),
  })
  const peers = { vless: peerOf('vless'), trojan: peerOf('trojan'), ws: peerOf('ws'), xhttp: peerOf('xhttp') }
  await untilItWorks(tunnels, [peers.vless.route, peers.trojan.route, peers.ws.route, peers.xhttp.route])
  return peers
}

const protocolNames = { vless: 'VLESS', trojan: 'Trojan', ws: 'WebSocket', xhttp: 'XHTTP over HTTP/2' } as const

/** All take turns in the same rounds. */
async function compareAll(
  context: Context,
  tunnels: Tunnels,
  ours: Ours,
  others: Awaited<ReturnType<typeof startDeviceServers>>,
) {
  const all = [...Object.values(ours), ...Object.values(others)]
  const { rows, ratioOf } = await measureBulk(context, tunnels, all)
  const { vless, trojan, ws } = others
  return [
    ...rows,
    ...(vless ? [ratioOf('bulk over VLESS, for a CPU second', ours.vless, vless, targets.vless)] : []),
    ...(trojan ? [ratioOf('bulk over Trojan, for a CPU second', ours.trojan, trojan, targets.trojan)] : []),
    ...(ws
      ? [
          ratioOf('bulk over XHTTP against WebSocket, for a CPU second', ours.xhttp, ws, targets.xhttp),
          ratioOf('bulk over WebSocket, for a CPU second', ours.ws, ws),
        ]
      : []),
  ]
}
