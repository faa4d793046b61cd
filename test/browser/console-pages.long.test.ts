import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { startShopWithHistory } from '../harness/console-shop.ts'
import type { Service } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import {
  findAllBarriers,
  findCutOff,
  findUnreached,
  findUntranslated,
  fitsWidth,
  openVisitor,
  type Visitor,
} from './visitor.ts'

const ofCustomers = [
  '/',
  '/dedicated',
  '/dedicated/buy',
  '/dedicated/1',
  '/premium',
  '/premium/generate',
  '/premium/access',
  '/premium/usage',
  '/premium/subusers',
  '/vpn',
  '/orders',
  '/money',
  '/events',
  '/api',
  '/account',
  '/nowhere',
]
const ofOperators = [
  '/',
  '/activity',
  '/orders',
  '/customers',
  '/payments',
  '/payments/codes',
  '/payments/providers',
  '/reports',
  '/proxies/1',
  '/abuse',
  '/stock',
  '/prices',
  '/network',
  '/network/stock-gateway',
  '/search',
  '/setup',
  '/alerts',
  '/mailings',
  '/verify',
  '/audit',
  '/operators',
  '/account',
]
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }
const maxBytes = 200_000

describe('pages of the console', () => {
  let shop: Service
  let browser: Browser
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startShopWithHistory('sqlite'), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await shop.stop()
  })

  const settled = async (page: Page) => {
    await page.locator('#content h1').waitFor()
    // The feed always has a request that waits for news.
    if (!page.url().includes('#/activity')) await page.waitForLoadState('networkidle')
    await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
  }

  async function visit(link: string, options: BrowserContextOptions, work: (visitor: Visitor) => Promise<void>) {
    const visitor = await openVisitor(browser, shop.url, options)
    await visitor.page.goto(link)
    await settled(visitor.page)
    await work(visitor)
    await visitor.expectQuiet()
    await visitor.context.close()
  }

  let operators = 0
  const parts = {
    customer: { base: '/', paths: ofCustomers, link: () => customerLink(shop, shop.token) },
    operator: {
      base: '/operator',
      paths: ofOperators,
      link: () => operatorLink(shop, `looker-${(operators += 1)}`, 'owner'),
    },
  }

  const widths = { '360 px': phone, '1280 px': { viewport: { width: 1280, height: 860 } } } as const

  /** A window of 1280 px has 640 CSS pixels at 200 % zoom, and 320 at 400 % (WCAG 1.4.10). */
  async function findZoomed(page: Page): Promise<string[]> {
    const size = page.viewportSize() ?? { width: 1280, height: 860 }
    const found: string[] = []
    for (const width of [size.width, 640, 320]) {
      await page.setViewportSize({ width, height: size.height })
      if (!(await fitsWidth(page))) found.push(`${width} px: the page scrolls sideways`)
      found.push(...(await findCutOff(page)).map((each) => `${width} px: cut off: ${each}`))
    }
    await page.setViewportSize(size)
    return found
  }

  for (const part of ['customer', 'operator'] as const) {
    for (const locale of ['ru-RU', 'en-US']) {
      for (const [width, options] of Object.entries(widths)) {
        test(`all ${part} pages in ${locale} at ${width}, light and dark: axe finds nothing, targets have 24 px, the keyboard reaches all, nothing is cut off at 200 %`, async () => {
          const { base, paths, link } = parts[part]
          await visit(await link(), { ...options, locale }, async ({ page }) => {
            const found: object[] = []
            for (const path of paths) {
              await page.emulateMedia({ colorScheme: 'light' })
              await page.goto(`${shop.url}${base}#${path}`)
              await settled(page)
              const problems = [
                ...(await findAllBarriers(page)),
                ...(await findZoomed(page)),
                ...(await findUntranslated(page, locale)),
                // The order of Tab is the same in both languages.
                ...(locale === 'en-US' ? await findUnreached(page) : []),
              ]
              await page.emulateMedia({ colorScheme: 'dark' })
              await page.locator('html[data-mantine-color-scheme=dark]').waitFor()
              problems.push(
                ...(await findAllBarriers(page, { only: ['color-contrast'] })).map((each) => `dark: ${each}`),
              )
              if (problems.length > 0) found.push({ path, problems })
            }
            expect(found).toEqual([])
          })
        })
      }
    }
  }

  test("the first load of each part is below 250 kB and leaves out the other part's files", async () => {
    const loaded = { customer: new Map<string, number>(), operator: new Map<string, number>() }
    for (const part of ['customer', 'operator'] as const) {
      const visitor = await openVisitor(browser, shop.url)
      const sizes: Promise<void>[] = []
      visitor.page.on('requestfinished', (request) => {
        if (!/\/console\/|\/(?:operator)?(?:#|$)/.test(request.url())) return
        sizes.push(
          request
            .sizes()
            .then((size) => void loaded[part].set(request.url(), size.responseBodySize + size.responseHeadersSize)),
        )
      })
      await visitor.page.goto(await parts[part].link())
      await settled(visitor.page)
      await Promise.all(sizes)
      await visitor.context.close()
      const sum = [...loaded[part].values()].reduce((all, each) => all + each, 0)
      expect(sum).toBeGreaterThan(100_000)
      expect(sum).toBeLessThan(maxBytes)
    }
    const own = [...loaded.operator.keys()].filter((url) => url.includes('/console/') && !loaded.customer.has(url))
    expect(own.length).toBeGreaterThan(0)
    expect([...loaded.customer.keys()].some((url) => !loaded.operator.has(url) && url.includes('/console/'))).toBe(true)
  })

  test("the console follows the browser's language and colour scheme, and a reload keeps the chosen ones", async () => {
    await visit(await customerLink(shop, shop.token), { locale: 'ru-RU', colorScheme: 'dark' }, async ({ page }) => {
      await page.getByRole('heading', { name: 'Обзор' }).waitFor()
      expect(await page.locator('html').getAttribute('lang')).toBe('ru')
      expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('dark')
      await page.getByRole('button', { name: 'English' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await page.getByRole('button', { name: 'Switch to light' }).click()
      await page.reload()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      expect(await page.locator('html').getAttribute('lang')).toBe('en')
      expect(await page.locator('html').getAttribute('data-mantine-color-scheme')).toBe('light')
    })
  })

  test('a purchase needs only the keyboard', async () => {
    await visit(await customerLink(shop, shop.token), {}, async ({ page }) => {
      await page.goto(`${shop.url}/#/dedicated/buy`)
      await settled(page)
      await page.locator('body').press('Tab')
      await page.getByRole('link', { name: 'Skip to the content' }).press('Enter')
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.type')).toBe('radio')
      await page.keyboard.press('ArrowRight')
      expect(await page.getByRole('radio', { name: /IPv4 shared/ }).isChecked()).toBe(true)
      await page.getByRole('button', { name: /^Buy for ₽5/ }).waitFor()
      await page.getByRole('button', { name: /^Buy for/ }).press('Enter')
      await page.getByRole('heading', { name: 'Your proxies are ready' }).waitFor()
    })
  })
})
