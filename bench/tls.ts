import { compare, measureIdle, type ProxyPeer } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { startTlsProxies } from './forward-proxies.ts'
import { type CertificateFiles, type GatewayShop, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { measureHalfOpen } from './half-open.ts'
import { startLimit } from './limit.ts'
import type { Row } from './report.ts'
import { writeCertificate } from './tls-certificate.ts'
import { openTunnels, type Route, type Tunnels } from './tunnels.ts'

const targetsOfSquid = { 'new tunnels': { min: 1.3 }, bulk: { min: 1.3 } } as const
const targetsOfHaproxy = { 'new tunnels': { min: 1 }, bulk: { min: 1 } } as const

/** An idle tunnel over TLS, above the idle process. */
const maxIdleKb = 16

/** CONNECT over TLS 1.3 with an ECDSA P-256 certificate, X25519 and AES-128-GCM, through each proxy in turn. */
export const tls: Bench = {
  name: 'tls',
  about: 'new tunnels and bulk over TLS through the gateway, beside other proxies with TLS',
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
    const idle = await measureOwnIdle(context, tunnels, certificate)
    const proxies = await openProxies(context, tunnels, certificate)
    const resumed = proxies.map((proxy) => ({ ...proxy, route: { ...proxy.route, way: 'tls-resumed' as const } }))
    return [
      idle,
      ...(await compare(context, tunnels, proxies)),
      ...(await compare(context, tunnels, resumed)),
      ...(await measureHalfOpen(context, tunnels, proxies)),
    ]
  },
}

/** In a new gateway: memory of earlier tunnels would hide the cost of these. */
async function measureOwnIdle({ stage }: Context, tunnels: Tunnels, certificate: CertificateFiles): Promise<Row> {
  const shop = await startGatewayShop(stage, certificate)
  const route = await buyTlsRoute(shop)
  await untilItWorks(tunnels, [route])
  const ours = { name: 'Turnpike', route, pid: shop.pid, memoryPids: shop.gatewayPids, isOurs: true }
  return measureIdle(tunnels, ours, maxIdleKb)
}

export const buyTlsRoute = async (shop: GatewayShop): Promise<Route> => ({
  ...routeOf(await shop.buyProxy(), 'connect'),
  way: 'tls',
  endpoint: `127.0.0.1:${shop.tlsPort}`,
})

async function openProxies(
  { stage, say }: Context,
  tunnels: Tunnels,
  certificate: CertificateFiles,
): Promise<ProxyPeer[]> {
  const shop = await startGatewayShop(stage, certificate)
  const route = await buyTlsRoute(shop)
  await untilItWorks(tunnels, [route])
  const others = await startTlsProxies(stage, say, certificate)
  return [
    { name: 'Turnpike', route, pid: shop.pid, isOurs: true },
    await startLimit(stage, certificate),
    ...others.map((peer) => ({ ...peer, targets: peer.name === 'Squid' ? targetsOfSquid : targetsOfHaproxy })),
  ]
}
