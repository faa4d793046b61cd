import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { startShopWithHistory } from '../harness/console-shop.ts'
import { enginesOf } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import type { Service } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, fitsWidth, openVisitor, type Visitor } from './visitor.ts'

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
  '/verify',
  '/audit',
  '/operators',
  '/account',
]
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }
const maxBytes = 250_000

describe.each([...enginesOf('sqlite')])('pages of the console on %s', (engine) => {
  let shop: Service
  let browser: Browser
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startShopWithHistory(engine), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await shop.stop()
  })

  const settled = async (page: Page) => {
    await page.locator('#content h1').waitFor()
    await page.waitForLoadState('networkidle')
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

  /** Every page in one view; a long run has both parts in each view. */
  const views = [
    ['customer', '360 px, dark, in Russian', { ...phone, colorScheme: 'dark', locale: 'ru-RU' }],
    ['operator', 'desktop width, light', { colorScheme: 'light' }],
    ...(isLong
      ? ([
          ['customer', 'desktop width, light', { colorScheme: 'light' }],
          ['operator', '360 px, dark, in Russian', { ...phone, colorScheme: 'dark', locale: 'ru-RU' }],
        ] as const)
      : []),
  ] as const

  for (const [part, width, options] of views) {
    test(`all ${part} pages at ${width} are accessible, fit the window and send no request to another host`, async () => {
      const { base, paths, link } = parts[part]
      await visit(await link(), options, async ({ page }) => {
        const found: object[] = []
        for (const path of paths) {
          await page.goto(`${shop.url}${base}#${path}`)
          await settled(page)
          const [barriers, fits] = [await findBarriers(page), await fitsWidth(page)]
          if (barriers.length > 0 || !fits) found.push({ path, barriers, fits })
        }
        expect(found).toEqual([])
      })
    })
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
