import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { docsPaths, readDocs } from '../../src/api/docs.ts'
import { ru } from '../../src/core/messages/ru.ts'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { startShopWithHistory } from '../harness/console-shop.ts'
import { enginesOf } from '../harness/database.ts'
import type { Service } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, findSameFiles, fitsWidth, openVisitor, shown, type Visitor } from './visitor.ts'

/** Every page with its heading, and of pages with tabs the path of the tab. */
type Pages = readonly (readonly [path: string, heading: string, tab?: string])[]

const ofCustomers: Pages = [
  ['/', 'Обзор'],
  ['/dedicated', 'Выделенные прокси'],
  ['/dedicated/buy', 'Купить выделенные прокси'],
  ['/dedicated/1', '127.10.0.0:10800'],
  ['/premium', 'Премиум-прокси', '/premium'],
  ['/premium/generate', 'Премиум-прокси', '/premium/generate'],
  ['/premium/access', 'Премиум-прокси', '/premium/access'],
  ['/premium/usage', 'Премиум-прокси', '/premium/usage'],
  ['/premium/subusers', 'Премиум-прокси', '/premium/subusers'],
  ['/vpn', 'VPN'],
  ['/orders', 'Заказы'],
  ['/money', 'Деньги'],
  ['/events', 'События'],
  ['/api', 'API'],
  ['/account', 'Учётная запись'],
  ['/nowhere', 'Страница не найдена'],
]
const ofOperators: Pages = [
  ['/', 'Overview'],
  ['/customers', 'Customers'],
  ['/payments', 'Payments', '/payments'],
  ['/payments/codes', 'Payments', '/payments/codes'],
  ['/payments/providers', 'Payments', '/payments/providers'],
  ['/reports', 'Reports'],
  ['/orders', 'Orders'],
  ['/proxies/1', 'Proxy 1'],
  ['/abuse', 'Abuse lookup'],
  ['/stock', 'Stock'],
  ['/prices', 'Prices'],
  ['/network', 'Network'],
  ['/alerts', 'Alerts'],
  ['/mailings', 'Mailings'],
  ['/verify', 'Verify'],
  ['/audit', 'Audit log'],
  ['/brand', 'Brand'],
  ['/operators', 'Operators'],
  ['/account', 'Account'],
]
/** Pages with buttons, notices, badges, tables, forms and code. */
const colourful = ['/dedicated/buy', '/money', '/vpn', '/customers', '/payments/providers']
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const
const maxFirstLoadBytes = 200_000

/** The pages of the console and of the API's description, on one shop. Tests run in order. */
describe.each([...enginesOf('sqlite')])('pages story on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let customer: Visitor
  let operator: Visitor
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startShopWithHistory(engine), openChromium()])
    customer = await openVisitor(browser, shop.url, { ...phone, colorScheme: 'dark', locale: 'ru-RU' })
    operator = await openVisitor(browser, shop.url, { colorScheme: 'light' })
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  /** The size of each file of a first load, as it came over the wire. */
  async function load({ page }: Visitor, link: string): Promise<Map<string, number>> {
    const files = new Map<string, number>()
    const sizes: Promise<void>[] = []
    page.on('requestfinished', (request) => {
      if (!/\/console\/|\/(?:operator)?(?:#|$)/.test(request.url())) return
      const add = (bytes: number) => void files.set(request.url(), bytes)
      sizes.push(request.sizes().then((size) => add(size.responseBodySize + size.responseHeadersSize)))
    })
    await page.goto(link)
    await shown(page.locator('#content h1'))
    await page.waitForLoadState('networkidle')
    await Promise.all(sizes)
    return files
  }

  test("the first load of each part is below 200 kB and leaves out the other part's files", async () => {
    const ofCustomer = await load(customer, await customerLink(shop, shop.token))
    const ofOperator = await load(operator, await operatorLink(shop, 'looker', 'owner'))
    for (const files of [ofCustomer, ofOperator]) {
      const sum = [...files.values()].reduce((all, each) => all + each, 0)
      expect(sum).toBeGreaterThan(100_000)
      expect(sum).toBeLessThan(maxFirstLoadBytes)
    }
    const own = (files: Map<string, number>, others: Map<string, number>) =>
      [...files.keys()].filter((url) => url.includes('/console/') && !others.has(url)).length
    expect(own(ofCustomer, ofOperator)).toBeGreaterThan(0)
    expect(own(ofOperator, ofCustomer)).toBeGreaterThan(0)
  })

  /**
   * Opens every page by its hash. The frame around the content is the same on all, and is checked on the first. The
   * colours come from one theme, and their contrast is checked on the pages that use most of them.
   */
  async function findProblems({ page }: Visitor, base: string, pages: Pages): Promise<object[]> {
    const found: object[] = []
    for (const [path, heading, tab] of pages) {
      await page.goto(`${shop.url}${base}#${path}`)
      await shown(page.locator('#content h1', { hasText: heading }))
      if (tab !== undefined) await page.locator(`.tabs a[aria-current="page"][href="#${tab}"]`).waitFor()
      await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
      const scope = path === '/' ? {} : { selector: '#content' }
      const barriers = await findBarriers(page, { ...scope, contrast: colourful.includes(path) })
      const [fits, sameFiles] = [await fitsWidth(page), await findSameFiles(page)]
      if (barriers.length > 0 || sameFiles.length > 0 || !fits) found.push({ path, barriers, sameFiles, fits })
    }
    return found
  }

  test('all 16 customer pages, in Russian, dark, on a phone, are accessible, fit 360 pixels and log no error', async () => {
    expect(await findProblems(customer, '/', ofCustomers)).toEqual([])
    await customer.expectQuiet()
  })

  test('the overview shows what all VPN devices have used, and an operator sees the traffic of a young shop', async () => {
    await customer.page.goto(`${shop.url}/#/`)
    await shown(customer.page.locator('.figure', { hasText: 'Израсходовано трафика VPN' }).getByText(/4,57\sГБ/))
    await operator.page.goto(`${shop.url}/operator#/`)
    const traffic = operator.page.locator('.figure', { hasText: 'Traffic in 30 days' })
    await shown(traffic)
    expect(await traffic.innerText()).toMatch(/\d [kMG]?B/)
  })

  test('all operator pages, light, on a desktop, are accessible, fit the window and log no error', async () => {
    expect(await findProblems(operator, '/operator', ofOperators)).toEqual([])
    await operator.expectQuiet()
  })

  test('a reload keeps the chosen language and colour scheme, and a purchase needs only the keyboard', async () => {
    const { page } = customer
    expect(await page.locator('html').getAttribute('lang')).toBe('ru')
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
    await page.setViewportSize({ width: 1280, height: 720 })
    await page.getByRole('button', { name: 'English' }).click()
    await page.getByRole('button', { name: 'Switch to light' }).click()
    await page.goto(`${shop.url}/#/dedicated/buy`)
    await page.reload()
    await shown(page.getByRole('heading', { name: 'Buy dedicated proxies' }))
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('light')
    await page.getByRole('radio', { name: /IPv4 shared/ }).waitFor()
    await page.locator('body').press('Tab')
    await page.getByRole('link', { name: 'Skip to the content' }).press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.type')).toBe('radio')
    await page.keyboard.press('ArrowRight')
    expect(await page.getByRole('radio', { name: /IPv4 shared/ }).isChecked()).toBe(true)
    await page.getByRole('button', { name: /^Buy for ₽5/ }).press('Enter')
    await page.getByRole('heading', { name: 'Your proxies are ready' }).waitFor()
    await customer.expectQuiet()
  })

  describe('the API description', () => {
    let docs: Visitor
    let page: Page
    beforeAll(async () => {
      docs = await openVisitor(browser, shop.url)
      docs.allow(/status of 401/)
      page = docs.page
      await page.goto(`${shop.url}/docs#getOrder`)
      await shown(sectionOf('getOrder'))
    })
    // `css:light` skips the search for shadow roots in each element of this long page, which has none.
    const sectionOf = (id: string): Locator => page.locator(`css:light=section[aria-labelledby="${id}"]`)
    const curlOf = (id: string): Locator => sectionOf(id).locator('pre.curl')
    async function send(id: string): Promise<{ status: string; text: string }> {
      const section = sectionOf(id)
      await section.getByRole('button', { name: 'Send' }).click()
      return {
        status: await section.locator('.outcome .status').innerText(),
        text: await section.locator('.outcome pre').innerText(),
      }
    }

    test('the docs page opens at the linked operation, and a wrong token gets 401', async () => {
      expect(
        await page.evaluate(`(() => {
          const { top } = document.getElementById('getOrder').getBoundingClientRect()
          return top >= 0 && top <= innerHeight
        })()`),
      ).toBe(true)
      await page.getByLabel('API token', { exact: true }).fill('tp_live_nobody')
      const { status, text } = await send('getBalance')
      expect(status).toStartWith('401')
      expect(JSON.parse(text)).toMatchObject({ ok: false, error: { code: 'invalid_token' } })
    })

    test('Send on the docs page shows the balance, stores nothing, and Copy copies curl without the token', async () => {
      await page.getByLabel('API token', { exact: true }).fill(shop.token)
      const { status, text } = await send('getBalance')
      expect(status).toStartWith('200')
      expect(JSON.parse(text).data).toEqual((await shop.get('/balance')).data)
      const command = `curl '${shop.url}/api/v1/balance' \\\n  -H "Authorization: Bearer $TOKEN"`
      expect(await curlOf('getBalance').textContent()).toBe(command)
      await sectionOf('getBalance').getByRole('button', { name: 'Copy' }).click()
      await sectionOf('getBalance').getByRole('button', { name: 'Copied' }).waitFor()
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command)
      expect(await page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(0)
      expect(await page.content()).not.toContain(shop.token)
    })

    test('a purchase on the docs page has a key of 32 digits, and its ids are filled into other operations', async () => {
      const key = await sectionOf('buyDedicated').getByLabel('Idempotency-Key').inputValue()
      expect(key).toMatch(/^[0-9a-f]{32}$/)
      expect(await curlOf('buyDedicated').textContent()).toContain(`Idempotency-Key: ${key}`)
      const { text } = await send('buyDedicated')
      const { data } = JSON.parse(text) as { data: { order_id: string; proxies: { id: number }[] } }
      expect(await sectionOf('getOrder').getByLabel('order_id').inputValue()).toBe(data.order_id)
      const body = await sectionOf('prolongDedicated').getByLabel('Body').inputValue()
      expect(JSON.parse(body)).toEqual({ ids: [data.proxies[0]?.id], period: 30 })
      await docs.expectQuiet()
    })

    test('the docs search finds operations by path and field with the keyboard alone, and Escape lists all again', async () => {
      const items = page.locator('css:light=#docs-list li:not([hidden])')
      const all = await items.count()
      await page.locator('css:light=h1').click()
      await page.keyboard.press('/')
      await page.keyboard.type('GET vpn/CONFIG')
      expect(await items.locator('css:light=code').allInnerTexts()).toEqual(['/vpn/config'])
      await page.keyboard.press('Enter')
      expect(page.url()).toBe(`${shop.url}/docs#getVpnConfig`)
      expect(await page.evaluate('document.activeElement.id')).toBe('getVpnConfig')
      await page.keyboard.press('Control+KeyK')
      await page.keyboard.type('idempotency-key')
      expect(await page.locator('css:light=#docs-menu [role=status]').innerText()).toMatch(/^\d+ found$/)
      expect(await items.locator('css:light=.method').allInnerTexts()).not.toContain('GET')
      await page.keyboard.press('Escape')
      expect(await items.count()).toBe(all)
      await page.keyboard.type('kopecks')
      await shown(page.locator('css:light=#docs-pages a').first())
      const pages = page.locator('css:light=#docs-pages a')
      expect(await pages.allInnerTexts()).toEqual(['Rounding'])
      await page.keyboard.press('Escape')
      expect(await pages.count()).toBe(0)
    })

    test('a Russian browser gets /docs in Russian and can switch, and no message of a script lacks its translation', async () => {
      const visitor = await openVisitor(browser, shop.url, { locale: 'ru-RU' })
      await visitor.page.goto(`${shop.url}/docs`)
      const first = (selector: string) => visitor.page.locator(`css:light=${selector}`).first()
      await shown(first('html[lang=ru] .send'))
      expect(await first('.send').textContent()).toBe('Отправить')
      expect(await first('label[for=docs-token]').innerText()).toBe('Токен API')
      expect(await first('[type=search]').getAttribute('aria-label')).toBe('Поиск операций')
      expect(await first('#getBalance').textContent()).toBe('Узнать баланс')
      expect(await visitor.page.locator('css:light=#docs-list h2').allTextContents()).toContain('Счёт')
      expect(await first('.panel pre').textContent()).toContain(`"message": "${ru.token_missing}"`)
      expect(await first('.links a[hreflang=en]').getAttribute('href')).toBe('?lang=en')
      await first('.links a[href="/docs/errors?lang=ru"]').click()
      await shown(visitor.page.getByRole('heading', { level: 1, name: 'Отказы' }))
      await visitor.page.getByRole('link', { name: 'In English' }).click()
      await shown(visitor.page.getByRole('heading', { level: 1, name: 'Refusals' }))
      await visitor.expectQuiet()
      await visitor.context.close()
      const sources = await Promise.all(
        docsPaths.filter((path) => path.endsWith('.js')).map((path) => readDocs(path, 'ru')),
      )
      const script = sources.map(({ body }) => body).join('')
      const used = [...script.matchAll(/say\(\s*(?:[^'()]*\? )?('[^']+')(?: : ('[^']+'))?/g)].flatMap(
        ([, ...each]) => each,
      )
      const keys = new Set(
        [...script.matchAll(/^ {2}(?:'([^']+)'|(\w+)):\s/gm)].map(([, quoted, bare]) => quoted ?? bare),
      )
      const missing = used.filter((each) => each !== undefined && !keys.has(each.slice(1, -1)))
      expect([used.length > 60, missing]).toEqual([true, []])
    })

    test('the errors page fits 360 pixels, and the CSP of every docs page forbids foreign and inline code', async () => {
      await page.setViewportSize({ width: 360, height: 740 })
      await page.locator('.links a[href="/docs/errors?lang=en"]').click()
      await page.waitForURL(`${shop.url}/docs/errors?lang=en`)
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Refusals')
      expect(await page.locator('main').innerText()).toContain('idempotency_key_reused')
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
      for (const path of docsPaths) {
        const response = await fetch(shop.url + path)
        const policy = response.headers.get('content-security-policy') ?? ''
        expect([path, response.status]).toEqual([path, 200])
        expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
        expect(policy).not.toContain('unsafe')
      }
      await docs.expectQuiet()
    })
  })

  test('the secret page of a VPN subscription shows a square QR code and its devices on a phone', async () => {
    const { data } = await shop.get('/vpn/info')
    const visitor = await openVisitor(browser, shop.url, { viewport: { width: 390, height: 844 } })
    const { page } = visitor
    visitor.allow(/favicon/)
    await page.goto(data.subscription_url)
    const [first, second] = data.devices as readonly { name: string }[]
    const heading = page.getByRole('heading', { level: 1 })
    expect(await heading.innerText()).toBe(first?.name ?? '')
    expect(await page.getByRole('img').count()).toBe(0)
    await page.getByRole('link', { name: 'Show the WireGuard code' }).click()
    const qr = await page.getByRole('img', { name: 'QR code of the configuration' }).boundingBox()
    expect(qr?.width).toBeGreaterThan(250)
    expect(Math.abs((qr?.width ?? 0) - (qr?.height ?? 0))).toBeLessThan(40)
    // The style is applied, so its hash in the Content-Security-Policy is right.
    expect(await page.evaluate('getComputedStyle(document.querySelector("ul")).listStyleType')).toBe('none')
    expect(await fitsWidth(page)).toBe(true)
    await page.getByRole('link', { name: second?.name ?? '' }).click()
    expect(await heading.innerText()).toBe(second?.name ?? '')
    await visitor.expectQuiet()
  })
})
