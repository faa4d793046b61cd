import type { Browser, BrowserContext, Page } from 'playwright-core'
import { ofCustomers, ofOperators, type Scene } from '../../test/browser/scenes.ts'
import { customerLink, operatorLink } from '../../test/harness/console-links.ts'
import type { Service } from '../../test/harness/service.ts'

/** Pages without a session. */
const ofVisitors: readonly Scene[] = [
  { name: 'front', path: '/' },
  { name: 'sign-in', path: '/account' },
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
  await page.locator('h1').first().waitFor()
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
  for (const { name, path } of ofVisitors.filter(isWanted)) {
    const page = await context.newPage()
    await page.goto(`${shop.url}${path}`)
    await settle(page)
    await write(`${name}-${ending}`, await page.screenshot({ fullPage: !deps.isWindow }))
    await page.close()
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
