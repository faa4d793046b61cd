import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { Role } from '../../src/domains/operators/rules.ts'
import { operatorLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, openVisitor, type Visitor } from './visitor.ts'

describe.each([...enginesOf('sqlite')])("an operator's daily work on %s", (engine) => {
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

  async function enterAs(role: Role, at: Service = shop): Promise<void> {
    made += 1
    visitor = await openVisitor(browser, at.url)
    page = visitor.page
    await page.goto(await operatorLink(at, `${role}-${made}`, role))
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  }
  const open = (path: string, at: Service = shop) => page.goto(`${at.url}/operator#${path}`)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const dialog = () => page.getByRole('dialog')
  const submit = async () => {
    await dialog().locator('button[type=submit]').click()
    await dialog().waitFor({ state: 'detached' })
  }
  const find = async (text: string) => {
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('/')
    await page.getByLabel('Search for').fill(text)
  }

  test('"/" finds a customer, an order, a payment, a proxy and a device, and the customer’s page lists them', async () => {
    const { customer, token } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const bought = (await shop.post('/dedicated/buy', order, { token })).data
    const vpn = (await shop.post('/vpn/buy', { period: 1 }, { token })).data
    await shop.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 1 }, { token })
    const payment = (await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })).data
    const [device] = (await shop.services.vpn.show(vpn.uuid)).devices
    const [proxy] = bought.proxies
    await enterAs('support')
    const matches = page.getByRole('table', { name: 'Matches' })
    for (const [text, path] of [
      [customer, `/customers/${customer}`],
      [bought.order_id, `/orders/${bought.order_id}`],
      [payment.payment_id, `/payments/${payment.payment_id}`],
      [proxy.exit_ip, `/proxies/${proxy.id}`],
      [proxy.username, `/proxies/${proxy.id}`],
      [device?.id, `/vpn/${vpn.uuid}`],
    ]) {
      await find(text)
      await matches.locator(`a[href="#${path}"]`).first().waitFor()
      expect(await findBarriers(page, { contrast: false })).toEqual([])
      await page.getByLabel('Search for').press('Enter')
      await page.waitForURL((url) => url.hash === `#${path}`)
    }
    await open(`/customers/${customer}`)
    await page.getByRole('table', { name: 'Proxies' }).getByText(proxy.exit_ip).waitFor()
    for (const name of ['VPN subscriptions', 'Premium traffic', 'Payments', 'Orders', 'Transactions', 'API tokens']) {
      await page.getByRole('table', { name, exact: true }).waitFor()
    }
    expect(await findBarriers(page)).toEqual([])
  })

  test('a search that finds nothing says so, and the way back keeps the text', async () => {
    await enterAs('reader')
    await find('nobody@nowhere.example')
    await page.getByText('Nothing found').waitFor()
    await open('/customers')
    await page.goBack()
    expect(await page.getByLabel('Search for').inputValue()).toBe('nobody@nowhere.example')
  })

  test('a debit beyond the balance is refused in the preview, and its button stays disabled', async () => {
    const { customer, token } = await shop.newCustomer(100n)
    await enterAs('support')
    visitor.allow(/status of 40[029]/)
    await open(`/customers/${customer}`)
    await press('Debit')
    await dialog().getByLabel('Amount').fill('100.01')
    await dialog().getByRole('alert').waitFor()
    expect(await dialog().locator('button[type=submit]').isDisabled()).toBe(true)
    await dialog().getByLabel('Amount').fill('40')
    await dialog().getByText('₽60.00').waitFor()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(100)
    await submit()
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(60)
  })

  test('an operator renames a closed node, changes its address, removes it, and assigns an exit', async () => {
    await enterAs('owner')
    await open('/network')
    await press('Add a node')
    await dialog().getByLabel('Name').fill('gate-9')
    await dialog().locator('button[type=submit]').click()
    await dialog().getByText('Run this command').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('table', { name: 'Nodes' }).getByRole('link', { name: 'gate-9' }).click()
    await page.getByText('The node has never joined').waitFor()
    await press('Change the address')
    await dialog().getByLabel('Host').fill('gate-9.example.net')
    await dialog().getByLabel('Port').fill('10800')
    await submit()
    await page.getByText('gate-9.example.net:10800').waitFor()
    await press('Rename')
    await dialog().getByLabel('New name').fill('gate-10')
    await dialog().locator('button[type=submit]').click()
    await page.getByRole('heading', { name: 'gate-10' }).waitFor()
    await press('Close')
    await submit()
    await press('Remove')
    await submit()
    await page.getByRole('heading', { name: 'Network' }).waitFor()
    expect(await page.getByRole('link', { name: 'gate-10' }).count()).toBe(0)
    const exits = page.getByRole('table', { name: 'Exits' })
    await exits.getByRole('button', { name: 'Assign' }).first().click()
    await dialog().getByLabel('Gateway').selectOption('stock-gateway')
    await submit()
    const drained = exits.getByRole('row').nth(1)
    await drained.getByRole('button', { name: 'Drain' }).click()
    await submit()
    await drained.getByRole('button', { name: 'Remove' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
  })

  test('the page of a node draws tunnels, traffic, processor and errors of its last hour', async () => {
    const node = await shop.services.fleet.findByName('stock-gateway')
    const report = {
      tunnels: 3,
      lagMs: 1,
      hopBytes: 0,
      isStopping: false,
      maxPorts: null,
      tls: null,
      boot: 'later-boot',
    }
    for (let step = 1; step <= 3; step += 1) {
      shop.clock.advance(300_000)
      const counts = { totalBytes: step * 3_000_000, cpuMs: step * 30_000, errors: step * 5 }
      await shop.services.fleet.seen(node?.id ?? ('' as never), { version: '1', health: { ...report, ...counts } })
    }
    await enterAs('reader')
    await open('/network/stock-gateway')
    await page.getByText('Tunnels, highest: 3').waitFor()
    await page.getByText('Traffic per second, highest: 10 kB').waitFor()
    await page.getByText('Processor, % of one core, highest: 10%').waitFor()
    await page.getByText('Errors per minute, highest: 1').waitFor()
    await page.locator('.chart canvas').nth(3).waitFor()
    await page.getByText('Month', { exact: true }).click()
    await page.getByRole('radio', { name: 'Month' }).waitFor({ state: 'attached' })
    expect(await findBarriers(page)).toEqual([])
  })

  test('the audit log is filtered by operator and action, and reads as sentences with links', async () => {
    const { customer } = await shop.newCustomer(10n)
    await enterAs('owner')
    await open(`/customers/${customer}`)
    await press('Block')
    await submit()
    await page.getByText('Blocked').first().waitFor()
    await open('/audit')
    await page.getByLabel('Action').selectOption('blockCustomer')
    const log = page.getByRole('table', { name: 'Audit log' })
    await log.getByText('Blocked another').first().waitFor()
    expect(await log.locator('tbody tr').count()).toBe(1)
    expect(await log.locator(`a[href$="${customer}"]`).count()).toBe(1)
    await page.getByLabel('Operator').selectOption({ label: `owner-${made}` })
    await log.getByText('Blocked another').first().waitFor()
    expect(await findBarriers(page)).toEqual([])
  })

  test('a price table adds a country, changes a tier and a term, and shows the difference before it applies', async () => {
    await enterAs('owner')
    await open('/prices')
    await page.getByLabel('Country, two letters (IPv4 private)').fill('fi')
    await page.keyboard.press('Enter')
    await page.getByLabel('IPv4 private Finland, Per day').fill('7.5')
    await page.getByLabel('Mobile 1, Per GB').fill('530')
    await page.getByLabel('Terms on sale, days (IPv6 private)').fill('7, 30')
    await press('Show changes')
    const changed = await page.getByRole('table', { name: 'Changes to apply' }).innerText()
    expect(changed).toMatch(/dedicated\.kinds\.4\.countries\.FI[\s\S]*7\.5/)
    expect(changed).toMatch(/mobile\.tiers\.0\.per_gb\s+₽520 per GB\s+₽530 per GB/)
    expect(await findBarriers(page)).toEqual([])
    await press('Apply')
    await page.getByText('Changes to apply').waitFor({ state: 'detached' })
    const quote = '/dedicated/quote?country_code=FI&period=30&count=1&ipv=4'
    expect((await shop.services.pricing.find())?.dedicated.kinds.get(4)?.countries.has('FI')).toBe(true)
    expect((await shop.get(quote)).status).toBeLessThan(500)
  })

  test('stock shows IPv6 blocks as blocks and that a shared address has 3 slots', async () => {
    await enterAs('reader')
    await open('/stock')
    const stock = page.getByRole('table', { name: 'Stock' })
    await stock.getByText('3 slots for each address').first().waitFor()
    expect(await findBarriers(page)).toEqual([])
  })

  test('the overview shows a red notice when the only node that has reported is offline', async () => {
    const own = await startService(engine)
    try {
      await own.services.db.transact((tx) =>
        tx.run('UPDATE nodes SET last_seen_at = 1000 WHERE last_seen_at IS NOT NULL'),
      )
      // The shop keeps its list of nodes for a moment.
      own.clock.advance(20_000)
      await enterAs('reader', own)
      const notice = page.getByRole('alert')
      await notice.getByText('No node is online').waitFor()
      const nodes = page.getByRole('table', { name: 'Nodes' })
      expect(await nodes.getByRole('row', { name: /stock-gateway/ }).innerText()).toMatch(/Offline\s+—/)
      expect(await findBarriers(page)).toEqual([])
      await notice.getByRole('link').click()
      await page.getByRole('heading', { name: 'Network' }).waitFor()
    } finally {
      await own.stop()
    }
  })

  test('an empty production shop leads its operator through 7 steps, each checked by the shop', async () => {
    const empty = await startService(engine, { TURNPIKE_SANDBOX: 'off' })
    try {
      await enterAs('owner', empty)
      visitor.allow(/status of 40[49]/)
      await page.getByText('0 of 7 steps are done').waitFor()
      await page.getByRole('link', { name: 'Show the steps' }).click()
      await page.getByText('To do').first().waitFor()
      expect(await page.getByText('To do').count()).toBe(7)
      expect(await findBarriers(page)).toEqual([])
      await page.getByRole('link', { name: 'Prices' }).last().click()
      await page.getByText('There is no price list yet').waitFor()
      await press('Show changes')
      await press('Apply')
      await page.getByText('Changes to apply').waitFor({ state: 'detached' })
      /** The shop keeps the state for 2 s, and the page asks again when it is opened. */
      const expectLeft = async (count: number) => {
        empty.clock.advance(2_000)
        await open('/setup', empty)
        await page.reload()
        await page.getByText('Done', { exact: true }).first().waitFor()
        expect(await page.getByText('To do').count()).toBe(count)
      }
      await expectLeft(6)
      await page.getByRole('link', { name: 'Set up the shop' }).waitFor()
      await open('/stock', empty)
      await page.getByText('No addresses yet').waitFor()
      await page.getByText('Next step of the setup').waitFor()
      await open('/payments/providers', empty)
      const invoices = page.locator('section', { has: page.getByRole('heading', { name: 'Invoices' }) })
      await invoices.getByRole('button', { name: 'Set up' }).click()
      await dialog().getByLabel('Payment details').fill('Account 42')
      await submit()
      await expectLeft(5)
      await open('/customers', empty)
      await press('Add a customer')
      await dialog().getByLabel('Name').fill('First')
      await submit()
      await expectLeft(4)
      // The gateway of this test joins with the first addresses.
      await open('/stock', empty)
      await press('Add addresses')
      await dialog().getByLabel('Range, such as').fill('8.8.4.0/29')
      await dialog().getByLabel('Country, two letters').fill('DE')
      await dialog().getByLabel('Type').selectOption('4')
      await dialog().locator('button[type=submit]').click()
      await dialog().getByText('Added').waitFor()
      await expectLeft(2)
      const { token } = await empty.newCustomer(100n)
      const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
      expect((await empty.post('/dedicated/buy', order, { token })).status).toBe(200)
      // The shop of the test has no https address, which is the last step.
      await expectLeft(1)
    } finally {
      await empty.stop()
    }
  })
})
