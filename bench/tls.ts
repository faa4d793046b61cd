import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../test/harness/clients.ts'
import { compare, type ProxyPeer } from './compare-proxies.ts'
import type { Bench, Context } from './context.ts'
import { startTlsProxies } from './forward-proxies.ts'
import { type CertificateFiles, routeOf, startGatewayShop, untilItWorks } from './gateway-shop.ts'
import { type Row, ratioRow, timeRow } from './report.ts'
import { openTunnels, type Tunnels } from './tunnels.ts'

const targetsOfSquid = { 'new tunnels': { min: 1.3 }, bulk: { min: 1.3 } } as const
const targetsOfHaproxy = { 'new tunnels': { min: 1 }, bulk: { min: 1 } } as const

const halfOpen = 10_000
/** An honest handshake beside half-open ones, against one without them. */
const halfOpenTarget = { max: 1.1 }

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
    const proxies = await openProxies(context, tunnels)
    const resumed = proxies.map((proxy) => ({ ...proxy, route: { ...proxy.route, way: 'tls-resumed' as const } }))
    return [
      ...(await compare(context, tunnels, proxies)),
      ...(await compare(context, tunnels, resumed)),
      ...(await measureHalfOpen(context, tunnels, proxies)),
    ]
  },
}

async function openProxies({ stage, say }: Context, tunnels: Tunnels): Promise<ProxyPeer[]> {
  const certificate = await writeCertificate(stage.makeFolder())
  const shop = await startGatewayShop(stage, certificate)
  const route = { ...routeOf(await shop.buyProxy(), 'connect'), way: 'tls' as const }
  const ours = { ...route, endpoint: `127.0.0.1:${shop.tlsPort}` }
  await untilItWorks(tunnels, [ours])
  const others = await startTlsProxies(stage, say, certificate)
  return [
    { name: 'Turnpike', route: ours, pid: shop.pid, isOurs: true },
    ...others.map((peer) => ({ ...peer, targets: peer.name === 'Squid' ? targetsOfSquid : targetsOfHaproxy })),
  ]
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']

/** A certificate and that of its issuer in one file, as ACME gives them. */
async function writeCertificate(folder: string): Promise<CertificateFiles> {
  const fileOf = (name: string) => join(folder, name)
  const issuer = ['-keyout', fileOf('issuer.key'), '-out', fileOf('issuer.crt')]
  const own = ['-keyout', fileOf('tls.key'), '-out', fileOf('own.crt')]
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-addext', 'basicConstraints=CA:FALSE']
  const signed = ['-CA', fileOf('issuer.crt'), '-CAkey', fileOf('issuer.key'), ...names]
  for (const args of [
    ['-subj', '/CN=issuer', ...issuer],
    ['-subj', '/CN=localhost', ...signed, ...own],
  ]) {
    const ran = await run('openssl', 'req', '-x509', ...newKey, ...args)
    if (ran.exit !== 0) throw new Error(ran.err)
  }
  const files = { cert: fileOf('tls.crt'), key: fileOf('tls.key') }
  writeFileSync(files.cert, readFileSync(fileOf('own.crt'), 'utf8') + readFileSync(fileOf('issuer.crt'), 'utf8'))
  // Squid reads them as another user.
  chmodSync(folder, 0o755)
  chmodSync(files.key, 0o644)
  return files
}

/** One tunnel at a time, with and without half-open handshakes in the same round. */
async function measureHalfOpen(
  { seconds, rounds, say }: Context,
  tunnels: Tunnels,
  proxies: readonly ProxyPeer[],
): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, route, isOurs } of proxies) {
    let failures = 0
    /** Undefined if the proxy opened no tunnel. */
    const medianMs = async (): Promise<number | undefined> => {
      const result = await tunnels.run({ route, tunnels: 1, bytes: 1024, seconds })
      failures += result.errors
      return result.tunnels > 0 ? result.p50Ms : undefined
    }
    const times: { alone: number; beside: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const alone = await medianMs()
      const held = await tunnels.holdHalfOpen(route.endpoint, halfOpen)
      const beside = await medianMs()
      await held.release()
      if (alone !== undefined && beside !== undefined) times.push({ alone, beside })
      say(`  round ${round + 1}/${rounds}  ${name}: ${alone?.toFixed(2)} ms, half-open ${beside?.toFixed(2)} ms`)
    }
    rows.push(...toHalfOpenRows(`${name}${failures === 0 ? '' : `, ${failures} FAILED`}`, times, isOurs === true))
  }
  return rows
}

function toHalfOpenRows(name: string, times: readonly { alone: number; beside: number }[], isOurs: boolean): Row[] {
  const what = `a new tunnel over TLS beside ${halfOpen.toLocaleString('en-US')} half-open handshakes, ${name}`
  if (times.length === 0) return [{ what, figure: 'no tunnel was opened', rounds: [] }]
  const ratios = times.map(({ alone, beside }) => beside / alone)
  const waits = times.map(({ beside }) => beside)
  return [
    timeRow(`${what}, p50`, waits),
    ratioRow(`${what}, against none`, ratios, isOurs ? halfOpenTarget : undefined),
  ]
}
