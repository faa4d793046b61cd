import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Download, Page } from 'playwright-core'
import { customerLink } from '../harness/console-links.ts'
import { openConsoleShop } from '../harness/console-shop.ts'
import { enginesOf } from '../harness/database.ts'
import type { ShopWithGateway } from '../harness/gateway.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor, type Visitor } from './visitor.ts'

describe.each([...enginesOf('postgres')])('customer console on %s', (engine) => {
  let shop: ShopWithGateway
  let browser: Browser
  let visitor: Visitor
  let page: Page
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([openConsoleShop(engine), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser.close()
    await shop.stop()
  })
  afterEach(async () => {
    await visitor.expectQuiet()
    await visitor.context.close()
  })

  /** A customer with money, signed in by a link; returns a token for reads beside the page. */
  async function enter(roubles = 50_000n): Promise<string> {
    const { token } = await shop.newCustomer(roubles)
    visitor = await openVisitor(browser, shop.url)
    page = visitor.page
    await page.goto(await customerLink(shop, token))
    // The page has read the empty account: later purchases of the test come after that.
    await page.getByRole('link', { name: 'Choose proxies' }).waitFor()
    return token
  }
  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const dialog = () => page.getByRole('dialog')
  const saved = async (work: Promise<unknown>, download: Promise<Download>): Promise<string> => {
    await work
    return Bun.file(await (await download).path()).text()
  }

  test('a new customer buys two proxies at the shown price, and a double click buys once', async () => {
    const token = await enter()
    await page.getByRole('link', { name: 'Choose proxies' }).click()
    await page.getByRole('radio', { name: /Netherlands/ }).check({ force: true })
    await page.getByLabel('How many').fill('2')
    const { data } = await shop.get('/dedicated/quote?country_code=NL&period=30&count=2&ipv=4')
    const buy = page.getByRole('button', { name: `Buy for ₽${data.price_rub}` })
    await buy.dblclick()
    await page.getByRole('heading', { name: 'Your proxies are ready' }).waitFor()
    const lines = await page.getByRole('region', { name: 'Dedicated proxies' }).innerText()
    expect(lines.trim().split('\n')).toHaveLength(2)
    const { data: orders } = await shop.get('/orders', { token })
    expect(orders.orders).toHaveLength(1)
    const { data: balance } = await shop.get('/balance', { token })
    expect(balance).toEqual({ balance_rub: 50_000 - data.price_rub, api_spent_rub: 0 })
  })

  test('a customer searches, prolongs, exports, comments, checks and replaces proxies', async () => {
    const token = await enter()
    const { data } = await shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 3, ipv: 4 }, { token })
    const [first, second] = data.proxies
    await open('/dedicated')
    await page.getByLabel('Search').fill(first.ip)
    await page.getByText('1 proxy', { exact: true }).waitFor()
    await page.getByLabel('Search').fill('')
    for (const each of [first, second]) await page.getByLabel(`Select ${each.ip}:${each.port}`).check()
    await press('Prolong')
    await dialog().getByText('14 days').click()
    await dialog().getByRole('button', { name: 'Prolong' }).click()
    await dialog().getByRole('heading', { name: '2 proxies prolonged for' }).waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    const { data: list } = await shop.get('/dedicated/list', { token })
    const days = (one: { expires_at: string }) => Math.round((Date.parse(one.expires_at) - Date.now()) / 86_400_000)
    expect(list.proxies.map(days).toSorted()).toEqual([21, 21, 7])

    await press('Export all')
    for (const [format, expected] of [
      ['2', `${first.username}:${first.password}@${first.ip}:${first.port}`],
      ['csv', 'id,ip,port'],
      ['json', '"username"'],
    ] as const) {
      await dialog().getByLabel('Format').selectOption(format)
      await dialog().locator('pre', { hasText: expected }).waitFor()
      const text = await saved(
        dialog().getByRole('button', { name: 'Download' }).click(),
        page.waitForEvent('download'),
      )
      expect(text).toContain(expected)
    }

    await open(`/dedicated/${first.id}`)
    await press('Check')
    await page.getByText(/It works: a connection took \d+ ms/).waitFor()
    await press('Comment')
    await dialog().getByLabel('Comment').fill('price watch')
    await dialog().getByRole('button', { name: 'Apply' }).click()
    await page.getByText('price watch').first().waitFor()
    await press('Protocol')
    await dialog().getByLabel('Protocol').selectOption('both')
    await dialog().getByRole('button', { name: 'Apply' }).click()
    await page.getByText('HTTP and SOCKS5').first().waitFor()
    await page.getByLabel('Copy for').selectOption('Telegram')
    const link = await page.getByRole('link', { name: 'Open in Telegram' }).getAttribute('href')
    expect(link).toContain(`server=${first.ip}&port=${first.port}&user=${first.username}`)
    await page.getByLabel('Copy for').selectOption('curl')
    expect(await page.getByRole('region', { name: 'curl' }).innerText()).toContain(`@${first.ip}:${first.port}`)
    await press('Replace the address')
    await dialog().getByRole('button', { name: 'Replace the address' }).click()
    await dialog().waitFor({ state: 'detached' })
    const { data: after } = await shop.get('/dedicated/list', { token })
    const replaced = after.proxies.find((each: { id: number }) => each.id === first.id)
    expect(replaced.exit_ip).not.toBe(first.exit_ip)
    expect(replaced.comment).toBe('price watch')
  })

  test('the console retries a purchase whose answer is lost, and the shop charges it once', async () => {
    const token = await enter()
    await open('/premium')
    await page.getByLabel('Gigabytes').fill('0.5')
    visitor.allow(/net::ERR_FAILED/)
    // The request reaches the shop; its answer does not reach the page.
    await page.route('**/premium/traffic/buy', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await press('Buy for ₽160')
    await page.getByText('The shop did not answer').waitFor()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(50_000 - 160)
    await page.unroute('**/premium/traffic/buy')
    await press('Try again')
    await page.getByText('Added 0.5 GB').waitFor()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(50_000 - 160)
  })

  test('the premium pages show prices, generate a list while typing, whitelist an address and reset the password', async () => {
    const token = await enter()
    await shop.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })
    await open('/premium')
    // Requests of the first page may still be running from before the purchase.
    await page.reload()
    expect(await page.getByRole('table').innerText()).toContain('200 GB\t₽200')
    await page.getByText('0 GB of 1 GB used').waitFor()
    await page.getByRole('link', { name: 'Generator' }).click()
    await page.getByLabel('How many lines').fill('3')
    await page.getByLabel('Country').selectOption('US')
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview.getByText('-country-us-').waitFor()
    const text = await saved(press('Download'), page.waitForEvent('download'))
    expect(text.trim().split('\n')).toHaveLength(3)
    await page.getByText('Rotating').click()
    await preview.getByText(/^(?!.*session).*-country-us/).waitFor()

    await page.getByRole('link', { name: 'Access' }).click()
    await press('Add my address (127.0.0.1)')
    await page.getByRole('button', { name: 'Remove 127.0.0.1' }).waitFor()
    expect((await shop.get('/premium/whitelist', { token })).data.ips).toMatchObject([{ ip: '127.0.0.1' }])
    const before = (await shop.get('/premium/password', { token })).data.password
    await press('New password')
    await page.getByText(before).first().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText('No traffic in this period').waitFor()
  })

  test('the usage page stores no destination hosts until the customer turns that on', async () => {
    const token = await enter()
    const isKept = async () => (await shop.get('/premium/subusers', { token })).data.subusers[0].keep_hosts
    await open('/premium/usage')
    const option = page.getByRole('checkbox', { name: 'Record destination hosts' })
    await option.waitFor()
    expect([await option.isChecked(), await isKept()]).toEqual([false, false])
    await page.getByText('When it is on, the shop stores').waitFor()
    await option.click()
    await page.getByRole('checkbox', { name: 'Record destination hosts', checked: true }).waitFor()
    expect(await isKept()).toBe(true)
  })

  test('a customer creates a sub-user, limits it, moves traffic to it, whitelists, blocks and deletes it', async () => {
    const token = await enter()
    await shop.post('/premium/traffic/buy', { pool_type: 'residential', gb: 2 }, { token })
    await open('/premium/subusers')
    await press('Add a sub-user')
    await dialog().getByLabel('Name').fill('reseller')
    await dialog().getByLabel('Daily limit, GB').fill('0.5')
    await dialog().locator('button[type=submit]').click()
    const [login = '', made = ''] = (await dialog().locator('pre').innerText()).trim().split(':')
    await page.keyboard.press('Escape')
    await page.getByText('500 MB a day').waitFor()
    await page.getByRole('link', { name: 'reseller' }).click()
    await page.getByText(login, { exact: true }).waitFor()
    await press('Move traffic')
    await dialog().getByLabel('Gigabytes').fill('0.7')
    await dialog().locator('button[type=submit]').dblclick()
    await dialog().waitFor({ state: 'detached' })
    await page.getByRole('table', { name: 'Traffic' }).getByText('0.7 GB').waitFor()
    await press('Add my address (127.0.0.1)')
    await page.getByRole('button', { name: 'Remove 127.0.0.1' }).waitFor()
    await press('New password')
    await page.getByText(made).first().waitFor({ state: 'detached' })
    await press('Block')
    await dialog().locator('button[type=submit]').click()
    await page.getByText('Proxies of this sub-user do not connect.').waitFor()
    const { data } = await shop.get('/premium/subusers', { token })
    expect(data.subusers.find((each: { login: string }) => each.login === login)).toMatchObject({
      name: 'reseller',
      status: 'blocked',
      day_limit_bytes: 500_000_000,
    })
    await press('Delete')
    await dialog().locator('button[type=submit]').click()
    await page.getByRole('heading', { name: 'Premium proxies' }).waitFor()
    const left = (await shop.get('/premium/traffic/balance?pool_type=residential', { token })).data
    expect(left.traffic_gb).toBe(2)
  })

  test('a customer buys a VPN, sets it up by QR code and file, adds a device, and ends it for a refund', async () => {
    const token = await enter()
    await open('/vpn')
    await page.getByLabel('Name of the first device').fill('Anna phone')
    await press('Buy for ₽299')
    await page.getByRole('heading', { name: 'Your VPN is ready' }).waitFor()
    await page.getByRole('img', { name: 'QR code of the configuration' }).waitFor()
    await press('To my subscriptions')
    await press('Set up Anna phone')
    const code = dialog().getByRole('img', { name: 'QR code of the configuration' })
    await code.waitFor()
    expect((await code.boundingBox())?.width).toBeGreaterThan(200)
    const file = await saved(
      dialog().getByRole('button', { name: 'Download the file' }).click(),
      page.waitForEvent('download'),
    )
    expect(file).toContain('[Interface]')
    await page.keyboard.press('Escape')
    await press('Add a device')
    await dialog().getByLabel('Name of the device').fill('Laptop')
    await dialog().getByRole('button', { name: 'Add a device' }).click()
    await dialog().getByText('[Peer]').waitFor()
    await page.keyboard.press('Escape')
    await press('Remove Laptop')
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await page.getByText('1 of 5').waitFor()
    const name = async (text: string) => {
      await press('Name')
      await dialog().getByLabel('Name of the subscription').fill(text)
      await dialog().getByRole('button', { name: 'Save' }).click()
      await dialog().waitFor({ state: 'detached' })
    }
    await name('Office')
    await page.getByRole('heading', { name: 'Office' }).waitFor()
    await name('')
    await page.getByRole('heading', { name: /^VPN until/ }).waitFor()
    expect((await shop.get('/vpn/info', { token })).data.items[0].name).toBeNull()
    await press('End the subscription')
    await dialog().getByRole('button', { name: 'End the subscription' }).click()
    await page.getByText('No subscription yet').waitFor()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBeGreaterThan(50_000 - 299)
  })

  test('orders and money movements show the balance after each, and download as CSV', async () => {
    const token = await enter()
    const { data } = await shop.post('/premium/traffic/buy', { pool_type: 'mobile', gb: 0.1 }, { token })
    await open('/orders')
    await page.getByRole('link', { name: new RegExp(data.order_id.slice(-8)) }).click()
    await page.getByText('Price calculation').waitFor()
    await open('/orders/ord_nothing')
    visitor.allow(/status of 404/)
    await page.getByRole('heading', { name: 'There is no such order' }).waitFor()
    await open('/money')
    await page.getByText('₽49,948.00').first().waitFor()
    const csv = await saved(press('Download CSV'), page.waitForEvent('download'))
    const [head, charge] = csv.split('\r\n')
    expect(head).toBe('id,created_at,kind,amount_rub,balance_after_rub,order_id,note')
    expect(charge).toContain(`,charge,-52,49948,${data.order_id},`)
  })

  test('the events page lists the newest first, and refusals are in the chosen language', async () => {
    const token = await enter(100n)
    const { data } = await shop.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 }, { token })
    const [proxy] = data.proxies
    await shop.post('/dedicated/replace', { id: proxy.id }, { token })
    await open('/events')
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    expect(await rows.first().innerText()).toContain(`Proxy ${proxy.id}, ${proxy.exit_ip} →`)
    await page.getByLabel('Event', { exact: true }).selectOption('order.refunded')
    await page.getByText('No events yet').waitFor()

    await press('Русский')
    await open('/vpn')
    visitor.allow(/status of (?:402|400)/)
    await press(/^Купить за/)
    const refusal = await page.getByRole('alert').innerText()
    expect(refusal).toMatch(
      /Это стоит 299,00 ₽, а на балансе [\d,]+ ₽\. Деньги не списаны; пополните баланс и повторите\./,
    )
    await open('/premium/access')
    await page.getByLabel('Адрес', { exact: true }).fill('not an address')
    await press('Добавить')
    expect(await page.getByRole('alert').innerText()).toContain('Адрес: должно быть адресом')
  })

  test('a new API token appears in the examples, works, and is refused once revoked', async () => {
    await enter()
    await open('/api')
    await press('New token')
    await dialog().getByLabel('Name').fill('watcher')
    await dialog().getByLabel('Purchases').uncheck()
    await dialog().getByRole('button', { name: 'New token' }).click()
    const token = (await page.getByRole('region', { name: 'Your new token' }).innerText()).trim()
    expect(token).toStartWith('tp_')
    expect(await page.getByRole('region', { name: 'Read the balance' }).innerText()).toContain(`Bearer ${token}`)
    expect((await shop.get('/balance', { token })).status).toBe(200)
    const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    expect((await shop.post('/dedicated/buy', order, { token })).status).toBe(403)
    await press('Revoke watcher')
    await page.getByText('Revoked').waitFor()
    expect((await shop.get('/balance', { token })).status).toBe(401)
  })

  test('a read-only token is refused for a purchase without a charge, and a visitor must sign in first', async () => {
    const { customer } = await shop.newCustomer(1_000n)
    const { text } = await shop.services.customers.issueToken(customer, { name: 'reader', scopes: ['read'] })
    visitor = await openVisitor(browser, shop.url)
    page = visitor.page
    await open('/money')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await press('With an API token')
    await page.getByLabel('API token').fill(text)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Money' }).waitFor()
    await open('/dedicated/buy')
    visitor.allow(/status of 403/)
    await press(/^Buy for ₽1/)
    const refusal = await page.getByRole('alert').innerText()
    expect(refusal).toContain('This token lacks the scope "trade".')
    expect(refusal).toContain('No money was charged.')
    await press('Sign out')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
  })
})
