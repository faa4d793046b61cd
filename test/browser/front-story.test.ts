import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findAllBarriers, openVisitor, type Visitor } from './visitor.ts'

/** No letter is sent here: `visitor-purchase.test.ts` opens letters. */
const env = { TURNPIKE_FRONT: 'on', TURNPIKE_REGISTRATION: 'on', TURNPIKE_SMTP_URL: 'smtp://127.0.0.1:9' }

/** A visitor's way through the public page. Tests run in order. */
describe.each([...enginesOf('sqlite')])('front story on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let page: Page
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService(engine, env), openChromium()])
    visitor = await openVisitor(browser, shop.url, { viewport: { width: 390, height: 844 } })
    page = visitor.page
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  test('the calculator shows another price without a reload, and axe finds nothing at 390 pixels', async () => {
    await page.goto(shop.url)
    await page.getByLabel('Number').fill('12')
    await page.getByText('3 % from 10 pieces, 5 % from 30 days').last().waitFor()
    expect(page.url()).toBe(`${shop.url}/`)
    expect(await findAllBarriers(page)).toEqual([])
    const width = await page.evaluate<number>('document.documentElement.scrollWidth')
    expect(width).toBeLessThanOrEqual(390)
  })

  test('the table of prices shows all its columns at 390 pixels, in English and Russian', async () => {
    const heads = page.locator('#proxies thead th')
    for (const language of ['en', 'ru']) {
      await page.goto(`${shop.url}/?lang=${language}`)
      expect(await heads.filter({ visible: true }).count()).toBe(3)
      const cut =
        '(() => { const of = document.querySelector("#proxies .scroll"); return of.scrollWidth - of.clientWidth })()'
      expect([language, await page.evaluate<number>(cut)]).toEqual([language, 0])
    }
    await page.goto(shop.url)
  })

  test('the page is clean for axe in Russian, in dark and at 1440 pixels', async () => {
    await page.getByRole('link', { name: 'Русский' }).click()
    await page.getByRole('heading', { name: 'Калькулятор цены' }).waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 1440, height: 900 })
    expect(await findAllBarriers(page)).toEqual([])
  })

  test('the calculator answers on a page of its own without JavaScript', async () => {
    const plain = await openVisitor(browser, shop.url, { javaScriptEnabled: false })
    await plain.page.goto(`${shop.url}/?lang=en`)
    await plain.page.getByLabel('Country').selectOption('RU')
    await plain.page.getByLabel('Number').fill('100')
    await plain.page.getByRole('button', { name: 'Show the price' }).click()
    await plain.page.waitForURL(/country=RU/)
    await plain.page.getByText('10 % from 100 pieces, 5 % from 30 days').last().waitFor()
    await plain.context.close()
  })

  test('a press of Buy shows the order with its price and asks for an e-mail address, and axe finds nothing', async () => {
    await page.goto(`${shop.url}/?lang=en`)
    await page.getByLabel('Country').selectOption('RU')
    await page.locator('#result').getByRole('link', { name: 'Buy' }).click()
    await page.getByText('Private IPv4, Russia, 30 days').waitFor()
    await page.getByText('₽156.75').waitFor()
    await page.getByLabel('E-mail address').waitFor()
    await page.getByRole('link', { name: 'Русский' }).click()
    await page.getByText('Выделенный IPv4, Россия, 30 дн.').waitFor()
    await page.getByRole('link', { name: 'English' }).click()
    await page.getByText('Private IPv4, Russia, 30 days').waitFor()
    expect(await findAllBarriers(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await findAllBarriers(page)).toEqual([])
  })

  test('a browser that sends the e-mail address is asked to open the letter, with and without JavaScript', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const plain = await openVisitor(browser, shop.url, { javaScriptEnabled })
      await plain.page.goto(`${shop.url}/buy?lang=en&product=vpn&months=1`)
      await plain.page.getByLabel('E-mail address').fill('vera@example.com')
      await plain.page.getByRole('button', { name: 'Continue' }).click()
      await plain.page.getByRole('heading', { name: 'Open the letter' }).waitFor()
      await plain.context.close()
    }
  })

  test('sign-in is one press away, and a link of a letter opens the console', async () => {
    await page.goto(`${shop.url}/?lang=en`)
    await page.getByRole('link', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const other = await openVisitor(browser, shop.url)
    other.allow(/status of 40/)
    await other.page.goto(`${shop.url}/#enter=nothing`)
    await other.page.waitForURL(/\/account/)
    await other.context.close()
  })

  test('the pages logged no console error and sent no request to another host', () => visitor.expectQuiet())
})
