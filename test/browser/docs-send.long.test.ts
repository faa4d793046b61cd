import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { type Service, startService } from '../harness/service.ts'
import { waitLimitMs } from '../harness/until.ts'
import { openChromium, readyWithinMs } from './chromium.ts'

/** Operations whose effect cannot be undone. */
const destructive = [
  'replaceProxy',
  'resetPasswords',
  'disallowSource',
  'deleteSubuser',
  'removeFromWhitelist',
  'resetPassword',
  'removeVpnDevice',
  'resetVpnDevices',
  'removeWebhook',
  'resetVpnLink',
  'deleteVpn',
  'revokeToken',
]

/** Operations that the prefilled request of a fresh account cannot do. */
const refused: Readonly<Record<string, RegExp>> = {
  // A token that creates tokens would bypass its cap.
  createToken: /^403/,
  listTokens: /^403/,
  revokeToken: /^403/,
  setTokenVersion: /^403/,
  exportAccount: /^403/,
  // Its section comes before the first purchase.
  setMetadata: /^404/,
  // The account has no e-mail address.
  setNotices: /^409/,
}

let browser: Browser
let shop: Service

beforeAll(async () => {
  browser = await openChromium()
  shop = await startService('sqlite')
}, readyWithinMs)

afterAll(async () => {
  await shop?.stop()
  await browser?.close()
})

async function visit(
  path: string,
  work: (page: Page, requestedUrls: readonly string[]) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ locale: 'en-US' })
  context.setDefaultTimeout(waitLimitMs)
  try {
    const page = await context.newPage()
    const requestedUrls: string[] = []
    page.on('request', (request) => requestedUrls.push(request.url()))
    await page.goto(shop.url + path)
    await work(page, requestedUrls)
  } finally {
    await context.close()
  }
}

// `css:light` skips the search for shadow roots in each element of this long page, which has none.
const sectionOf = (page: Page, id: string): Locator => page.locator(`css:light=section[aria-labelledby="${id}"]`)

async function send(section: Locator): Promise<{ status: string; text: string }> {
  await section.getByRole('button', { name: 'Send' }).click()
  const status = await section.locator('.outcome .status').innerText()
  return { status, text: await section.locator('.outcome pre').innerText() }
}

test('the docs page sends every operation as prefilled, with only a token filled in', () =>
  visit('/docs/', async (page) => {
    await page.getByLabel('API token', { exact: true }).fill(shop.token)
    await sectionOf(page, 'getBalance').waitFor()
    const listed = page.locator('css:light=section[aria-labelledby]')
    const ids = await listed.evaluateAll((all) => all.map((each) => each.getAttribute('aria-labelledby') ?? ''))
    expect(ids.length).toBeGreaterThan(40)
    page.on('dialog', (dialog) => void dialog.accept())
    const others: [string, string, string][] = []
    for (const id of ids) {
      const { status, text } = await send(sectionOf(page, id))
      const expected = refused[id] ?? (destructive.includes(id) ? /^(200|404)/ : /^200/)
      // No VPN node is up here, which the answer to a purchase states.
      const mayWarn = /^(buy|renew)Vpn$/.test(id) && text.includes('--local-nodes vpn')
      if (!expected.test(status) || (text.includes('"warnings"') && !mayWarn)) others.push([id, status, text])
    }
    expect(others).toEqual([])
  }))

test('the docs page shows the request of an operation in TypeScript and Python when it is opened', () =>
  visit('/docs', async (page, requestedUrls) => {
    const section = sectionOf(page, 'buyDedicated')
    for (const [client, call] of [
      ['TypeScript', 'dedicated.buy('],
      ['Python', 'client.dedicated.buy('],
    ] as const) {
      await section.locator('summary', { hasText: client }).click()
      await section.getByLabel(`The request in ${client}`).filter({ hasText: call }).waitFor()
    }
    // A token cannot call it, so the clients have no method for it.
    expect(await sectionOf(page, 'createToken').locator('.sample').count()).toBe(0)
    expect(requestedUrls.filter((url) => new URL(url).origin !== shop.url)).toEqual([])
  }))

describe('docs page used by one visitor', () => {
  let context: BrowserContext
  let page: Page
  beforeAll(async () => {
    context = await browser.newContext({ locale: 'en-US' })
    context.setDefaultTimeout(waitLimitMs)
    page = await context.newPage()
    await page.goto(`${shop.url}/docs`)
  })
  afterAll(() => context.close())

  test('the body of POST /vpn/buy is prefilled without a public key', async () => {
    const body = await sectionOf(page, 'buyVpn').getByLabel('Body').inputValue()
    expect(JSON.parse(body)).toEqual({ period: 1 })
  })

  test('the docs page fills an id from an answer into other operations and leaves edited fields unchanged', async () => {
    await page.getByLabel('API token', { exact: true }).fill(shop.token)
    const [order, comment] = [sectionOf(page, 'getOrder'), sectionOf(page, 'setComment')]
    const written = JSON.stringify({ ids: [5], comment: 'mine' })
    await comment.getByLabel('Body').fill(written)
    const { text } = await send(sectionOf(page, 'buyDedicated'))
    const { data } = JSON.parse(text) as { data: { order_id: string; proxies: { id: number }[] } }
    expect(await order.getByLabel('order_id').inputValue()).toBe(data.order_id)
    expect(await order.locator('pre.curl').textContent()).toContain(`/orders/${data.order_id}'`)
    const body = await sectionOf(page, 'prolongDedicated').getByLabel('Body').inputValue()
    expect(JSON.parse(body)).toEqual({ ids: [data.proxies[0]?.id], period: 30 })
    expect(await sectionOf(page, 'quoteProlonging').getByLabel('ids').inputValue()).toBe(String(data.proxies[0]?.id))
    expect(await comment.getByLabel('Body').inputValue()).toBe(written)
  })

  test('the docs page offers the last bought subscription, and only charging operations warn of a charge', async () => {
    await page.getByLabel('API token', { exact: true }).fill(shop.token)
    await shop.post('/vpn/buy', { period: 1 })
    const { text } = await send(sectionOf(page, 'buyVpn'))
    const { uuid } = (JSON.parse(text) as { data: { uuid: string } }).data
    expect(await sectionOf(page, 'getVpnConfig').getByLabel('uuid').inputValue()).toBe(uuid)
    for (const id of ['addVpnDevice', 'setVpnAutoRenew']) {
      const body = await sectionOf(page, id).getByLabel('Body').inputValue()
      expect([id, JSON.parse(body).uuid]).toEqual([id, uuid])
    }
    for (const id of destructive) {
      expect([id, await sectionOf(page, id).getByLabel('Body').inputValue()]).toEqual([
        id,
        expect.not.stringContaining(uuid),
      ])
    }
    const warned = await page.locator('section', { hasText: 'which may charge your balance' }).all()
    const ids = await Promise.all(warned.map((each) => each.getAttribute('aria-labelledby')))
    expect(ids).toEqual(['buyDedicated', 'prolongDedicated', 'buyTraffic', 'buyVpn', 'renewVpn', 'increaseVpnDevices'])
  })

  test('the docs page requires confirmation for POST /vpn/delete, and sends nothing when it is dismissed', async () => {
    const uuid = (await shop.post('/vpn/buy', { period: 1 })).data.uuid as string
    await page.getByLabel('API token', { exact: true }).fill(shop.token)
    const section = sectionOf(page, 'deleteVpn')
    await section.getByLabel('Body').fill(JSON.stringify({ uuid }))
    const dialogs: string[] = []
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    const answerWith = (accept: boolean) =>
      page.once('dialog', (dialog) => {
        dialogs.push(dialog.message())
        void (accept ? dialog.accept() : dialog.dismiss())
      })
    answerWith(false)
    await section.getByRole('button', { name: 'Send' }).click()
    expect([dialogs.length, sent]).toEqual([1, []])
    expect((await shop.get(`/vpn/info?uuid=${uuid}`)).data.status).toBe('ACTIVE')
    answerWith(true)
    expect((await send(section)).status).toMatch(/^200/)
    expect(dialogs[1]).toContain('/vpn/delete')
    expect((await shop.get(`/vpn/info?uuid=${uuid}`)).status).toBe(404)
  })
})

const articles = [
  ['/docs/login-grammar', 'The login of a premium proxy', 'user-name = login'],
  ['/docs/errors', 'Refusals', 'idempotency_key_reused'],
  ['/docs/events', 'Events', 'proxy.replaced'],
] as const

test('the docs page links the articles on logins, errors and events, which send no request to another host', () =>
  visit('/docs', async (page, requestedUrls) => {
    const links = page.locator('.links a')
    await links.first().waitFor()
    const linked = await links.evaluateAll((all) => all.map((each) => each.getAttribute('href')))
    expect(linked).toEqual(expect.arrayContaining(articles.map(([path]) => `${path}?lang=en`)))
    for (const [path, title, text] of articles) {
      expect(await (await fetch(`${shop.url}${path}/`)).text()).toBe(await (await fetch(shop.url + path)).text())
      await page.locator(`.links a[href="${path}?lang=en"]`).click()
      await page.waitForURL(`${shop.url}${path}?lang=en`)
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(title)
      expect(await page.title()).toBe(`${title} · Turnpike API`)
      expect(await page.locator('main').innerText()).toContain(text)
      expect(await page.evaluate('getComputedStyle(document.querySelector(".bar")).position')).toBe('sticky')
      expect(await page.locator('.links a[href="/docs?lang=en"]').count()).toBe(1)
    }
    await page.locator('.links a[href="/docs?lang=en"]').click()
    await sectionOf(page, 'getBalance').waitFor()
    expect(requestedUrls.filter((url) => !url.startsWith(`${shop.url}/`) && !url.startsWith('data:'))).toEqual([])
  }))

test('GET /api and /api/v1 redirect to /docs with 302', async () => {
  for (const path of ['/api', '/api/v1', '/api/v1/']) {
    const answer = await fetch(shop.url + path, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs'])
    expect((await fetch(shop.url + path, { method: 'POST' })).status).toBe(405)
  }
})

test('the docs articles fit a width of 360 pixels', async () => {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 360, height: 740 }, isMobile: true })
  context.setDefaultTimeout(waitLimitMs)
  const page = await context.newPage()
  for (const path of ['/docs/errors?lang=ru', ...articles.map(([each]) => each)]) {
    await page.goto(shop.url + path)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  }
  await context.close()
})
