import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { startShopWithHistory } from '../harness/console-shop.ts'
import type { Service } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import {
  findAllBarriers,
  findCutOff,
  findUntranslated,
  fitsWidth,
  openVisitor,
  shown,
  type Visitor,
} from './visitor.ts'

const looks = (['en-US', 'ru-RU'] as const).flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    ([390, 1440] as const).map((width) => ({ locale, colorScheme, width })),
  ),
)
type Look = (typeof looks)[number]

const texts = { 'en-US': 'Works on Sunday from 3 to 4.', 'ru-RU': 'Работы в воскресенье с 3 до 4.' }

/** What operators see of the business, and announce, in both languages and schemes at 390 and 1440 px. In order. */
describe('the business in the console', () => {
  let shop: Service
  let browser: Browser
  let operators = 0
  beforeAll(async () => {
    const env = { TURNPIKE_FRONT: 'on' }
    ;[shop, browser] = await Promise.all([startShopWithHistory('sqlite', env), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  const openAs = ({ locale, colorScheme, width }: Look): Promise<Visitor> =>
    openVisitor(browser, shop.url, { locale, colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } })

  async function openOperator(look: Look): Promise<Visitor> {
    const visitor = await openAs(look)
    await visitor.page.goto(await operatorLink(shop, `business-${(operators += 1)}`, 'owner'))
    await shown(visitor.page.locator('#content h1'))
    return visitor
  }

  /** Opens a page of the operator's console, waits for what it is for, and returns what is wrong with its look. */
  async function lookAt(page: Page, path: string, locale: string, wait: () => Promise<unknown>): Promise<string[]> {
    await page.goto(`${shop.url}/operator#${path}`)
    await wait()
    await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
    return problemsOf(page, locale)
  }

  const problemsOf = async (page: Page, locale: string): Promise<string[]> => [
    ...(await findAllBarriers(page)),
    ...(await findCutOff(page)),
    ...(await findUntranslated(page, locale)),
    ...((await fitsWidth(page)) ? [] : ['the page scrolls sideways']),
  ]

  for (const each of looks) {
    const { locale, colorScheme, width } = each
    const say = (en: string, ru: string) => (locale === 'ru-RU' ? ru : en)

    test(`map, comparison, what is about to happen, activity and bookkeeping at ${width} px, ${colorScheme}, ${locale}`, async () => {
      const visitor = await openOperator(each)
      const { page } = visitor
      const found = {
        map: await lookAt(page, '/network', locale, async () => {
          const map = page.locator('svg.map')
          await shown(map)
          expect(await map.getAttribute('aria-label')).toMatch(say('Countries with proxies', 'Стран с прокси'))
          expect(await map.locator('.tile').count()).toBeGreaterThan(150)
          expect(await map.locator('.tile-held').count()).toBe(3)
        }),
        overview: await lookAt(page, '/', locale, async () => {
          await shown(page.getByText(say('New customers in 30 days', 'Новых покупателей за 30 дней')))
          await shown(page.getByText(/the 30 days before|за 30 дней до этого/).first())
          await shown(page.getByRole('heading', { name: say('The next 14 days', 'Следующие 14 дней') }))
          await shown(page.getByText(/(\d+ services renew automatically, \d+ end)|(Продлятся сами: \d+)/).first())
        }),
        activity: await lookAt(page, '/activity', locale, async () => {
          await shown(page.getByRole('table').getByText(say('Purchase', 'Покупка')).first())
        }),
        reports: await lookAt(page, '/reports', locale, () =>
          shown(page.getByRole('heading', { name: say('Payments for bookkeeping', 'Платежи для бухгалтерии') })),
        ),
      }
      expect(found).toEqual({ map: [], overview: [], activity: [], reports: [] })
      const saving = page.waitForEvent('download')
      await page.getByRole('button', { name: say('CSV: payments', 'CSV: платежи') }).click()
      const lines = (await Bun.file(await (await saving).path()).text()).trim().split('\r\n')
      expect(lines[0]).toContain('payment_id')
      expect(lines.length).toBeGreaterThan(2)
      await shown(page.getByText(say(`Rows: ${lines.length - 1}`, `Строк: ${lines.length - 1}`)))
      await visitor.expectQuiet()
      await visitor.context.close()
    })
  }

  for (const each of looks) {
    const { locale, colorScheme, width } = each
    test(`the list of proxies draws the traffic of 31 days at ${width} px, ${colorScheme}, ${locale}`, async () => {
      const visitor = await openAs(each)
      const { page } = visitor
      await page.goto(await customerLink(shop, shop.token))
      await shown(page.locator('#content h1'))
      await page.goto(`${shop.url}/#/dedicated`)
      const charts = page.locator('svg.days')
      // A narrow list has no room for them: the page of a proxy shows its own.
      if (width < 1000) await charts.first().waitFor({ state: 'attached' })
      else await shown(charts.first())
      const labels = await charts.evaluateAll((all: { getAttribute(name: string): string | null }[]) =>
        all.map((one) => one.getAttribute('aria-label')),
      )
      const unused = locale === 'ru-RU' ? 'За 31 день трафика нет' : 'No traffic in 31 days'
      const used = locale === 'ru-RU' ? /^Трафик по дням, больше всего \d/ : /^Traffic by day, at most \d/
      expect(labels.length).toBeGreaterThan(8)
      expect(labels.filter((label) => label === unused)).toHaveLength(1)
      expect(labels.filter((label) => used.test(label ?? ''))).toHaveLength(labels.length - 1)
      expect(await problemsOf(page, locale)).toEqual([])
      await page.locator('tr[aria-rowindex="3"] a').click()
      await page.locator('tr[aria-rowindex]').first().waitFor({ state: 'detached' })
      await shown(page.locator('svg.days'))
      expect(await problemsOf(page, locale)).toEqual([])
      await visitor.expectQuiet()
      await visitor.context.close()
    })
  }

  test('an announcement for an hour is announced by the owner and is not shown before its time', async () => {
    const visitor = await openOperator({ locale: 'en-US', colorScheme: 'light', width: 1440 })
    const { page } = visitor
    const field = (laterMs: number) => new Date(shop.clock.nowMs + laterMs).toISOString().slice(0, 16)
    await page.goto(`${shop.url}/operator#/mailings`)
    await page.getByLabel('Text in English').fill(texts['en-US'])
    await page.getByLabel('Text in Russian').fill(texts['ru-RU'])
    await page.getByLabel('From (UTC)').fill(field(120_000))
    await page.getByLabel('Until (UTC)').fill(field(3_600_000))
    await page.getByRole('button', { name: 'Announce', exact: true }).click()
    await shown(page.getByText('Saved. Pages that are open show it after a reload.'))
    await shown(page.getByText('Not shown now'))
    expect((await (await fetch(`${shop.url}/?lang=en`)).text()).includes(texts['en-US'])).toBe(false)
    await visitor.expectQuiet()
    await visitor.context.close()
    shop.clock.nowMs += 180_000
  })

  for (const each of looks) {
    const { locale, colorScheme, width } = each
    test(`the announcement is on a customer's and a visitor's page at ${width} px, ${colorScheme}, ${locale}`, async () => {
      const found: string[] = []
      const customer = await openAs(each)
      await customer.page.goto(await customerLink(shop, shop.token))
      await shown(customer.page.getByRole('status').filter({ hasText: texts[locale] }))
      found.push(...(await problemsOf(customer.page, locale)))
      const visitor = await openAs(each)
      await visitor.page.goto(shop.url)
      await shown(visitor.page.locator('.announced', { hasText: texts[locale] }))
      found.push(...(await problemsOf(visitor.page, locale)))
      expect(found).toEqual([])
      for (const one of [customer, visitor]) {
        await one.expectQuiet()
        await one.context.close()
      }
    })
  }

  test('an announcement that is over is on no page', async () => {
    shop.clock.nowMs += 3_600_000
    expect((await (await fetch(`${shop.url}/?lang=ru`)).text()).includes(texts['ru-RU'])).toBe(false)
    const customer = await openAs({ locale: 'ru-RU', colorScheme: 'dark', width: 390 })
    await customer.page.goto(await customerLink(shop, shop.token))
    await shown(customer.page.locator('#content h1'))
    expect(await customer.page.getByText(texts['ru-RU']).count()).toBe(0)
    await customer.context.close()
  })
})
