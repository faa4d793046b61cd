/**
 * Real clients of a gateway, in a network of its own: a shop with a gateway for VPN devices, and v2ray, trojan, curl
 * and Chromium, each configured only by what the secret link answered. Prints one line of JSON for each client: what
 * arrived, and the bytes that were billed and that reached the origin.
 */
import { createHash } from 'node:crypto'
import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { entriesOfShareLinks } from '../../tools/try-clients/configurations.ts'
import { openChromium } from '../browser/chromium.ts'
import { makeCertificate, putCertificate } from './certificates.ts'
import { run } from './clients.ts'
import { buyVpn, freePort, openShopWithGateway } from './gateway.ts'
import { untilTrue } from './turnpike.ts'
import { readDatagram, TestAssociation } from './udp.ts'
import { until } from './until.ts'
import { clientLogin, startProgram } from './v2ray.ts'

/** The namespace of the origin, and its address. */
const [originNamespace = '', host = ''] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'turnpike-real-clients-'))
const file = join(folder, 'file')
/** Browsers send a password only if they are asked for it, which this name does. */
const challengeHost = 'localhost'
const queryId = 7
const billedWithinMs = 20_000
const udpWithinMs = 20_000

type Counts = { readonly received: number; readonly sent: number }

const leash = ['ip', 'netns', 'exec', originNamespace, 'setpriv', '--pdeathsig', 'KILL']
const program = [process.execPath, '--no-env-file', join(import.meta.dir, 'counting-origin-worker.ts'), host]
const origin = Bun.spawn([...leash, ...program], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
const lines = createInterface({ input: Readable.from(origin.stdout) })[Symbol.asyncIterator]()
const readLine = async () => JSON.parse((await lines.next()).value as string)
const { digest } = (await readLine()) as { digest: string }
async function countCarried(): Promise<Counts> {
  void origin.stdin.write('counts\n')
  return readLine()
}

const made = await makeCertificate('vpn')
const files = putCertificate(made)
const tlsPort = freePort()
const shop = await openShopWithGateway('sqlite', {
  shop: { TURNPIKE_GATEWAY_VPN: 'on' },
  gateway: {
    ...files.env,
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_GATEWAY_VPN: 'on',
    TURNPIKE_GATEWAY_CHALLENGE_HOST: challengeHost,
  },
})
await buyVpn(shop)
const { data } = await shop.get('/vpn/info')
const link = async (format: string): Promise<string> => {
  const answer = await fetch(`${data.subscription_url}?format=${format}`)
  return answer.status === 200 ? answer.text() : ''
}
await untilTrue(async () => (await link('base64')) !== '')

async function countBilled(): Promise<Counts> {
  const { devices } = (await shop.get('/vpn/info')).data
  return { received: devices[0].rx_bytes, sent: devices[0].tx_bytes }
}

const minus = (one: Counts, other: Counts): Counts => ({
  received: one.received - other.received,
  sent: one.sent - other.sent,
})

/** From a device's side: bytes that it has sent have been received by the origin. */
async function measure(client: string, work: () => Promise<Record<string, unknown>>): Promise<void> {
  const before = { carried: await countCarried(), billed: await countBilled() }
  const seen = await work()
  const carriedNow = async () => {
    const { received, sent } = minus(await countCarried(), before.carried)
    return { received: sent, sent: received }
  }
  const billedNow = async () => minus(await countBilled(), before.billed)
  const giveUpAt = performance.now() + billedWithinMs
  await untilTrue(async () => performance.now() > giveUpAt || Bun.deepEquals(await carriedNow(), await billedNow()))
  process.stdout.write(
    `${JSON.stringify({ client, ...seen, carried: await carriedNow(), billed: await billedNow() })}\n`,
  )
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer)
  return hash.digest('hex')
}

/** The page and the file, by curl with these arguments for its proxy. */
async function download(...proxy: readonly string[]): Promise<Record<string, unknown>> {
  const page = await run('curl', '-sS', ...proxy, `http://${host}/`)
  const whole = await run('curl', '-sS', ...proxy, '-o', file, `http://${host}/file`)
  return { page: page.out, file: whole.exit === 0 && (await digestOf(file)) === digest, problem: page.err + whole.err }
}

/** RFC 1035: a question for the IPv4 address of a name. */
const question = Buffer.from([0, queryId, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1])

async function askName(port: number): Promise<boolean> {
  const association = await TestAssociation.open(port, clientLogin.username, clientLogin.password)
  // UDP may lose a datagram.
  const ask = (): void => association.send(host, 53, question)
  const again = setInterval(ask, 1000)
  ask()
  await until(() => association.peer.received.length > 0, udpWithinMs).catch(() => {})
  clearInterval(again)
  const payload = readDatagram(association.peer.received[0]?.bytes ?? question).payload
  association.close()
  return payload[1] === queryId && payload.at(-1) === 7
}

for (const entry of entriesOfShareLinks(await link('base64'))) {
  const configuration = entry.configure(0, clientLogin) as { outbounds: [{ streamSettings: { network: string } }] }
  // This program is older than XHTTP.
  if (configuration.outbounds[0].streamSettings.network === 'xhttp') continue
  const port = freePort()
  const client = await startProgram(['v2ray', '-config'], entry.configure(port, clientLogin), port, {
    SSL_CERT_FILE: files.cert,
  })
  const login = `${clientLogin.username}:${clientLogin.password}`
  await measure(`v2ray, ${entry.name}`, async () => ({
    ...(await download('-x', `socks5h://${login}@127.0.0.1:${port}`)),
    udp: await askName(port),
  }))
  await client.stop()
}

const trojanLink = Buffer.from(await link('base64'), 'base64')
  .toString()
  .split('\n')
  .find((each) => each.startsWith('trojan:'))
const trojan = new URL(trojanLink ?? '')
{
  const port = freePort()
  const client = await startProgram(
    ['trojan', '-c'],
    {
      run_type: 'client',
      local_addr: '127.0.0.1',
      local_port: port,
      remote_addr: trojan.hostname,
      remote_port: Number(trojan.port),
      password: [decodeURIComponent(trojan.username)],
      log_level: 5,
      ssl: { cert: files.cert, sni: trojan.searchParams.get('sni'), alpn: trojan.searchParams.get('alpn')?.split(',') },
      tcp: { no_delay: true, keep_alive: true },
    },
    port,
  )
  await measure('trojan', () => download('-x', `socks5h://127.0.0.1:${port}`))
  await client.stop()
}

type HttpOutbound = { type: string; server: string; server_port: number; username: string; password: string }
const { outbounds } = JSON.parse(await link('singbox')) as { outbounds: readonly HttpOutbound[] }
const http = outbounds.find(({ type }) => type === 'http')
if (!http) throw new Error('the link has no HTTPS entry')
const proxy = `https://${http.server}:${http.server_port}`
await measure('curl', () =>
  download('-p', '-x', proxy, '--proxy-cacert', files.cert, '-U', `${http.username}:${http.password}`),
)

await measure('Chromium', async () => {
  // The certificates of the gateway and of the origin are of no authority that it knows.
  const browser = await openChromium(['--ignore-certificate-errors'])
  const context = await browser.newContext({
    proxy: { server: `https://${challengeHost}:${http.server_port}`, username: http.username, password: http.password },
    ignoreHTTPSErrors: true,
  })
  const page = await context.newPage()
  // Over TLS: the bytes of a plain request are those that the gateway writes.
  await page.goto(`https://${host}/`)
  const text = await page.innerText('body')
  const [arrived] = await Promise.all([
    page.waitForEvent('download'),
    page.goto(`https://${host}/file`).catch(() => undefined),
  ])
  const path = await arrived.path()
  const isSame = (await digestOf(path)) === digest
  await browser.close()
  return { page: text, file: isSame, problem: '' }
})

await shop.stop()
files.remove()
rmSync(folder, { recursive: true, force: true })
origin.kill()
process.exit(0)
