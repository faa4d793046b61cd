import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { programs, toSnippet } from '../../src/console/customer/endpoint.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { expectNoTrace, run } from '../harness/clients.ts'
import { customerLink } from '../harness/console-links.ts'
import { openConsoleShop } from '../harness/console-shop.ts'
import { freePort, type ShopWithGateway, somePorts } from '../harness/gateway.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { waitLimitMs } from '../harness/until.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor } from './visitor.ts'

const page = `<!doctype html><title>waiting</title><link rel="stylesheet" href="/style.css">
<img src="/one.svg"><img src="/two.svg"><body><script src="/script.js"></script></body>`
const script = `Promise.all([fetch('/a', { method: 'POST', body: 'x'.repeat(100000) }), fetch('/b'), fetch('/c')])
  .then((answers) => Promise.all(answers.map((each) => each.text())))
  .then((texts) => { document.title = texts.join(' ') })`
const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
  '/': ['text/html', page],
  '/style.css': ['text/css', 'body { color: rgb(1, 2, 3) }'],
  '/script.js': ['text/javascript', script],
  '/one.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>'],
  '/two.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'],
}

/** A site of several files, which records its requests. */
function startSite(tls?: typeof selfSigned) {
  const seen: { from: string; path: string; headers: Record<string, string> }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    ...(tls && { tls }),
    async fetch(request, self) {
      const path = new URL(request.url).pathname
      seen.push({ from: self.requestIP(request)?.address ?? '', path, headers: Object.fromEntries(request.headers) })
      const [type, text] = files[path] ?? ['text/plain', `${path}:${(await request.text()).length}`]
      return new Response(text, { headers: { 'Content-Type': type } })
    },
  })
  return { seen, url: `${tls ? 'https' : 'http'}://site.localhost:${server.port}/`, stop: () => server.stop(true) }
}

const [tlsPort, metricsPort] = [freePort(), freePort()]
let certificate: ReturnType<typeof putCertificate>
let shop: ShopWithGateway
let plain: ReturnType<typeof startSite>
let secure: ReturnType<typeof startSite>
let browser: Browser
beforeAll(async () => {
  certificate = putCertificate(await makeCertificate('gateway'))
  const gateway = {
    ...certificate.env,
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_GATEWAY_SITE: 'builtin',
    TURNPIKE_GATEWAY_CHALLENGE_HOST: 'localhost',
    TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
  }
  ;[shop, browser] = await Promise.all([
    openConsoleShop('sqlite', { shop: { TURNPIKE_PREMIUM_PORTS: somePorts() }, gateway }),
    // The certificate of the proxy; those of sites are up to each context.
    openChromium(['--ignore-certificate-errors']),
  ])
  ;[plain, secure] = [startSite(), startSite(selfSigned)]
}, readyWithinMs)
afterAll(async () => {
  await browser.close()
  await Promise.all([plain.stop(), secure.stop()])
  await shop.stop()
  certificate.remove()
})

/**
 * Opens both sites with a proxy, and returns their visitors' addresses. Every file was fetched, without a trace of the
 * client or the proxy.
 */
async function visit(proxy: BrowserContextOptions['proxy']): Promise<Set<string>> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...(proxy && { proxy }) })
  context.setDefaultTimeout(waitLimitMs)
  const sources = new Set<string>()
  for (const site of [plain, secure]) {
    const tab = await context.newPage()
    await tab.goto(site.url)
    await tab.waitForFunction("document.title === '/a:100000 /b:0 /c:0'", undefined, { timeout: waitLimitMs })
    expect(await tab.evaluate('getComputedStyle(document.body).color')).toBe('rgb(1, 2, 3)')
    expect(await tab.evaluate('[...document.images].map((image) => image.naturalWidth)')).toEqual([7, 9])
    const seen = site.seen.splice(0)
    expect(seen.map((each) => each.path)).toContainValues(Object.keys(files))
    for (const { from, headers } of seen) {
      sources.add(from)
      expectNoTrace(headers)
    }
  }
  await context.close()
  return sources
}

test('Chromium logs in to a dedicated proxy on request, and fetches a page with all its files', async () => {
  const [proxy] = await shop.buyProxies()
  const { ip, port, username, password, exit_ip } = proxy ?? {
    ip: '',
    port: 0,
    username: '',
    password: '',
    exit_ip: '',
  }
  expect(await visit({ server: `http://${ip}:${port}`, username, password })).toEqual(new Set([exit_ip]))
})

test('Chromium fetches pages through an HTTPS proxy over HTTP/2', async () => {
  const [proxy] = await shop.buyProxies()
  const { username = '', password = '', exit_ip = '' } = proxy ?? {}
  const before = await figure('turnpike_gateway_http2_requests_total')
  expect(await visit({ server: `https://localhost:${tlsPort}`, username, password })).toEqual(new Set([exit_ip]))
  // Every file of the plain site is a request, the other site is a tunnel.
  expect(await figure('turnpike_gateway_http2_requests_total')).toBeGreaterThan(before + Object.keys(files).length)
})

test('the console copies a proxy over TLS for each of 7 programs, and curl and Chromium use the copied lines', async () => {
  const [bought] = await shop.buyProxies()
  const find = async () =>
    (await shop.get('/dedicated/list')).data.proxies.find((each: { id: number }) => each.id === bought?.id)
  expect(await untilTrue(async () => (await find()).https_port === tlsPort)).toBe(true)
  const visitor = await openVisitor(browser, shop.url)
  const { page: console } = visitor
  await console.goto(await customerLink(shop, shop.token))
  await console.locator('#content h1').waitFor()
  await console.goto(`${shop.url}/#/dedicated/${bought?.id}`)
  await console.getByLabel('Copy for').selectOption('Chrome')
  await console.getByLabel('Proxy URL').selectOption('https')
  await console.getByText('Chrome cannot use this proxy over https').waitFor()

  // The shop shows a browser host at the endpoint's host.
  await shop.services.fleet.setEndpoint(`gateway-${shop.port}`, { host: 'localhost', port: shop.port })
  expect(await untilTrue(async () => (await find()).browser_host === 'localhost')).toBe(true)
  const { ip: host, port, username: login, password, https_host, browser_host: browserHost, exit_ip } = await find()
  const copied = async (program: string, url: string): Promise<string> => {
    await console.getByLabel('Copy for').selectOption(program)
    await console.getByLabel('Proxy URL').selectOption(url)
    await console.getByRole('region', { name: program }).waitFor()
    await console.locator('.listing').getByRole('button', { name: 'Copy' }).click()
    await console.locator('.listing').getByText('Copied').waitFor()
    return console.evaluate<string>('navigator.clipboard.readText()')
  }
  await console.reload()
  const of = {
    host,
    port,
    login,
    password,
    protocol: 'http',
    tls: { host: https_host, port: tlsPort, browserHost },
  } as const
  const lines = new Map<string, string>()
  for (const program of programs) {
    lines.set(program, await copied(program, 'https'))
    expect(lines.get(program)).toBe(toSnippet(of, 'https', program) ?? '')
  }
  // The gateway shows a site under its TLS host, so only the browser host asks Chromium for the login.
  const [, server = ''] = /--proxy-server="(.+)"/.exec(lines.get('Chrome') ?? '') ?? []
  expect(server).toBe(`https://localhost:${tlsPort}`)
  expect(https_host).not.toBe(browserHost)
  expect(await visit({ server, username: login, password })).toEqual(new Set([exit_ip]))
  expect(lines.get('Playwright')).toContain(`server: ${JSON.stringify(server)}`)

  await shop.buyTraffic(0.1)
  await console.goto(`${shop.url}/#/premium/access`)
  expect(await copied('Chrome', 'https')).toBe(`chrome --proxy-server="${server}"`)
  for (const url of ['https', 'http', 'socks5'] as const) {
    const command = await copied('curl', url)
    const scheme = url === 'socks5' ? 'socks5h' : url
    expect(command).toStartWith(`curl -x "${scheme}://`)
    const ours = command.replace('https://example.com', plain.url).replace('curl', `curl -sS --proxy-insecure`)
    expect((await run('sh', '-c', ours)).out).toBe(page)
  }
  plain.seen.splice(0)
  await visitor.expectQuiet()
  await visitor.context.close()
})

test('the list copies https URLs and exports them for a selection; a proxy of SOCKS5 only has none', async () => {
  const [first, second] = await shop.buyProxies({ count: 2 })
  const [socks] = await shop.buyProxies()
  if (!first || !second || !socks) throw new Error('a proxy is missing')
  await shop.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' })
  const find = async (id: number) =>
    (await shop.get('/dedicated/list')).data.proxies.find((each: { id: number }) => each.id === id)
  expect(await untilTrue(async () => (await find(first.id)).https_port === tlsPort)).toBe(true)
  const { https_host } = await find(first.id)
  const urlOf = ({ username, password }: typeof first) => `https://${username}:${password}@${https_host}:${tlsPort}`
  const visitor = await openVisitor(browser, shop.url)
  // The browser logs the refused export.
  visitor.allow(/409/)
  const { page: console } = visitor
  await console.goto(await customerLink(shop, shop.token))
  await console.locator('#content h1').waitFor()
  await console.goto(`${shop.url}/#/dedicated`)
  await console.getByLabel('Copy format').selectOption('https://login:password@host:port')
  const row = ({ ip, port }: typeof first) => console.getByRole('row').filter({ hasText: `${ip}:${port}` })
  await row(first).getByRole('button', { name: 'Copy' }).click()
  expect(await console.evaluate<string>('navigator.clipboard.readText()')).toBe(urlOf(first))
  await row(socks).getByTitle('This proxy has no https').waitFor()
  expect(await row(socks).getByRole('button', { name: 'Copy' }).count()).toBe(0)

  const exportSelection = async (...chosen: (typeof first)[]) => {
    for (const each of chosen) await row(each).getByRole('checkbox').check({ force: true })
    await console.getByRole('toolbar').getByRole('button', { name: 'Export' }).click()
    await console.getByRole('dialog').getByLabel('Format').selectOption('https')
  }
  const dialog = console.getByRole('dialog')
  await exportSelection(first, second)
  await dialog.locator('pre', { hasText: 'https://' }).waitFor()
  await dialog.getByRole('button', { name: 'Copy' }).click()
  await dialog.getByText('Copied').waitFor()
  const copied = await console.evaluate<string>('navigator.clipboard.readText()')
  expect(copied.trim().split('\n').toSorted()).toEqual([first, second].map(urlOf).toSorted())
  await console.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  await exportSelection(socks)
  await dialog.getByText('At least one of the proxies cannot be reached over TLS').waitFor()
  await visitor.expectQuiet()
  await visitor.context.close()
})

/** A figure of the gateway, whose metrics have the port after the shop's. */
async function figure(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort + 1}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? -1)
}

test('Chromium uses a whitelisted port without a login, over HTTP and SOCKS5', async () => {
  await shop.buyTraffic(0.1)
  await shop.post('/premium/whitelist/add', { ip: '127.0.0.1' })
  for (const protocol of ['http', 'socks5']) {
    const query = { pool_type: 'residential', country_code: 'US', format_id: 3, protocol, quantity: 1 }
    const { data } = await shop.post('/premium/proxies/generate', query)
    const sources = await visit({ server: `${protocol}://${data.proxies[0]}` })
    expect(sources.size).toBe(1)
    for (const source of sources) expect(source).toStartWith('127.100.5.')
  }
})
