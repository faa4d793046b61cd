import { afterAll, beforeAll, expect, test } from 'bun:test'
import { z } from '@hono/zod-openapi'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { getBalance, getOrder, listOrders, listTransactions } from '../../src/api/customer/account/shapes.ts'
import { describe } from '../../src/api/describe.ts'
import { docsPaths, readDocs } from '../../src/api/docs.ts'
import { readSearchIndex, searchIndexPath } from '../../src/api/docs-search.ts'
import { type Operation, operationsOf } from '../../src/api/operation.ts'
import { waitLimitMs } from '../harness/until.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers } from './visitor.ts'

/** A shop under test: its address, a valid token, and the balance of the token's customer. */
type Site = {
  readonly url: string
  readonly token: string
  readonly balanceRub: number
  readonly stop: () => Promise<void>
}

/** The effects of a visit to the page. */
type Visit = {
  readonly page: Page
  readonly requests: readonly string[]
  readonly complaints: readonly string[]
  readonly violations: () => Promise<unknown>
}

/** An operation with every kind of description, some of it malicious. */
const purchase = operationsOf({ tag: 'Things' })('buyThing', 'POST /things/buy', {
  summary: 'Buy <b>things</b>',
  description: 'Charges at once. <img src="https://elsewhere.invalid/x.png" onerror="document.title=1">',
  body: z.object({
    country: z.enum(['DE', 'NL']).openapi({ example: 'NL' }),
    count: z.int().min(1).max(50).openapi({ example: 2 }),
    note: z.string().openapi({ example: "it's $HOME `here`" }),
    tags: z.array(z.string()).optional(),
  }),
  answer: z.object({
    thing: z.union([z.object({ ipv4: z.string() }), z.object({ ipv6: z.string() })]).nullable(),
    until: z.string().nullable(),
  }),
  example: { thing: { ipv4: '192.0.2.1' }, until: null },
  codes: ['out_of_stock'],
  charges: true,
})

const account: readonly Operation[] = [getBalance, listTransactions, listOrders, getOrder]
const token = 'tp_live_rehearsal'

/** The real page and the real OpenAPI description with fixed answers. */
function openStandIn(operations: readonly Operation[]): Site {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: Object.fromEntries(
      docsPaths.map((path) => {
        const answer = async () => {
          const { body, headers } = await readDocs(path, 'en')
          return new Response(body, { headers })
        }
        return [path, answer]
      }),
    ),
    fetch: async (request) => {
      const { pathname: path, origin } = new URL(request.url)
      if (path === searchIndexPath) return new Response(await readSearchIndex('en'))
      const shop = { version: '0.1.0', url: `${origin}/api/v1` }
      if (path === '/api/v1/openapi.json') return Response.json(describe(operations, shop))
      return toAnswer(request, path)
    },
  })
  return { url: server.url.origin, token, balanceRub: 98_200, stop: () => server.stop(true) }
}

async function toAnswer(request: Request, path: string): Promise<Response> {
  const headers = { 'X-Request-Id': 'req_rehearsal', 'RateLimit-Limit': '600', 'RateLimit-Remaining': '599' }
  const refuse = (status: number, code: string) =>
    Response.json({ ok: false, error: { code, message: 'Made up.', details: null } }, { status, headers })
  if (request.headers.get('authorization') !== `Bearer ${token}`) return refuse(401, 'invalid_token')
  if (path === '/api/v1/balance') return Response.json({ ok: true, data: getBalance.example }, { headers })
  if (path !== '/api/v1/things/buy') return refuse(404, 'not_found')
  const received = { body: await request.json(), key: request.headers.get('idempotency-key') }
  return Response.json({ ok: true, data: received }, { headers: { ...headers, 'Idempotent-Replayed': 'true' } })
}

/** The site under test. */
const openSite = async (): Promise<Site> => openStandIn(account)

let browser: Browser
let site: Site

beforeAll(async () => {
  browser = await openChromium()
  site = await openSite()
}, readyWithinMs)

afterAll(async () => {
  await site?.stop()
  await browser?.close()
})

/** Opens the page in its own profile, and records its requests and console errors. */
async function visit(url: string, work: (visit: Visit) => Promise<void>, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({
    locale: 'en-US',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  context.setDefaultTimeout(waitLimitMs)
  try {
    const page = await context.newPage()
    const requests: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    await page.addInitScript(
      "window.violations = []; addEventListener('securitypolicyviolation', (event) => violations.push(event.blockedURI))",
    )
    await page.goto(url)
    await work({ page, requests, complaints, violations: () => page.evaluate('window.violations') })
  } finally {
    await context.close()
  }
}

const sectionOf = (page: Page, id: string): Locator => page.locator(`section[aria-labelledby="${id}"]`)
const curlOf = (section: Locator): Locator => section.locator('pre.curl')
const answerOf = (section: Locator): Locator => section.locator('.outcome pre')

async function send(section: Locator): Promise<string> {
  await section.getByRole('button', { name: 'Send' }).click()
  return answerOf(section).innerText()
}

/** The arguments that a shell would pass to curl. */
function argsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\nTOKEN=from-the-shell\n${command}`
  return Bun.spawnSync(['sh', '-c', script]).stdout.toString().split('\0').slice(0, -1)
}

test('the docs page lists every operation with its method and path, which link to its section', () =>
  visit(`${site.url}/docs`, async ({ page }) => {
    await sectionOf(page, 'getBalance').waitFor()
    const links = page.getByRole('navigation', { name: 'Operations' }).getByRole('link')
    const listed = (await links.allInnerTexts()).map((text) => text.split(/\s*\n\s*/).join(' '))
    for (const each of account) {
      const link = listed.find((text) => text.startsWith(each.summary))
      expect(link).toEndWith(`${each.method} ${each.path}`)
    }
    await links.filter({ hasText: getOrder.summary }).click()
    expect(page.url()).toBe(`${site.url}/docs#getOrder`)
    expect(await inView(page, 'getOrder')).toBe(true)
  }))

test('the docs page has no serious accessibility violation, and groups without a found operation are hidden', () =>
  visit(`${site.url}/docs`, async ({ page }) => {
    await sectionOf(page, 'getOrder').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type(getOrder.path)
    expect(await page.locator('#docs-list h2:visible').allInnerTexts()).toHaveLength(1)
    expect(await findBarriers(page)).toEqual([])
  }))

test.each(['light', 'dark'] as const)(
  'the docs page and a guide at 375 pixels in the %s theme have no serious accessibility violation',
  (colorScheme) =>
    visit(`${site.url}/docs`, async ({ page }) => {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width: 375, height: 812 })
      await sectionOf(page, 'getOrder').waitFor()
      expect(await findBarriers(page)).toEqual([])
      await page.locator('summary').first().click()
      expect(await findBarriers(page)).toEqual([])
      await page.goto(`${site.url}/docs/guides/first-purchase`)
      expect(await findBarriers(page)).toEqual([])
    }),
)

test('a link to an operation opens the docs page at it', () =>
  visit(`${site.url}/docs#getOrder`, async ({ page }) => {
    await sectionOf(page, 'getOrder').waitFor()
    expect(await inView(page, 'getOrder')).toBe(true)
    expect(await page.evaluate('document.activeElement.id')).toBe('getOrder')
  }))

test('the docs page shows the type, limits and examples of parameters, and the codes of refusals', () =>
  visit(`${site.url}/docs`, async ({ page }) => {
    const description = sectionOf(page, 'listTransactions').locator('.words')
    await description.locator('.refusals summary').click()
    const text = (await description.innerText()).replaceAll(/\s+/g, ' ')
    expect(text).toContain('limit integer, in query')
    expect(text).toContain('Largest number of items in the answer. 1 to 500 default 100 example 100')
    expect(text).toContain('order_id string or null')
    expect(text).toContain('one of credit charge refund')
    expect(text).toContain('401 invalid_token The token is missing')
    expect(text).toContain('429 rate_limited')
  }))

test('Send shows the balance with a token, sends no request to another host, and stores nothing', () =>
  visit(`${site.url}/docs`, async ({ page, requests, complaints, violations }) => {
    await page.getByLabel('API token').fill(site.token)
    const section = sectionOf(page, 'getBalance')
    const answer: unknown = JSON.parse(await send(section))
    expect(answer).toMatchObject({ ok: true, data: { balance_rub: site.balanceRub } })
    const outcome = await section.locator('.outcome').innerText()
    expect(outcome).toContain('200')
    expect(outcome).toMatch(/\d+ ms/)
    expect(outcome).toContain('X-Request-Id')
    expect(outcome).toContain('RateLimit-Remaining')

    expect(requests).toContain(`${site.url}/api/v1/balance`)
    const foreign = requests.filter((url) => !url.startsWith(`${site.url}/`) && !url.startsWith('data:'))
    expect(foreign).toEqual([])
    expect(complaints).toEqual([])
    expect(await violations()).toEqual([])
    expect(await page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(0)
    expect(await page.content()).not.toContain(site.token)
    expect(await page.getByLabel('API token').getAttribute('type')).toBe('password')
  }))

test('Send with a wrong token shows 401 with invalid_token', () =>
  visit(`${site.url}/docs`, async ({ page, complaints }) => {
    await page.getByLabel('API token').fill('tp_live_nobody')
    const section = sectionOf(page, 'getBalance')
    expect(JSON.parse(await send(section))).toMatchObject({ ok: false, error: { code: 'invalid_token' } })
    expect(await section.locator('.status').innerText()).toStartWith('401')
    // The browser logs every such answer; the page adds nothing.
    expect(complaints.filter((text) => !text.includes('status of 401'))).toEqual([])
  }))

test('the curl command equals the sent request, with the token left to the shell', () =>
  visit(`${site.url}/docs`, async ({ page }) => {
    await page.getByLabel('API token').fill(site.token)
    const balance = curlOf(sectionOf(page, 'getBalance'))
    const command = `curl '${site.url}/api/v1/balance' \\\n  -H "Authorization: Bearer $TOKEN"`
    expect(await balance.textContent()).toBe(command)
    expect(argsOf(command)).toEqual([`${site.url}/api/v1/balance`, '-H', 'Authorization: Bearer from-the-shell'])

    await sectionOf(page, 'getBalance').getByRole('button', { name: 'Copy' }).click()
    await sectionOf(page, 'getBalance').getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command)

    const list = sectionOf(page, 'listOrders')
    await list.getByLabel('limit').fill('5')
    await list.getByLabel('cursor').fill("a'b&c d")
    const [url] = argsOf((await curlOf(list).textContent()) ?? '')
    expect(url).toBe(`${site.url}/api/v1/orders?limit=5&cursor=a'b%26c%20d`)
  }))

test('Enter in a field sends the request, and a path parameter stays one segment', () =>
  visit(`${site.url}/docs`, async ({ page, requests }) => {
    await page.getByLabel('API token').fill(site.token)
    const section = sectionOf(page, 'getOrder')
    const field = section.getByLabel('order_id')
    expect(await field.inputValue()).toBe(getOrder.example.order_id)
    await field.fill('ord/../1')
    await field.press('Enter')
    expect(await answerOf(section).innerText()).toContain('not_found')
    expect(requests).toContain(`${site.url}/api/v1/orders/ord%2F..%2F1`)
  }))

test('the docs page prefills a purchase with a key of 32 digits, and shows descriptions as text, not HTML', async () => {
  const shop = openStandIn([...account, purchase])
  const work = async ({ page, requests, complaints, violations }: Visit) => {
    await page.getByLabel('API token').fill(shop.token)
    const section = sectionOf(page, 'buyThing')
    const key = section.getByLabel('Idempotency-Key')
    const first = await key.inputValue()
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    await section.getByRole('button', { name: 'New key' }).click()
    expect(await key.inputValue()).not.toBe(first)

    const body = { country: 'NL', count: 2, note: "it's $HOME `here`" }
    const received = { body, key: await key.inputValue() }
    expect(JSON.parse(await send(section))).toEqual({ ok: true, data: received })
    expect(await section.locator('.outcome').innerText()).toContain('Idempotent-Replayed')

    const args = argsOf((await curlOf(section).textContent()) ?? '')
    expect(args.slice(0, 3)).toEqual(['-X', 'POST', `${shop.url}/api/v1/things/buy`])
    expect(args).toContain(`Idempotency-Key: ${received.key}`)
    expect(args).toContain('Content-Type: application/json')
    expect(JSON.parse(args.at(-1) ?? '')).toEqual(body)

    const text = (await section.locator('.words').innerText()).replaceAll(/\s+/g, ' ')
    expect(text).toContain('Buy <b>things</b>')
    expect(text).toContain('onerror="document.title=1"')
    expect(text).toContain('count integer required 1 to 50')
    expect(text).toContain('one of DE NL')
    expect(text).toContain('thing object or null')
    expect(text).toContain('ipv6 string')
    expect(await page.locator('main img, main b').count()).toBe(0)
    expect(requests.filter((url) => !url.startsWith(`${shop.url}/`) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
    expect(await violations()).toEqual([])
  }
  try {
    await visit(`${shop.url}/docs`, work)
  } finally {
    await shop.stop()
  }
})

test('the docs page on a phone folds its list and fits 360 pixels, in light and in dark', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme }
    const work = async ({ page }: Visit) => {
      await sectionOf(page, 'getOrder').waitFor()
      for (const refusals of await page.locator('.refusals summary').all()) await refusals.click()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
      const link = page.locator('#docs-list a', { hasText: getOrder.summary })
      expect(await link.isVisible()).toBe(false)
      await page.locator('#docs-menu summary').tap()
      await link.tap()
      expect(await inView(page, 'getOrder')).toBe(true)
      const paper = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(Number(/\d+/.exec(String(paper))?.[0]) > 128).toBe(colorScheme === 'light')
    }
    await visit(`${site.url}/docs`, work, phone)
  }
})

test('the docs page shows an error with a retry button when openapi.json fails to load', () =>
  visit('about:blank', async ({ page }) => {
    await page.route('**/openapi.json', (route) => route.fulfill({ status: 503, body: '' }))
    await page.goto(`${site.url}/docs`)
    expect(await page.getByRole('alert').innerText()).toContain('the server answered 503')
    await page.unroute('**/openapi.json')
    await page.getByRole('button', { name: 'Try again' }).click()
    await sectionOf(page, 'getBalance').waitFor()
  }))

test('the Content-Security-Policy of every docs page allows only own files', async () => {
  for (const path of docsPaths) {
    const response = await fetch(site.url + path)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(response.status).toBe(200)
    expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
    expect(policy).not.toContain('unsafe')
  }
})

const inView = (page: Page, id: string): Promise<unknown> =>
  page.evaluate(`(() => {
    const { top, bottom } = document.getElementById('${id}').getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })()`)
