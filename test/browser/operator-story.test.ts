import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { operatorLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { longTest } from '../harness/long-test.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, openVisitor, shown, type Visitor } from './visitor.ts'

/** One owner in one page, with one customer; at the end an operator who may only read. Tests run in order. */
describe.each([...enginesOf('sqlite')])('operator story on %s', (engine) => {
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let token: string
  let customer: string
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([startService(engine), openChromium()])
    ;({ token, customer } = await shop.newCustomer(5_000n))
    visitor = await openVisitor(browser, shop.url)
    visitor.allow(/status of 40[0139]/)
    page = visitor.page
    await page.goto(await operatorLink(shop, 'olga', 'owner'))
    await shown(page.getByRole('heading', { name: 'Overview' }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
  })

  const open = (path: string) => page.goto(`${shop.url}/operator#${path}`)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const dialog = () => page.getByRole('dialog')
  const send = () => dialog().locator('button[type=submit]').click()
  const submit = async () => {
    await send()
    await dialog().waitFor({ state: 'detached' })
  }
  const balance = async (): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub

  test('an operator finds a customer with "/", credits ₽250.50 once by a double click, blocks and unblocks', async () => {
    await page.keyboard.press('/')
    await page.getByLabel('Search for').fill(customer)
    await page.getByRole('table', { name: 'Matches' }).getByRole('link', { name: 'another' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API tokens' }).waitFor()
    await press('Credit')
    await dialog().getByLabel('Amount').fill('250.5')
    await dialog().getByLabel('Note').fill('invoice 7')
    await dialog().getByText('₽5,250.50').waitFor()
    expect(await balance()).toBe(5_000)
    await dialog().locator('button[type=submit]').dblclick()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('₽5,250.50').first().waitFor()
    expect(await balance()).toBe(5_250.5)
    await press('Block')
    await submit()
    await page.getByText('Blocked').first().waitFor()
    await press('Unblock')
    await submit()
    await page.getByText('Active').first().waitFor()
  })

  test('an operator refunds ₽10 of an order, replaces the address of its proxy and ends it', async () => {
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const { data } = await shop.post('/dedicated/buy', order, { token })
    const [proxy] = data.proxies
    await open(`/orders/${data.order_id}`)
    await press('Refund')
    await dialog().getByText('Will end').waitFor()
    await dialog().getByText(proxy.exit_ip).waitFor()
    await dialog().getByLabel('Purchased services').selectOption('')
    await dialog().getByLabel('Amount').fill('10')
    await dialog().getByText('Keeps running').waitFor()
    expect(await balance()).toBe(5_250.5 - data.price_rub)
    await submit()
    await page.getByRole('table', { name: 'Transactions' }).getByText('Refund', { exact: true }).waitFor()
    expect(await balance()).toBe(5_250.5 - data.price_rub + 10)
    const services = page.getByRole('table', { name: 'Services of this order' })
    await services.getByText(proxy.username, { exact: true }).waitFor()
    await services.getByRole('link', { name: proxy.exit_ip }).click()
    await page.getByRole('heading', { name: `Proxy ${proxy.id}` }).waitFor()
    await press('Check')
    await page
      .getByRole('status')
      .getByText(/^(It works|The check failed)/)
      .waitFor()
    await press('Replace the address')
    await dialog().getByLabel('Note').fill('abuse report')
    await submit()
    await page.getByRole('table', { name: 'Address history' }).locator('tr').nth(2).waitFor()
    await press('Refund and end')
    await dialog().getByText('Paid', { exact: true }).waitFor()
    await submit()
    await page.getByText('The proxy has ended.').waitFor()
    await page.getByText('Ended', { exact: true }).waitFor()

    await open('/abuse')
    await page.getByLabel('Address').fill(proxy.exit_ip)
    await page.getByLabel('Time, or start of the period').fill('2026-01-14T00:00')
    await page.getByLabel('End of the period (optional)').fill('2026-01-17T00:00')
    await page.getByLabel('Reason').fill('report 17')
    await press('Look up')
    await page.getByRole('table', { name: 'Abuse lookup' }).getByRole('link', { name: 'another' }).waitFor()
  })

  test('an operator moves a VPN subscription to another node, and quarantines a range', async () => {
    const { uuid } = (await shop.post('/vpn/buy', { period: 1, auto_renew: true }, { token })).data
    await open(`/vpn/${uuid}`)
    await press('Move to a node')
    await send()
    await dialog().getByText('Moved. Devices: 1').waitFor()
    await page.keyboard.press('Escape')
    await open('/stock')
    await page.getByLabel('Range, such as').fill('127.10.0.0/24')
    await press('Look up')
    await page.getByText('Proxies sold').waitFor()
    await press('Quarantine')
    await send()
    await dialog().getByText('Slots').waitFor()
    await page.keyboard.press('Escape')
  })

  longTest(
    'orders of all customers are filtered and sorted by the shop, refunded from the list, and saved as CSV',
    async () => {
      await open('/orders')
      const table = page.getByRole('table', { name: 'Orders' })
      await shown(table.getByRole('link', { name: 'VPN · purchase' }))
      await page.getByLabel('Product').selectOption('dedicated')
      await table.getByRole('link', { name: 'VPN · purchase' }).waitFor({ state: 'detached' })
      expect(new URL(page.url()).hash).toBe('#/orders?product=dedicated')
      await page.getByLabel('Sort').selectOption('cheapest')
      await page.getByLabel('Product').selectOption('vpn')
      await table.getByRole('button', { name: 'Refund' }).click()
      await dialog().getByLabel('Purchased services').selectOption('')
      await dialog().getByLabel('Amount').fill('5')
      await dialog().getByText('Keeps running').waitFor()
      await submit()
      await shown(table.getByText('Partly refunded'))
      const saved = page.waitForEvent('download')
      await press('CSV: orders')
      const file = await Bun.file(await (await saved).path()).text()
      expect(file.split('\r\n')[1]).toMatch(/^ord_\w{26},.*,another,vpn,buy,299,5,partly_refunded$/)
      expect(await findBarriers(page)).toEqual([])
    },
  )

  longTest(
    'the activity feed shows a purchase as it happens, and the overview compares 30 days with those before',
    async () => {
      await open('/activity')
      const table = page.getByRole('table', { name: 'Activity' })
      await shown(table.getByText('New customer').first())
      await page.getByLabel('Type').selectOption('order')
      await table.getByText('New customer').first().waitFor({ state: 'detached' })
      const order = { country_code: 'FR', period: 7, count: 1, ipv: 4 }
      shop.clock.advance(1000)
      const { data } = await shop.post('/dedicated/buy', order, { token })
      await table.locator(`a[href="#/orders/${data.order_id}"]`).waitFor()
      expect(await findBarriers(page)).toEqual([])
      await open('/')
      await page.getByText('New customers in 30 days').waitFor()
      await page
        .getByText(/the 30 days before/)
        .first()
        .waitFor()
    },
  )

  test('the network page lists the nodes, and an operator adds an exit there', async () => {
    await open('/network')
    await page.getByRole('table', { name: 'Nodes' }).getByText('stock-gateway').waitFor()
    await press('Add an exit')
    await dialog().getByLabel('Supplier’s proxy').fill('socks5://127.0.0.1:9')
    await dialog().getByLabel('Supplier login').fill('us')
    await dialog().getByLabel('Supplier password').fill('theirs')
    await dialog().getByLabel('Country, two letters').fill('FI')
    await send()
    await dialog().getByText('Done: 127.0.0.1').waitFor()
    await page.keyboard.press('Escape')
  })

  test('an operator changes a VPN month from ₽299 to ₽301 after the page shows the affected customers', async () => {
    await open('/prices')
    // Two faults are named at once, by their places in the tables.
    visitor.allow(/status of 400/)
    const months = (count: number) => page.getByLabel(`VPN, Months: ${count}`, { exact: true })
    for (const count of [1, 12]) await months(count).fill('0')
    await press('Show changes')
    const faults = page.getByRole('alert').getByRole('listitem')
    await shown(faults.nth(1))
    expect(await faults.allInnerTexts()).toEqual([
      expect.stringMatching(/^VPN · months · 1: must be /),
      expect.stringMatching(/^VPN · months · 12: must be /),
    ])
    await months(12).fill('2690')
    await months(1).fill('301')
    await press('Show changes')
    const changed = await page.getByRole('table', { name: 'Changes to apply' }).innerText()
    expect(changed).toMatch(/vpn\.months\.1\s+₽299\s+₽301/)
    const concerned = await page.getByRole('table', { name: 'Affected customers' }).innerText()
    expect(concerned.split(/\s+/).slice(-6)).toEqual(['VPN', '1', '1', '1', '₽299.00', '₽301.00'])
    await press('Apply')
    await page.getByText('Changes to apply').waitFor({ state: 'detached' })
    expect((await shop.get('/vpn/quote?period=1')).data.price_rub).toBe(301)
  })

  longTest(
    'an operator sets the 30-day price of one country to ₽200, and its other terms keep their prices',
    async () => {
      const priceOf = async (country: string, period: number): Promise<number> => {
        const query = `country_code=${country}&period=${period}&count=1&ipv=4`
        return (await shop.get(`/dedicated/quote?${query}`)).data.price_rub
      }
      const pricesOf = (country: string) => Promise.all([7, 14, 30, 60, 90].map((period) => priceOf(country, period)))
      const before = { DE: await pricesOf('DE'), FR: await pricesOf('FR') }
      await open('/prices')
      await press(/^By term.*IPv4 private Germany/)
      await page.getByLabel('IPv4 private Germany, 30 d').fill('200')
      await shown(page.getByText('charged: ₽190.00'))
      expect(await findBarriers(page)).toEqual([])
      await press('Show changes')
      const changed = await page.getByRole('table', { name: 'Changes to apply' }).innerText()
      expect(changed).toMatch(/4\.countries\.DE\.per_day\s+₽6 a day/)
      expect(changed).toMatch(/4\.countries\.DE\.per_period\.30\s+\S*\s*₽200/)
      await press('Apply')
      await page.getByText('Changes to apply').waitFor({ state: 'detached' })
      expect(await pricesOf('DE')).toEqual(before.DE.with(2, 190))
      expect(await pricesOf('FR')).toEqual(before.FR)
    },
  )

  test('an operator makes a bonus code of 10 %, and sets up a payment provider without showing its secret', async () => {
    await open('/payments/codes')
    await press('Create a promo code')
    await dialog().getByLabel('Code').fill('spring')
    await dialog().getByLabel('Bonus size').fill('10')
    await dialog().getByLabel('Total uses').fill('5')
    await dialog().locator('button[type=submit]').dblclick()
    await dialog().waitFor({ state: 'detached' })
    expect(await page.getByRole('row', { name: /SPRING/ }).innerText()).toMatch(/10%\s+0 of 5/)
    await open('/payments/providers')
    const yookassa = page.locator('section', { has: page.getByRole('heading', { name: 'YooKassa' }) })
    await yookassa.getByRole('button', { name: 'Set up' }).click()
    await dialog().getByLabel('shop_id').fill('100500')
    await dialog().getByLabel('url').fill('http://127.0.0.1:9')
    await dialog().getByLabel('Secret').fill('live_verysecret')
    await submit()
    await yookassa.getByText('Enabled').waitFor()
    await yookassa.getByText('stored encrypted, never shown').waitFor()
    expect(await page.content()).not.toContain('verysecret')
  })

  test("the audit log has the operator's name and reasons, and verify names a wrong balance in Russian", async () => {
    await open('/audit')
    const log = page.getByRole('table')
    await log.getByText('Credited ₽250.50 to another: “invoice 7”').waitFor()
    await log.getByText('report 17').first().waitFor()
    const text = await log.innerText()
    expect([text.includes('olga'), text.includes('verysecret')]).toEqual([true, false])
    await press('Русский')
    await log.getByText('Зачислено 250,50').waitFor()
    const shift = (kopecks: number) =>
      shop.services.db.transact((tx) =>
        tx.run('UPDATE accounts SET balance = balance + $2 WHERE customer_id = $1', [customer, kopecks]),
      )
    await shift(1)
    await open('/verify')
    await press('Сверить сейчас')
    const found = page.getByRole('row', { name: new RegExp(`счёт ${customer}`) })
    await found.getByText(/баланс [\d,\s]+, а сумма проводок [\d,\s]+/).waitFor()
    expect(await found.innerText()).not.toMatch(/[a-z]{3,} [a-z]{2,}/)
    await open('/alerts')
    await page.getByText('Сверка нашла проблему').first().waitFor()
    await shift(-1)
    await press('English')
  })

  test('the owner counts customers, announces prices, and changes, previews and resets the text of a letter', async () => {
    await open('/mailings')
    await press('Announce prices')
    await dialog().getByLabel('Prices change at (UTC)').fill('2099-03-01T09:00')
    await dialog().getByLabel('Text in English').fill('VPN costs 349 roubles.')
    await send()
    await dialog()
      .getByText(/^Customers: \d+\. Without an e-mail address: \d+\./)
      .waitFor()
    expect((await shop.services.notices.listMailings('mlh', 9)).length).toBe(0)
    await submit()
    await page.getByRole('table', { name: 'Sent' }).getByText('VPN costs 349 roubles.').waitFor()
    const letter = page.getByRole('row', { name: /Ends of services in English/ })
    await letter.getByRole('button', { name: 'Edit' }).click()
    await dialog().getByLabel('Text', { exact: true }).fill('{itmes} {unsubscribe_url}')
    await dialog().getByRole('button', { name: 'Preview' }).click()
    await dialog().getByText('unknown placeholder {itmes}').waitFor()
    await dialog().getByLabel('Text', { exact: true }).fill('Look: {items} {unsubscribe_url}')
    await dialog().getByRole('button', { name: 'Preview' }).click()
    await dialog().getByText('Look: Proxy 7 (203.0.113.7) ends on').waitFor()
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    await letter.getByText(/^changed /).waitFor()
    await letter.getByRole('button', { name: 'Edit' }).click()
    await dialog().getByRole('button', { name: 'Reset to the shipped text' }).click()
    await dialog().waitFor({ state: 'detached' })
    await letter.getByText('as shipped').waitFor()
  })

  test('the owner sets name and colour with a preview, a pale colour is refused, and the next page has the brand', async () => {
    await open('/brand')
    await page.getByLabel('Name of the shop').fill('Fast Lane')
    await page.getByLabel('Accent colour').fill('#ffd400')
    const look = page.locator('form').filter({ has: page.getByLabel('Accent colour') })
    // At the field, before anything is saved.
    await look.getByText(/nearest darker colour is #856e00/).waitFor()
    expect(await look.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await page.getByLabel('Contact').fill('no address')
    await look.locator('.mantine-TextInput-error').nth(1).waitFor()
    await page.getByLabel('Contact').fill('')
    await page.getByLabel('Accent colour').fill('#1d4ed8')
    await look.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').first().waitFor()
    await page.locator('.brand-preview.dark').getByText('Fast Lane').waitFor()
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4"/></svg>'
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({
        name: 'logo.svg',
        mimeType: 'image/svg+xml',
        buffer: Buffer.from(svg),
      })
    await page.getByRole('img', { name: 'Logo' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.reload()
    await page.getByRole('link', { name: 'Fast Lane' }).first().waitFor()
    await page.waitForFunction("document.title === 'Brand · Fast Lane'")
    const accent = "getComputedStyle(document.documentElement).getPropertyValue('--mantine-color-pine-6')"
    expect(await page.evaluate<string>(accent)).toBe('#1d4ed8')
    await page.evaluate("location.hash = '#/alerts'")
  })

  test("an operator who may only read sees no buttons, and a customer's token opens no operator's page", async () => {
    await press('Sign out')
    await page.getByRole('heading', { name: 'Sign in as operator' }).waitFor()
    await press('With an API token')
    await page.getByLabel('API token').fill(token)
    const answer = page.waitForResponse(/\/admin\/v1\//)
    await page.keyboard.press('Enter')
    expect((await answer).status()).toBe(401)
    await page.getByText('The shop does not accept this API token.').waitFor()
    await page.getByRole('heading', { name: 'Sign in as operator' }).waitFor()
    const entering = page.waitForResponse(/sign-in\/link$/)
    await page.goto(await operatorLink(shop, 'rita', 'reader'))
    expect((await entering).status()).toBe(200)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await open(`/customers/${customer}`)
    await page.getByText('Transactions').waitFor()
    for (const name of ['Credit', 'Debit', 'Block']) {
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0)
    }
    await open('/operators')
    await page.getByRole('alert').filter({ hasText: 'role' }).waitFor()
  })

  test('the pages logged no console error and sent no request to another host', () => visitor.expectQuiet())
})
