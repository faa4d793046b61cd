import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Service } from '../../test/harness/service.ts'

type Scene = { readonly name: string; readonly path: string; readonly prepare?: (page: Page) => Promise<unknown> }

/** What the console has, as its reader sees it. */
const scenes: readonly Scene[] = [
  { name: 'sign-in', path: '' },
  { name: 'overview', path: '#/' },
  { name: 'dedicated', path: '#/dedicated' },
  { name: 'dedicated-buy', path: '#/dedicated/buy' },
  { name: 'dedicated-proxy', path: '#/dedicated/1' },
  { name: 'premium', path: '#/premium' },
  { name: 'premium-generate', path: '#/premium/generate' },
  { name: 'premium-access', path: '#/premium/access' },
  { name: 'premium-usage', path: '#/premium/usage' },
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
  { name: 'orders', path: '#/orders' },
  { name: 'money', path: '#/money' },
  { name: 'api', path: '#/api' },
]

const widths = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 860 } } as const
const languages = { ru: 'ru-RU', en: 'en-US' } as const

type Deps = {
  readonly shop: Service
  readonly browser: Browser
  /** Only scenes whose pictures' names hold one of these; all of them when there is none. */
  readonly names: readonly string[]
  readonly write: (name: string, png: Buffer) => Promise<unknown>
}

/** Signs in as the shop's own customer. */
async function enter(context: BrowserContext, { url, token }: Service): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.getByRole('textbox').fill(token)
  await page.keyboard.press('Enter')
  await page.locator('#content').waitFor()
  return page
}

/** Until nothing is on its way and nothing is left blank. */
async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
}

export async function takePictures({ shop, browser, names, write }: Deps): Promise<void> {
  const isWanted = (name: string) => names.length === 0 || names.some((each) => name.includes(each))
  for (const [language, locale] of Object.entries(languages)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const [width, viewport] of Object.entries(widths)) {
        const ending = `${language}-${colorScheme}-${width}`
        const wanted = scenes.filter(({ name }) => isWanted(`${name}-${ending}`))
        if (wanted.length === 0) continue
        const isPhone = width === 'phone'
        const context = await browser.newContext({
          locale,
          colorScheme,
          viewport,
          isMobile: isPhone,
          hasTouch: isPhone,
          reducedMotion: 'reduce',
        })
        const outside = await context.newPage()
        if (wanted.some(({ name }) => name === 'sign-in')) {
          await outside.goto(shop.url)
          await settle(outside)
          await write(`sign-in-${ending}`, await outside.screenshot())
        }
        const page = await enter(context, shop)
        for (const { name, path, prepare } of wanted) {
          if (path === '') continue
          await page.goto(`${shop.url}/${path}`)
          await settle(page)
          await prepare?.(page)
          await settle(page)
          await write(`${name}-${ending}`, await page.screenshot({ fullPage: prepare === undefined }))
        }
        await context.close()
      }
    }
  }
}
