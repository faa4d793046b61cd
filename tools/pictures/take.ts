import type { Browser, BrowserContext, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../../test/harness/console-links.ts'
import type { Service } from '../../test/harness/service.ts'

type Scene = {
  readonly name: string
  readonly path: string
  readonly prepare?: (page: Page, shop: Service) => Promise<unknown>
}

const dayMs = 86_400_000

/** Pages of the customer's console. */
const ofCustomers: readonly Scene[] = [
  { name: 'overview', path: '#/' },
  { name: 'dedicated', path: '#/dedicated' },
  { name: 'dedicated-buy', path: '#/dedicated/buy' },
  { name: 'dedicated-proxy', path: '#/dedicated/1' },
  { name: 'premium', path: '#/premium' },
  { name: 'premium-generate', path: '#/premium/generate' },
  { name: 'premium-access', path: '#/premium/access' },
  { name: 'premium-usage', path: '#/premium/usage' },
  { name: 'premium-subusers', path: '#/premium/subusers' },
  {
    name: 'premium-subuser',
    path: '#/premium/subusers',
    prepare: (page) => page.getByRole('table').getByRole('link').last().click(),
  },
  { name: 'vpn', path: '#/vpn' },
  {
    name: 'vpn-setup',
    path: '#/vpn',
    prepare: (page) =>
      page
        .getByRole('button', { name: /^(Set up|Настроить)/ })
        .first()
        .click(),
  },
  {
    name: 'bought-dedicated',
    path: '#/dedicated/buy',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Buy for|Купить за)/ }).click()
      await page.locator('pre').first().waitFor()
    },
  },
  {
    name: 'bought-vpn',
    path: '#/vpn',
    prepare: (page) => page.getByRole('button', { name: /^(Buy for|Купить за)/ }).click(),
  },
  {
    name: 'bought-traffic',
    path: '#/premium',
    prepare: (page) => page.getByRole('button', { name: /^(Buy for|Купить за)/ }).click(),
  },
  {
    name: 'bought-term',
    path: '#/dedicated/1',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Prolong|Продлить)$/ }).click()
      await page.getByRole('button', { name: /^(Prolong for|Продлить за)/ }).click()
    },
  },
  { name: 'orders', path: '#/orders' },
  { name: 'money', path: '#/money' },
  {
    name: 'money-code',
    path: '#/money',
    prepare: async (page) => {
      await page.getByLabel(/^(Promo code|Промокод)/).fill('GIFT')
      await page.getByRole('alert').waitFor()
    },
  },
  { name: 'events', path: '#/events' },
  { name: 'api', path: '#/api' },
  { name: 'account', path: '#/account' },
  {
    name: 'refused',
    path: '#/premium/access',
    prepare: async (page) => {
      await page.locator('form input').first().fill('not an address')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
    },
  },
]

/** Pages of the operator's console. */
const ofOperators: readonly Scene[] = [
  { name: 'operator-overview', path: '#/' },
  { name: 'operator-activity', path: '#/activity' },
  { name: 'operator-orders', path: '#/orders' },
  { name: 'operator-customers', path: '#/customers' },
  {
    name: 'operator-customer',
    path: '#/customers',
    prepare: (page) => page.getByRole('table').getByRole('link').first().click(),
  },
  {
    name: 'operator-note',
    path: '#/customers',
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('button', { name: /^(Note|Заметка)$/ }).click()
      await page.getByRole('dialog').getByRole('textbox').fill('Pays by invoice')
      await page.getByRole('dialog').locator('button[type=submit]').click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    },
  },
  {
    name: 'operator-order',
    path: '#/customers',
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.locator('a[href^="#/orders/"]').nth(1).click()
    },
  },
  { name: 'operator-proxy', path: '#/proxies/1' },
  {
    name: 'operator-vpn',
    path: '#/customers',
    prepare: async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.locator('a[href^="#/vpn/"]').first().click()
    },
  },
  {
    name: 'operator-abuse',
    path: '#/abuse',
    prepare: async (page, shop) => {
      const { data } = (await shop.get('/dedicated/list')) as { data: { proxies: readonly { exit_ip: string }[] } }
      const [address, from, , reason] = await page.locator('form input').all()
      await address?.fill(data.proxies[0]?.exit_ip ?? '')
      await from?.fill(new Date(shop.clock.nowMs - dayMs).toISOString().slice(0, 16))
      await reason?.fill('Complaint 17')
      await page.keyboard.press('Enter')
      await page.getByRole('table').waitFor()
    },
  },
  {
    name: 'operator-stock',
    path: '#/stock',
    prepare: async (page) => {
      await page.locator('form input').fill('127.10.0.0/24')
      await page.keyboard.press('Enter')
    },
  },
  { name: 'operator-prices', path: '#/prices' },
  {
    name: 'operator-price-changes',
    path: '#/prices',
    prepare: async (page) => {
      await page.getByText('JSON', { exact: true }).click()
      const editor = page.locator('textarea')
      const text = await editor.inputValue()
      const dearer = text.replace('"1": 299', '"1": 319').replace('"per_gb": 320', '"per_gb": 310')
      await editor.fill(dearer.replace('"per_day": 6', '"per_day": 7'))
      await page.getByRole('button', { name: /^(Show changes|Показать изм)/ }).click()
      await page.locator('.changes').waitFor()
    },
  },
  { name: 'operator-network', path: '#/network' },
  { name: 'operator-node', path: '#/network/stock-gateway' },
  { name: 'operator-setup', path: '#/setup' },
  { name: 'operator-search', path: '#/search' },
  {
    name: 'operator-exit',
    path: '#/network',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Add an exit|Добавить выход)$/ }).click()
      await page.getByRole('dialog').locator('input').first().waitFor()
    },
  },
  {
    name: 'operator-verify',
    path: '#/verify',
    prepare: async (page) => {
      await page.locator('.actions button').click()
      await page.locator('.notice').waitFor()
    },
  },
  { name: 'operator-payments', path: '#/payments' },
  { name: 'operator-codes', path: '#/payments/codes' },
  {
    name: 'operator-code',
    path: '#/payments/codes',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^(Create a promo code|Создать промокод)$/ }).click()
      await page.getByRole('dialog').locator('input').first().waitFor()
    },
  },
  { name: 'operator-providers', path: '#/payments/providers' },
  { name: 'operator-reports', path: '#/reports' },
  { name: 'operator-audit', path: '#/audit' },
  { name: 'operator-operators', path: '#/operators' },
  { name: 'operator-account', path: '#/account' },
]

const widths = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 860 } } as const
const languages = { ru: 'ru-RU', en: 'en-US' } as const

type Deps = {
  readonly shop: Service
  readonly browser: Browser
  /** Takes only scenes whose names contain one of these; an empty list takes all. */
  readonly names: readonly string[]
  /** Takes the visible window in place of the whole page. */
  readonly isWindow: boolean
  readonly write: (name: string, png: Buffer) => Promise<unknown>
}

let operators = 0

async function enter(context: BrowserContext, link: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(link)
  await page.locator('#content').waitFor()
  return page
}

/** Waits until no request is open and no part of the page is blank. */
async function settle(page: Page): Promise<void> {
  // The feed always has a request that waits for news.
  if (!page.url().includes('#/activity')) await page.waitForLoadState('networkidle')
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
}

async function takeScene(
  page: Page,
  { shop, isWindow, write }: Deps,
  scene: Scene,
  base: string,
  ending: string,
): Promise<void> {
  await page.goto(`${base}${scene.path}`)
  await settle(page)
  await scene.prepare?.(page, shop)
  await settle(page)
  const isOver = (await page.getByRole('dialog').count()) > 0
  await write(`${scene.name}-${ending}`, await page.screenshot({ fullPage: !isWindow && !isOver }))
}

async function takeAll(context: BrowserContext, deps: Deps, ending: string): Promise<void> {
  const { shop, names, write } = deps
  const isWanted = ({ name }: { readonly name: string }) =>
    names.length === 0 || names.some((each) => `${name}-${ending}`.includes(each))
  if (isWanted({ name: 'sign-in' })) {
    const page = await context.newPage()
    await page.goto(shop.url)
    await settle(page)
    await write(`sign-in-${ending}`, await page.screenshot())
  }
  const forCustomers = ofCustomers.filter(isWanted)
  if (forCustomers.length > 0) {
    const page = await enter(context, await customerLink(shop, shop.token))
    for (const scene of forCustomers) await takeScene(page, deps, scene, `${shop.url}/`, ending)
  }
  const forOperators = ofOperators.filter(isWanted)
  if (forOperators.length > 0) {
    const page = await enter(context, await operatorLink(shop, `owner-${(operators += 1)}`, 'owner'))
    for (const scene of forOperators) await takeScene(page, deps, scene, `${shop.url}/operator`, ending)
  }
}

export async function takePictures(deps: Deps): Promise<void> {
  for (const [language, locale] of Object.entries(languages)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [width, viewport] of Object.entries(widths)) {
        const isPhone = width === 'phone'
        const context = await deps.browser.newContext({
          locale,
          colorScheme,
          viewport,
          isMobile: isPhone,
          hasTouch: isPhone,
          reducedMotion: 'reduce',
        })
        context.setDefaultTimeout(120_000)
        await takeAll(context, deps, `${language}-${colorScheme}-${width}`)
        await context.close()
      }
    }
  }
}
