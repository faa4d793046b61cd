import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { kopecks } from '../../src/core/money.ts'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, fitsWidth, openVisitor, shown, type Visitor } from './visitor.ts'

/** A new customer's first purchase on a phone, and an operator of a sandbox who watches it. Tests run in order. */
describe.each([...enginesOf('sqlite')])('first hour story on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let operator: Visitor
  let page: Page
  let customer: Awaited<ReturnType<Service['newCustomer']>>
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService(engine), openChromium()])
    customer = await shop.newCustomer()
    visitor = await openVisitor(browser, shop.url, { viewport: { width: 390, height: 844 } })
    operator = await openVisitor(browser, shop.url, {
      viewport: { width: 1440, height: 900 },
      locale: 'ru-RU',
      colorScheme: 'dark',
    })
    page = visitor.page
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const done = (count: number) => shown(page.getByText(`${count} of 3 done`))

  test('a new customer sees three steps at 390 pixels, and the first ticks itself off with the money', async () => {
    await page.goto(await customerLink(shop, customer.token))
    await shown(page.getByRole('heading', { name: 'Your first steps' }))
    await done(0)
    expect(await page.locator('[aria-current=step]').innerText()).toContain('Top up the balance')
    expect([await findBarriers(page), await fitsWidth(page)]).toEqual([[], true])
    await shop.services.db.transact((tx) =>
      shop.services.ledger.credit(tx, customer.customer, kopecks(500_000n), 'operator', 'test'),
    )
    await page.reload()
    await done(1)
    expect(await page.locator('[aria-current=step]').innerText()).toContain('Buy your first service')
  })

  test('an empty page has a drawing and one button', async () => {
    await open('/dedicated')
    await shown(page.getByText('No proxies yet'))
    expect(await page.locator('.empty .drawing').count()).toBe(1)
    expect(await page.locator('.empty').getByRole('link').count()).toBe(1)
    await open('/orders')
    await shown(page.getByText('No orders yet'))
    expect(await page.locator('.empty').getByRole('link').count()).toBe(1)
    expect(await page.locator('.empty .drawing').count()).toBe(1)
  })

  test('an operator of a sandbox watches the first order arrive, in Russian, dark, at 1440 pixels', async () => {
    await operator.page.goto(await operatorLink(shop, 'watcher', 'owner'))
    await operator.page.getByRole('link', { name: 'Первая продажа' }).click()
    await shown(operator.page.getByText('Ждём заказ'))
    expect([await findBarriers(operator.page), await fitsWidth(operator.page)]).toEqual([[], true])
  })

  test('the result of a purchase has the lines, a check, a QR code and the text for each program', async () => {
    await open('/dedicated/buy')
    await page.getByRole('button', { name: /^Buy for ₽/ }).click()
    await shown(page.getByRole('heading', { name: 'Your proxies are ready' }))
    const { proxies } = (await shop.get('/dedicated/list', customer)).data
    const { ip, port, username, password } = proxies[0]
    const line = `${ip}:${port}:${username}:${password}`
    await shown(page.locator('pre', { hasText: line }))
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    // No gateway runs here, so the check fails, and says why.
    await shown(page.getByText('0 work, 1 do not.'))
    await shown(page.getByText('the gateway is not running'))
    for (const [program, text] of [
      ['Python', 'import requests'],
      ['Playwright', 'chromium.launch'],
      ['Firefox', 'FindProxyForURL'],
      ['phone', `http://${username}:${password}@${ip}:${port}`],
    ] as const) {
      await page.getByLabel('Copy for').selectOption(program)
      await shown(page.locator('pre', { hasText: text }))
    }
    await shown(page.getByRole('img', { name: 'QR code of the proxy URL' }))
    expect([await findBarriers(page), await fitsWidth(page)]).toEqual([[], true])
  })

  test('the order is on the operator’s page by itself', async () => {
    // The shop looks again when its answer is 2 s old.
    shop.clock.nowMs += 3_000
    await shown(operator.page.getByText('Пришёл заказ'))
    await operator.page.getByRole('link', { name: 'Открыть заказ' }).click()
    await shown(operator.page.getByRole('heading', { level: 1, name: 'Выделенные прокси' }))
  })

  test('premium traffic shows when a first connection has come, and then all three steps are done', async () => {
    await open('/premium')
    await page.getByRole('button', { name: /^Buy for ₽/ }).click()
    await shown(page.getByText('Waiting for the first connection'))
    await open('/')
    await done(2)
    await shown(page.getByText('Connect', { exact: true }))
    const { data } = await shop.get('/premium/password', customer)
    const of = { subuser: data.subuser.subuser_id, pool: 'residential' }
    const { metering } = shop.services.premium
    const lease = { ...of, turn: 1, want: 'lease' as const }
    await metering.takeReport({ node: 'first', boot: 'b', counts: [], leaseRequests: [lease] })
    const counts = [{ ...of, received: 5_000_000n, sent: 1_000_000n }]
    await metering.takeReport({ node: 'first', boot: 'b', counts, leaseRequests: [] })
    await page.reload()
    // Who has done all of them before the page was opened sees no steps.
    await shown(page.getByText('Spending', { exact: true }))
    expect(await page.getByText('Your first steps').count()).toBe(0)
    await open('/premium')
    await page.getByRole('button', { name: /^Buy for ₽/ }).click()
    await shown(page.getByText('Connected: it works'))
  })

  test('the pages logged no console error', async () => {
    await visitor.expectQuiet()
    await operator.expectQuiet()
  })
})
