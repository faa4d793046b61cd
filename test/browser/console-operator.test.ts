import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { Role } from '../../src/domains/operators/rules.ts'
import { operatorLink } from '../harness/console-links.ts'
import { engines } from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor, type Visitor } from './visitor.ts'

describe.each([...engines])('the console of an operator on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let made = 0
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService(engine), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await shop.stop()
  })
  afterEach(async () => {
    await visitor.expectQuiet()
    await visitor.context.close()
  })

  async function enterAs(role: Role): Promise<string> {
    made += 1
    const name = `${role}-${made}`
    visitor = await openVisitor(browser, shop.url)
    page = visitor.page
    await page.goto(await operatorLink(shop, name, role))
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    return name
  }
  const open = (path: string) => page.goto(`${shop.url}/operator#${path}`)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const dialog = () => page.getByRole('dialog')
  const submit = async () => {
    await dialog().locator('button[type=submit]').click()
    await dialog().waitFor({ state: 'detached' })
  }

  test('a customer is found, credited once, noted, blocked, let go on, and looked at without being changed', async () => {
    const name = await enterAs('owner')
    const { customer, token } = await shop.newCustomer(100n)
    await open('/customers')
    await page.getByLabel('Search').fill(customer)
    await page.locator(`a[href$="${customer}"]`).click()
    await press('Credit')
    await dialog().getByLabel('Amount').fill('250.5')
    await dialog().getByLabel('Note').fill('invoice 7')
    await dialog().locator('button[type=submit]').dblclick()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('₽350.50').first().waitFor()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(350.5)
    await press('Note')
    await dialog().getByLabel('Note').fill('pays by invoice')
    await submit()
    await page.getByText('pays by invoice').waitFor()
    await press('Block')
    await submit()
    await page.getByText('Blocked').first().waitFor()
    await press('Unblock')
    await submit()
    await page.getByText('Active').first().waitFor()

    await press('View as customer')
    await dialog().locator('button[type=submit]').click()
    const opening = visitor.context.waitForEvent('page')
    await dialog().getByRole('link', { name: 'Open the pages' }).click()
    const viewed = await opening
    await viewed.goto(`${shop.url}/#/dedicated/buy`)
    await viewed.getByText('You look at this customer’s pages as an operator').waitFor()
    await viewed.getByRole('button', { name: /^Buy for/ }).click()
    await viewed.getByRole('alert').waitFor()
    expect((await shop.get('/orders', { token })).data.orders).toEqual([])

    await open('/audit')
    await page.getByRole('table').waitFor()
    const log = await page.getByRole('table').innerText()
    expect(log).toContain(name)
    expect(log).toContain('invoice 7')
  })

  if (engine !== 'sqlite' && !isLong) return

  test('an order is told whole and refunded; who had an address is answered, and that it was asked is written down', async () => {
    await enterAs('owner')
    const { token, customer } = await shop.newCustomer(1_000n)
    const wish = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const { data } = await shop.post('/dedicated/buy', wish, { token })
    await open(`/orders/${data.order_id}`)
    await page.getByText('What was delivered').waitFor()
    await page.getByText(data.proxies[0].exit_ip).first().waitFor()
    await press('Refund')
    await dialog().getByLabel('Amount').fill('10')
    await submit()
    await page.getByRole('table', { name: 'Movements of money' }).getByText('Refund').waitFor()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(1_000 - data.price_rub + 10)

    await open('/abuse')
    await page.getByLabel('Address').fill(data.proxies[0].exit_ip)
    await page.getByLabel('At, or from').fill('2026-01-14T00:00')
    await page.getByLabel('To, for a stretch').fill('2026-01-17T00:00')
    await page.getByLabel('Why').fill('report 17')
    await press('Ask')
    await page.getByRole('link', { name: customer }).waitFor()
    await open('/audit')
    await page.getByText(data.proxies[0].exit_ip).first().waitFor()
    await page.getByText('report 17').first().waitFor()
  })

  test('prices are changed after what they change was shown', async () => {
    await enterAs('owner')
    await open('/prices')
    const editor = page.getByLabel('Price list, JSON')
    const text = await editor.inputValue()
    await editor.fill('{')
    await page.getByText('This is not JSON').waitFor()
    await editor.fill(text.replace('"1": 299', '"1": 301'))
    await press('Show what changes')
    await page.getByText('What it would change').waitFor()
    expect(await page.locator('.changes').innerText()).toContain('301')
    await press('Put it in force')
    await page.getByText('What it would change').waitFor({ state: 'detached' })
    expect((await shop.get('/vpn/quote?period=1')).data.price_rub).toBe(301)
  })

  test('a range is looked at, quarantined and let go; nodes, exits and the verification are shown', async () => {
    await enterAs('owner')
    await open('/stock')
    await page.getByLabel('Range, such as').fill('127.10.0.0/24')
    await press('Ask')
    await page.getByText('Proxies sold of it').waitFor()
    await press('Quarantine')
    await dialog().locator('button[type=submit]').click()
    await dialog().getByText('Places').waitFor()
    await page.keyboard.press('Escape')
    await press('Quarantine')
    await dialog().getByLabel('Take it back').check()
    await dialog().locator('button[type=submit]').click()
    await dialog().getByText('Places').waitFor()
    await open('/network')
    await page.getByRole('table', { name: 'Nodes' }).getByText('standing-carrier').waitFor()
    await page.getByRole('table', { name: 'Exits' }).waitFor()
    await open('/verify')
    await press('Verify now')
    await page.getByText('Every promise holds').waitFor({ timeout: 60_000 })
  })

  test('whoever may only look is offered nothing to do, and a customer’s link opens no operator’s page', async () => {
    await enterAs('reader')
    await open('/customers')
    await page.getByRole('table').waitFor()
    expect(await page.getByRole('button', { name: 'Add a customer' }).count()).toBe(0)
    await page.getByRole('table').getByRole('link').first().click()
    await page.getByText('Movements of money').waitFor()
    for (const name of ['Credit', 'Debit', 'Block']) {
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0)
    }
    for (const name of ['Operators', 'Who had an address', 'Audit log']) {
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0)
    }
    visitor.allow(/status of 40[13]/)
    await open('/operators')
    await page.getByText('The shop said no').waitFor()
    await press('Sign out')
    await page.getByRole('heading', { name: 'Sign in as operator' }).waitFor()
    const { token } = await shop.newCustomer()
    await press('With an API token')
    await page.getByLabel('API token').fill(token)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sign in as operator' }).waitFor()
  })
})
