import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { curl, expectNoTrace, hasProgram, run } from '../harness/clients.ts'
import { type BoughtProxy, openShopWithGateway, type ShopWithGateway, startOrigin } from '../harness/gateway.ts'
import { nodeAsks, pythonAsks, urlOf } from '../harness/library-clients.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { untilTrue } from '../harness/turnpike.ts'

describe('dedicated proxies with common client programs', () => {
  let shop: ShopWithGateway
  let plain: ReturnType<typeof startOrigin>
  let secure: ReturnType<typeof startOrigin>
  let six: ReturnType<typeof startOrigin>
  let http: BoughtProxy
  let socks: BoughtProxy
  beforeAll(async () => {
    shop = await openShopWithGateway('sqlite')
    plain = startOrigin()
    secure = startOrigin('127.0.0.1', { tls: selfSigned })
    six = startOrigin('::1')
    ;[http, socks] = (await shop.buyProxies({ count: 2 })) as [BoughtProxy, BoughtProxy]
    await shop.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' })
  })
  afterAll(async () => {
    await Promise.all([plain, secure, six].map((each) => each.stop()))
    await shop.stop()
  })

  /** Number of requests the origin got since the last call; all came from that address without proxy headers. */
  function visits(origin: ReturnType<typeof startOrigin>, from: string): number {
    const seen = origin.seen.splice(0)
    for (const each of seen) {
      expect(each.from).toBe(from)
      expectNoTrace(each.headers)
    }
    return seen.length
  }

  test('a new proxy works with curl as soon as it is bought, and leaves from the leased address', async () => {
    for (const ipv of [3, 4]) {
      const [bought] = await shop.buyProxies({ ipv, country_code: 'FR' })
      expect(await curl('-x', urlOf('http', bought), plain.url)).toMatchObject({ exit: 0, status: 200, connect: 0 })
      expect(visits(plain, bought?.exit_ip ?? '')).toBe(1)
    }
  })

  test('curl works through an HTTP proxy: forwarded, with CONNECT, and with TLS in the tunnel', async () => {
    const at = urlOf('http', http)
    expect(await curl('-x', at, plain.url)).toMatchObject({ exit: 0, status: 200, connect: 0 })
    expect(await curl('-x', at, '-T', '-', plain.url)).toMatchObject({ exit: 0, status: 200 })
    expect(await curl('-x', at, '-d', 'x'.repeat(70_000), plain.url)).toMatchObject({
      body: expect.stringContaining('"sent":70000'),
    })
    expect(await curl('-p', '-x', at, plain.url)).toMatchObject({ exit: 0, status: 200, connect: 200 })
    expect(visits(plain, http.exit_ip)).toBe(4)
    expect(await curl('-x', at, secure.url)).toMatchObject({ exit: 0, status: 200, connect: 200 })
    expect(await curl('-x', at, `${secure.url}/?bytes=2000000`)).toMatchObject({ exit: 0, status: 200 })
    expect(visits(secure, http.exit_ip)).toBe(2)
  })

  test('curl works through a SOCKS5 proxy with addresses and with names', async () => {
    for (const scheme of ['socks5', 'socks5h']) {
      expect(await curl('-x', urlOf(scheme, socks), plain.url)).toMatchObject({ exit: 0, status: 200 })
      expect(await curl('-x', urlOf(scheme, socks), secure.url)).toMatchObject({ exit: 0, status: 200 })
    }
    const byName = `http://localhost:${plain.port}/`
    expect(await curl('-x', urlOf('socks5h', socks), byName)).toMatchObject({ exit: 0, status: 200 })
    expect(visits(plain, socks.exit_ip)).toBe(3)
    expect(visits(secure, socks.exit_ip)).toBe(2)
  })

  test('an IPv6 proxy reaches IPv6 origins, and a sandbox names the source in X-Turnpike-Left-From', async () => {
    const [proxy] = await shop.buyProxies({ ipv: 6 })
    const forwarded = await curl('-x', urlOf('http', proxy), six.url)
    expect(forwarded).toMatchObject({ exit: 0, status: 200 })
    expect(forwarded.heads).toContain('X-Turnpike-Left-From: ::1')
    const tunnelled = await curl('-p', '-x', urlOf('http', proxy), six.url)
    expect(tunnelled).toMatchObject({ exit: 0, status: 200, connect: 200 })
    expect(tunnelled.heads).toContain('X-Turnpike-Left-From: ::1')
    await shop.post('/dedicated/protocol', { ids: [proxy?.id], port_type: 'socks' })
    expect(await curl('-x', urlOf('socks5', proxy), six.url)).toMatchObject({ exit: 0, status: 200 })
    const named = await curl('-x', urlOf('socks5h', proxy), `http://localhost:${six.port}/`)
    expect(named).toMatchObject({ exit: 0, status: 200 })
    expect(visits(six, '::1')).toBe(4)
  })

  test('a client that enters the gateway over IPv6 leaves from the same address as over IPv4', async () => {
    const at = `http://${http.username}:${http.password}@[::1]:${shop.port}`
    expect(await curl('-x', at, '--interface', '::1', plain.url)).toMatchObject({ exit: 0, status: 200 })
    expect(visits(plain, http.exit_ip)).toBe(1)
  })

  test('wget works through an HTTP proxy and sends its credentials only after a 407', async () => {
    if (!hasProgram('wget')) return
    const login = [`--proxy-user=${http.username}`, `--proxy-password=${http.password}`]
    const at = `http://${http.ip}:${http.port}`
    const common = ['wget', '-q', '-O', '-', '-t', '1', '-T', '60', '--no-check-certificate', ...login]
    const proxied = ['-e', 'use_proxy=on', '-e', `http_proxy=${at}`, '-e', `https_proxy=${at}`]
    expect(await run(...common, ...proxied, `${plain.url}/`)).toMatchObject({ exit: 0 })
    expect(visits(plain, http.exit_ip)).toBe(1)
    // With keep-alive wget itself sends a proxy header to the origin within the tunnel.
    expect(await run(...common, '--no-http-keep-alive', ...proxied, `${secure.url}/`)).toMatchObject({ exit: 0 })
    expect(visits(secure, http.exit_ip)).toBe(1)
  })

  test('Node’s http module works through an HTTP proxy, forwarded and by CONNECT', async () => {
    expect(await nodeAsks(http, plain.url, secure.url)).toEqual({ forwarded: 200, kept: [200, 200], tunnelled: 200 })
    expect(visits(plain, http.exit_ip)).toBe(3)
    expect(visits(secure, http.exit_ip)).toBe(1)
  })

  test('Python’s urllib and http.client work through an HTTP proxy, forwarded and by CONNECT', async () => {
    if (!hasProgram('python3')) return
    const answers = await pythonAsks(http, plain.url, secure.url)
    expect(answers).toEqual({ forwarded: 200, tunnelled: 200, client: 200, refused: 407 })
    expect(visits(plain, http.exit_ip)).toBe(2)
    expect(visits(secure, http.exit_ip)).toBe(1)
  })

  test('the first request after a protocol change is served over SOCKS5 and refused over HTTP', async () => {
    const [proxy] = await shop.buyProxies()
    expect(await curl('-x', urlOf('http', proxy), plain.url)).toMatchObject({ status: 200 })
    await shop.post('/dedicated/protocol', { ids: [proxy?.id], port_type: 'socks5' })
    expect(await curl('-x', urlOf('socks5h', proxy), plain.url)).toMatchObject({ exit: 0, status: 200 })
    expect(await curl('-x', urlOf('http', proxy), plain.url)).toMatchObject({ status: 403, error: 'wrong_protocol' })
    const tunnelled = await curl('-p', '-x', urlOf('http', proxy), plain.url)
    expect(tunnelled).toMatchObject({ connect: 403, error: 'wrong_protocol' })
    expect(visits(plain, proxy?.exit_ip ?? '')).toBe(2)
  })

  test('the gateway answers 407 with Proxy-Authenticate to missing and wrong credentials', async () => {
    const bare = await curl('-x', `http://${http.ip}:${http.port}`, plain.url)
    expect(bare).toMatchObject({ status: 407, error: 'credentials_required' })
    expect(bare.heads).toContain('Proxy-Authenticate: Basic realm=')
    const wrong = await curl('-x', urlOf('http', { ...http, password: 'wrong' }), plain.url)
    expect(wrong).toMatchObject({ status: 407, error: 'bad_credentials' })
    expect(wrong.heads).toContain('Proxy-Authenticate: Basic realm=')
    expect(await curl('-p', '-x', `http://${http.ip}:${http.port}`, plain.url)).toMatchObject({ connect: 407 })
    expect(visits(plain, '')).toBe(0)
  })

  test('a premium download of 3 MB is counted in used_gb', async () => {
    const { login, password } = await shop.buyTraffic(1)
    const at = `http://${login}-pool-residential-country-us:${password}@127.0.0.1:${shop.port}`
    expect(await curl('-x', at, `${plain.url}/?bytes=3000000`)).toMatchObject({ status: 200, exit: 0 })
    plain.seen.splice(0)
    const used = async () => (await shop.get('/premium/traffic/balance?pool_type=residential')).data.used_gb
    expect(await untilTrue(async () => (await used()) > 0.003)).toBeTrue()
  })
})
