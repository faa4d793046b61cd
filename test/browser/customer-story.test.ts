import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, Download, Page, Route } from 'playwright-core'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { HandClock, runtimeWith } from '../harness/clock.ts'
import { customerLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { longTest } from '../harness/long-test.ts'
import { applyCatalogue, shipped } from '../harness/proxies.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { vpnGatewayIsSeen } from '../harness/vpn.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, findLandmarkFaults, fitsWidth, openVisitor, shown, type Visitor } from './visitor.ts'

const password = 'correct horse battery'
const email = 'customer@example.com'
const dayMs = 86_400_000
/** A code of the second factor is valid for one step and accepted once. */
const stepMs = 30_000

/** One customer in one page, from the sign-up to the deletion of the account. Tests run in order. */
describe.each([...enginesOf('sqlite')])('customer story on %s', (engine) => {
  let smtp: SmtpServer
  let shop: Service
  let clock: HandClock
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let customer: CustomerId
  /** A token of the customer, for reads beside the page. */
  let token: string
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    clock = new HandClock(Date.now())
    const settings = {
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
      TURNPIKE_CONTACT: 'help@shop.example',
    }
    ;[shop, browser] = await Promise.all([startService(engine, settings, runtimeWith(clock)), openChromium()])
    visitor = await openVisitor(browser, shop.url)
    visitor.allow(/status of 40[0-49]/)
    page = visitor.page
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
    await smtp?.stop()
  })

  const open = (path: string) => page.goto(`${shop.url}/#${path}`)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const heading = (name: string) => shown(page.getByRole('heading', { name, exact: true }))
  const refused = (text: string) => page.getByRole('alert').filter({ hasText: text }).waitFor()
  const type = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  const panel = (name: string) => page.locator('section', { has: page.getByRole('heading', { name, exact: true }) })
  const dialog = () => page.getByRole('dialog')
  const saved = async (work: Promise<unknown>, download: Promise<Download>): Promise<string> => {
    await work
    return Bun.file(await (await download).path()).text()
  }
  const balance = async (): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub
  const proxies = async () => (await shop.get('/dedicated/list', { token })).data.proxies
  /** Waits for the heading of an outcome, and checks that it has the focus and is in the window. */
  const inView = async (name: string | RegExp): Promise<void> => {
    const outcome = page.getByRole('heading', { name })
    await shown(outcome)
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe((await outcome.textContent()) ?? '')
    const { y = -1, height = 0 } = (await outcome.boundingBox()) ?? {}
    expect([y >= 0, y + height <= (page.viewportSize()?.height ?? 0)]).toEqual([true, true])
  }
  /** Presses a copy button and returns the clipboard. */
  const copied = async (within = page.locator('#content')): Promise<unknown> => {
    await within.getByRole('button', { name: 'Copy', exact: true }).first().click()
    await within.getByRole('button', { name: 'Copied', exact: true }).first().waitFor()
    return page.evaluate('navigator.clipboard.readText()')
  }
  async function linkOf(letters: number): Promise<string> {
    const letter = (await smtp.until(letters)).at(-1) ?? ''
    const link = /http\S+\/#\w+=tpl_\w+/.exec(textOf(letter))?.[0]
    if (link === undefined) throw new Error(`no link in ${letter}`)
    return link
  }
  async function signIn(secret: string): Promise<void> {
    await type('Login', email)
    await type('Password', secret)
    await press('Sign in')
  }

  test('the sign-in page and its text about a forgotten password link to the contact of the seller', async () => {
    await page.goto(shop.url)
    await heading('Sign in')
    const links = page.getByRole('link', { name: 'help@shop.example' })
    await shown(links)
    expect(await links.getAttribute('href')).toBe('mailto:help@shop.example')
    expect(await links.getAttribute('rel')).toBe('noopener')
    await press('Forgot your password?')
    await shown(page.getByRole('main').getByText('Write to the seller: help@shop.example'))
    expect(await findBarriers(page)).toEqual([])
  })

  test('a customer signs up with an e-mailed link, and the address bar does not show the link', async () => {
    await page.goto(shop.url)
    await heading('Sign in')
    await press('Sign up')
    await type('E-mail', 'customer')
    await type('Password', 'short')
    await press('Sign up')
    await refused('E-mail address: must be an e-mail address')
    await refused('Password: must be 10 to 200 characters')
    await type('E-mail', email)
    await type('Password', password)
    await press('Sign up')
    await page.getByText('We have sent you a link.').waitFor()
    await page.goto(await linkOf(1))
    await heading('Finish signing up')
    expect(page.url()).not.toContain('tpl_')
    await type('Password', password)
    await press('Finish')
    await heading('Overview')
  })

  test('the page refuses a purchase without money in Russian, at a width of 360 pixels', async () => {
    await press('Русский')
    await page.setViewportSize({ width: 360, height: 740 })
    await open('/vpn')
    await press(/^Купить за/)
    const refusal = await page.getByRole('alert').innerText()
    expect(refusal).toMatch(
      /Это стоит 299,00 ₽, а на балансе 0,00 ₽\. Деньги не списаны; пополните баланс и повторите\./,
    )
    expect([await findBarriers(page), await fitsWidth(page)]).toEqual([[], true])
    await open('/premium/access')
    await page.getByLabel('Адрес', { exact: true }).fill('not an address')
    await press('Добавить')
    await refused('Адрес: должно быть адресом')
    await page.setViewportSize({ width: 1280, height: 720 })
    await press('English')
  })

  test('a double click buys two dedicated proxies once, at the price on the button, and the page copies them', async () => {
    const { customers, db, ledger } = shop.services
    const found = (await customers.list('', 500)).find((each) => each.name === 'registered')
    if (!found) throw new Error('the customer has not signed up')
    customer = found.id
    token = (await customers.issueToken(customer, { name: 'test' })).text
    await db.transact((tx) => ledger.credit(tx, customer, kopecks(5_000_000n), 'operator', 'test'))
    await page.reload()
    await open('/')
    await page.getByRole('link', { name: 'Choose proxies' }).click()
    await page.getByRole('radio', { name: /Netherlands/ }).check({ force: true })
    await page.getByLabel('How many').fill('0')
    await page.getByText('A number from 1 to 1,000.').waitFor()
    expect(await page.getByLabel('How many').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('How many').fill('2')
    const { data } = await shop.get('/dedicated/quote?country_code=NL&period=30&count=2&ipv=4')
    const { full_price_rub: full, discount_percent: percent, price_rub: price } = data
    expect(full).toBeGreaterThan(price)
    await page.getByText(`₽${full} − ${percent}% for 30 days = ₽${price}`).waitFor()
    const { width = 0, height = 0 } = page.viewportSize() ?? {}
    await page.setViewportSize({ width: 390, height: 844 })
    await page.evaluate('scrollTo(0, 0)')
    const button = await page.getByRole('button', { name: `Buy for ₽${price}` }).boundingBox()
    expect((button?.y ?? 844) + (button?.height ?? 0)).toBeLessThanOrEqual(844)
    await page.setViewportSize({ width, height })
    await page.getByRole('button', { name: `Buy for ₽${data.price_rub}` }).dblclick()
    await heading('Your proxies are ready')
    const shownLines = (await page.locator('pre').first().innerText()).trim()
    expect(shownLines.split('\n')).toHaveLength(2)
    expect(String(await copied()).trim()).toBe(shownLines)
    expect((await shop.get('/orders', { token })).data.orders).toHaveLength(1)
    expect(await balance()).toBe(50_000 - data.price_rub)
  })

  test('a customer finds proxies, prolongs them by 14 days, exports, comments and replaces them', async () => {
    const [first, second] = await proxies()
    await open('/dedicated')
    await page.getByLabel('Search').fill(first.ip)
    await page.getByText('1 proxy', { exact: true }).waitFor()
    await page.getByLabel('Search').fill('')
    await page.getByLabel(`Select ${first.ip}:${first.port}`).check()
    await press('Prolong')
    await dialog().getByText('14 days').click()
    expect(await findLandmarkFaults(page)).toEqual([])
    await dialog().getByRole('button', { name: 'Prolong' }).click()
    await inView(/^1 proxy prolonged for ₽/)
    expect(
      await dialog()
        .getByRole('button', { name: /^Prolong/ })
        .count(),
    ).toBe(0)
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await dialog().waitFor({ state: 'detached' })
    const days = (one: { expires_at: string }) => Math.round((Date.parse(one.expires_at) - clock.nowMs) / dayMs)
    expect((await proxies()).map(days).toSorted()).toEqual([30, 44])
    await press('Export all')
    await dialog().getByLabel('Format').selectOption('2')
    const line = `${second.username}:${second.password}@${second.ip}:${second.port}`
    await dialog().locator('pre', { hasText: line }).waitFor()
    const file = await saved(dialog().getByRole('button', { name: 'Download' }).click(), page.waitForEvent('download'))
    expect(file).toContain(line)
    await page.keyboard.press('Escape')

    await open(`/dedicated/${first.id}`)
    await press('Comment')
    await dialog().getByLabel('Comment').fill('price watch')
    await dialog().getByRole('button', { name: 'Apply' }).click()
    await page.getByText('price watch').first().waitFor()
    await press('Replace the address')
    await dialog().getByRole('button', { name: 'Replace the address' }).click()
    await dialog().waitFor({ state: 'detached' })
    const replaced = (await proxies()).find((each: { id: number }) => each.id === first.id)
    expect([replaced.exit_ip === first.exit_ip, replaced.comment]).toEqual([false, 'price watch'])
  })

  test('a customer buys traffic once although the purchase answer is lost', async () => {
    const before = await balance()
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
    await page.unroute('**/premium/traffic/buy')
    await press('Try again')
    await inView(/^Added 0.5 GB/)
    expect(await page.getByRole('button', { name: /^Buy for/ }).count()).toBe(0)
    await press('Buy more')
    await page.getByLabel('Gigabytes').fill('0.5')
    expect(await balance()).toBe(before - 160)
    expect(await page.getByText('The shop did not answer').count()).toBe(0)
    await page.getByText('0 GB of 0.5 GB used').waitFor()
  })

  test('a purchase is never queued offline, and a reload during a purchase shows what was bought, once', async () => {
    const before = await balance()
    visitor.allow(/net::ERR_/)
    const buy = page.getByRole('button', { name: 'Buy for ₽160' })
    await visitor.context.setOffline(true)
    await buy.click()
    await refused('Nothing was bought and no money was charged.')
    await visitor.context.setOffline(false)
    const executed = Promise.withResolvers<void>()
    const stop = async (route: Route) => {
      await route.fetch()
      executed.resolve()
    }
    await page.route('**/premium/traffic/buy', stop, { times: 1 })
    await buy.click()
    await executed.promise
    await page.reload()
    await page.getByText('It succeeded: ₽160 was charged.').waitFor()
    await press('Close')
    expect(await balance()).toBe(before - 160)
  })

  longTest('a customer generates a list of proxies and adds their own address to the whitelist', async () => {
    await page.getByRole('link', { name: 'Generator' }).click()
    await page.getByLabel('How many lines').fill('3')
    await page.getByLabel('Country').selectOption('US')
    await page.getByRole('region', { name: 'Preview' }).getByText('-country-us-').waitFor()
    const file = await saved(press('Download'), page.waitForEvent('download'))
    expect(file.trim().split('\n')).toHaveLength(3)
    await page.getByRole('link', { name: 'Access' }).click()
    await press('Add my address (127.0.0.1)')
    await page.getByRole('button', { name: 'Remove 127.0.0.1' }).waitFor()
    expect((await shop.get('/premium/whitelist', { token })).data.ips).toMatchObject([{ ip: '127.0.0.1' }])
  })

  test('a customer buys a VPN, sets it up by QR code and file, adds a device, and ends it for a refund', async () => {
    const before = await balance()
    await open('/vpn')
    await page.getByLabel('Name of the first device').fill('Anna phone')
    // The price doubles while the page is open: the page shows the new price and buys only at the next press.
    const { vpn, ...others } = shipped()
    await page.getByRole('button', { name: 'Buy for ₽299' }).waitFor()
    await applyCatalogue(shop.services, { ...others, vpn: Object.assign({}, vpn, { months: { 1: 598, 12: 2690 } }) })
    await press('Buy for ₽299')
    await refused('The price has changed: it is now ₽598. Nothing was charged.')
    expect([await balance(), await page.getByRole('button', { name: 'Try again' }).count()]).toEqual([before, 0])
    await page.getByRole('button', { name: 'Buy for ₽598' }).waitFor()
    await applyCatalogue(shop.services, shipped())
    await page.setViewportSize({ width: 390, height: 844 })
    await page.reload()
    await page.getByLabel('Name of the first device').fill('Anna phone')
    // A second tap at the same place buys nothing.
    await page.getByRole('button', { name: 'Buy for ₽299' }).dblclick()
    await inView('Your VPN is ready')
    await page.getByRole('img', { name: 'QR code of the configuration' }).waitFor()
    expect([await page.getByRole('button', { name: /^Buy for/ }).count(), await balance()]).toEqual([0, before - 299])
    await press('To my subscriptions')
    await page.setViewportSize({ width: 1280, height: 720 })
    await page.getByRole('button', { name: 'Name', exact: true }).click()
    await dialog().getByLabel('Name of the subscription').fill('Office')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await heading('Office')
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
    await page.getByText('2 of 5').waitFor()
    // With a gateway for apps, the device's link comes first.
    await vpnGatewayIsSeen(shop)
    await page.reload()
    await press('Set up Anna phone')
    const { subscription_url: link, devices } = (await shop.get('/vpn/info', { token })).data
    const phone = devices.find((each: { name: string }) => each.name === 'Anna phone')
    const choose = dialog().getByRole('link', { name: 'Choose an app' })
    expect(await choose.getAttribute('href')).toBe(`${link}?device=${phone.id}`)
    await code.waitFor()
    await page.keyboard.press('Escape')
    await press('End the subscription')
    await dialog().getByText('We refund ₽').waitFor()
    await dialog().getByRole('button', { name: 'End the subscription' }).click()
    await page.getByText('No subscription yet').waitFor()
    expect(await balance()).toBeGreaterThan(before - 299)
  })

  test('orders, movements of money and events show the purchases, and the movements download as CSV', async () => {
    const { orders } = (await shop.get('/orders', { token })).data
    await open('/orders')
    await page.getByRole('link', { name: new RegExp(orders[0].order_id.slice(-8)) }).click()
    await page.getByText('Price calculation').waitFor()
    const vpn = orders.find(
      (each: { product: string; action: string }) => each.product === 'vpn' && each.action === 'buy',
    )
    await open(`/orders/${vpn.order_id}`)
    await page.getByText(/^Refunded /).waitFor()
    await page.getByText('No services of this order remain.').waitFor()
    const bought = orders.findLast((each: { product: string }) => each.product === 'dedicated')
    await open(`/orders/${bought.order_id}`)
    const [held] = await proxies()
    const sold = page.getByRole('table', { name: 'Services of this order' })
    await sold.getByText(held.username, { exact: true }).waitFor()
    await sold.getByRole('link', { name: held.exit_ip, exact: true }).click()
    await heading(`${held.ip}:${held.port}`)
    await open('/orders/ord_nothing')
    await heading('There is no such order')
    await open('/money')
    const spent = page.getByRole('table', { name: 'Spending by product' })
    await spent.getByRole('row', { name: /VPN/ }).getByText('₽299.00').first().waitFor()
    const csv = await saved(press('Download CSV'), page.waitForEvent('download'))
    expect(csv).toStartWith('id,created_at,kind,amount_rub,balance_after_rub,order_id,note\r\n')
    expect(csv).toContain(`,charge,-160,`)
    const [proxy] = (await proxies()).filter((each: { comment: string }) => each.comment === 'price watch')
    await open('/events')
    const events = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    await events
      .filter({ hasText: `Proxy ${proxy.id}, ` })
      .first()
      .waitFor()
  })

  longTest(
    'a read-only API token reads the balance, is refused for purchases, and is refused once revoked',
    async () => {
      await open('/api')
      await press('New token')
      await dialog().getByLabel('Name').fill('watcher')
      await dialog().getByLabel('Purchases').uncheck()
      await dialog().getByRole('button', { name: 'New token' }).click()
      const made = (await page.getByRole('region', { name: 'Your new token' }).innerText()).trim()
      expect(await page.getByRole('region', { name: 'Read the balance' }).innerText()).toContain(`Bearer ${made}`)
      expect((await shop.get('/balance', { token: made })).status).toBe(200)
      const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
      expect((await shop.post('/dedicated/buy', order, { token: made })).status).toBe(403)

      await press('Revoke watcher')
      await page.getByText('Revoked').waitFor()
      expect((await shop.get('/balance', { token: made })).status).toBe(401)
    },
  )

  test('a customer adds an endpoint of webhooks, sees its secret once, and sees the test that was sent', async () => {
    await open('/api')
    await press('New endpoint')
    await dialog().getByLabel('Address').fill('http://127.0.0.1:1/hook')
    await dialog().getByRole('button', { name: 'New endpoint' }).click()
    await dialog().getByText('must have the port 443').waitFor()
    await dialog().getByLabel('Address').fill('http://127.0.0.1:9999/hook')
    await dialog().getByRole('button', { name: 'New endpoint' }).click()
    const secret = (await page.getByRole('region', { name: 'Secret of the endpoint' }).innerText()).trim()
    expect(secret).toStartWith('whsec_')
    const [{ webhook_id: webhook }] = (await shop.get('/webhooks', { token })).data.webhooks
    await press('Send a test http://127.0.0.1:9999/hook')
    const deliveries = panel('Webhooks').getByRole('table', { name: 'Deliveries' })
    await deliveries.getByText('webhook.test').waitFor()
    await page.reload()
    expect(await page.getByText(secret).count()).toBe(0)
    expect((await shop.post('/webhooks/remove', { webhook_id: webhook }, { token })).data.removed).toBeTrue()
  })

  test('a customer chooses letters about ends of services and a low balance of 500 roubles on the account page', async () => {
    await open('/account')
    const notices = panel('Notices by e-mail')
    await notices.getByText(`Letters go to ${email}, at most 5 a day.`).waitFor()
    await notices.getByLabel('Services that end soon or have ended').check()
    await notices.getByLabel('Messages of the seller').uncheck()
    await notices.getByLabel('Language of the letters').selectOption('ru')
    await notices.getByRole('button', { name: 'Save' }).first().click()
    await notices.getByText('Saved.').waitFor()
    expect((await shop.get('/notices', { token })).data).toMatchObject({ kinds: ['expiry'], language: 'ru' })
    await notices.getByLabel('Low balance: below, in roubles').fill('500')
    await notices.getByRole('button', { name: 'Save' }).last().click()
    await notices.getByText('Saved.').nth(1).waitFor()
    expect((await shop.get('/balance/alert', { token })).data).toEqual({ alert_below_rub: 500 })
  })

  test('a customer enables a second factor with 10 recovery codes, each code works once, and the page ends the other sessions', async () => {
    const other = await createBrowserSession(shop.url)
    const link = (await customerLink(shop, token)).split('#enter=')[1]
    expect((await other.post('/auth/v1/customer/sign-in/link', { link })).status).toBe(200)
    await open('/account')
    const factor = panel('Second factor')
    await factor.getByLabel('Current password').fill(password)
    await factor.getByRole('button', { name: 'Set up' }).click()
    await factor.getByRole('img', { name: 'QR code for the authenticator' }).waitFor()
    expect(await factor.getByRole('link', { name: 'Open in the authenticator' }).isVisible()).toBeFalse()
    const secret = await factor.locator('.copyable .mono').innerText()
    const code = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.nowMs })
    const used = code()
    await factor.getByLabel('Code').fill(used)
    await factor.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Signing in requires a code from your authenticator.').waitFor()
    const recovery = (await factor.getByRole('region', { name: 'Recovery codes' }).innerText()).trim().split('\n')
    expect(recovery).toHaveLength(10)
    const file = await saved(factor.getByRole('button', { name: 'Download' }).click(), page.waitForEvent('download'))
    expect(file).toStartWith(`Turnpike ${new URL(shop.url).host}\nLogin: ${email}\n`)
    expect(file).toEndWith(`${recovery.join('\n')}\n`)
    const copyBox = await factor.getByRole('button', { name: 'Copy', exact: true }).boundingBox()
    const downloadBox = await factor.getByRole('button', { name: 'Download' }).boundingBox()
    expect((copyBox?.x ?? 0) + (copyBox?.width ?? 0)).toBeLessThanOrEqual(downloadBox?.x ?? 0)
    await press('Sign out')
    await signIn(password)
    await press('Use a recovery code')
    await type('Recovery code', recovery[0] ?? '')
    await press('Sign in')
    await heading('Account')
    await page.getByText('9 recovery codes left.').waitFor()
    await press('Sign out')
    await signIn(password)
    await type('Code of the second factor', used)
    await press('Sign in')
    await refused('Login, password or code is wrong.')
    clock.advance(stepMs)
    await type('Code of the second factor', code())
    await press('Sign in')
    await heading('Account')
    const rows = page.getByRole('table', { name: 'Sessions' }).locator('tbody tr')
    await rows.nth(1).waitFor()
    await press('End all others')
    await rows.nth(1).waitFor({ state: 'detached' })
    expect(await rows.innerText()).toContain('This one')
    expect((await other.get('/auth/v1/customer/session')).status).toBe(401)
  })

  longTest(
    'a phone sets up the second factor with an otpauth link, asks before a sign-in link replaces its session, and says that a session has ended',
    async () => {
      const session = await openVisitor(browser, shop.url, {
        viewport: { width: 360, height: 740 },
        hasTouch: true,
        isMobile: true,
      })
      const phone = session.page
      await phone.goto(await customerLink(shop, (await shop.newCustomer()).token))
      await phone.goto(`${shop.url}/#/account`)
      await phone.getByLabel('Choose a login').fill('phone-owner')
      await phone.getByLabel('New password', { exact: true }).fill(password)
      await phone.getByRole('button', { name: 'Set the password' }).click()
      await phone.getByText('Password set.').waitFor()
      const factor = phone.locator('section', {
        has: phone.getByRole('heading', { name: 'Second factor', exact: true }),
      })
      await factor.getByLabel('Current password').fill(password)
      await factor.getByRole('button', { name: 'Set up' }).click()
      const link = factor.getByRole('link', { name: 'Open in the authenticator' })
      await link.waitFor()
      const uri = new URL((await link.getAttribute('href')) ?? '')
      const secret = await factor.locator('.copyable .mono').innerText()
      expect([uri.protocol, uri.host, uri.searchParams.get('secret')]).toEqual(['otpauth:', 'totp', secret])
      expect(await factor.locator('img.qr').isVisible()).toBeFalse()
      expect([await findBarriers(phone), await fitsWidth(phone)]).toEqual([[], true])

      // A link of another customer asks before it replaces the session, and is not used up by the refusal.
      const foreign = await customerLink(shop, (await shop.newCustomer()).token)
      await phone.goto(foreign)
      await phone.getByText('In this browser you are signed in as phone-owner.').waitFor()
      expect([await findBarriers(phone), await fitsWidth(phone)]).toEqual([[], true])
      await phone.getByRole('button', { name: 'Stay signed in' }).click()
      await shown(phone.getByRole('heading', { name: 'Overview' }))
      await phone.goto(`${shop.url}/#/account`)
      await phone.getByText('phone-owner').first().waitFor()
      await phone.goto(foreign)
      await phone.getByRole('button', { name: 'Use the link' }).click()
      await shown(phone.getByRole('heading', { name: 'Overview' }))

      // Another tab signs out: the next call of this page is refused.
      const headers = { 'X-Turnpike-Console': '1' }
      expect((await phone.request.post(`${shop.url}/auth/v1/customer/sign-out`, { headers, data: {} })).ok()).toBe(true)
      await phone.goto(`${shop.url}/#/orders`)
      await phone.getByText('Your session has ended: it has expired, or it was ended on another device').waitFor()
      await session.context.close()
    },
  )

  longTest('a shop without pools, VPN and shared addresses does not offer them', async () => {
    const { dedicated, vpn: _vpn, ...list } = shipped()
    const { 3: _shared, ...kinds } = dedicated.kinds
    await applyCatalogue(shop.services, { ...list, dedicated: { ...dedicated, kinds }, premium: { pools: {} } })
    const other = await openVisitor(browser, shop.url)
    await other.page.goto(await customerLink(shop, (await shop.newCustomer()).token))
    await shown(other.page.getByRole('link', { name: 'Choose proxies' }))
    await other.page.getByRole('link', { name: 'Choose traffic' }).waitFor({ state: 'detached' })
    await other.page.getByRole('link', { name: 'Premium proxies' }).first().waitFor({ state: 'detached' })
    await other.page.goto(`${shop.url}/#/premium`)
    await shown(other.page.getByRole('heading', { name: 'Premium proxies are not sold here' }))
    expect(await other.page.getByRole('link', { name: 'VPN', exact: true }).count()).toBe(0)
    await other.page.goto(`${shop.url}/#/vpn`)
    await shown(other.page.getByRole('heading', { name: 'VPN is not sold here' }))
    expect(await other.page.getByRole('button', { name: /^Buy for/ }).count()).toBe(0)
    await other.page.goto(`${shop.url}/#/dedicated/buy`)
    await shown(other.page.getByRole('radio', { name: /IPv6 private/ }))
    await other.page.getByRole('radio', { name: /IPv4 shared/ }).waitFor({ state: 'detached' })
    await other.expectQuiet()
    await other.context.close()
  })

  test('the account page deletes the account only after the customer gives up the balance', async () => {
    await open('/account')
    const erasure = panel('Delete the account')
    const remove = erasure.getByRole('button', { name: 'Delete the account' })
    await erasure.getByLabel('Current password').fill(password)
    expect(await remove.isDisabled()).toBe(true)
    await erasure.getByLabel('End all my services now').check()
    await remove.click()
    await refused('The balance is')
    await erasure.getByLabel('I give up the balance of').check()
    await remove.click()
    await heading('Sign in')
    await signIn(password)
    await refused('Login, password or code is wrong.')
  })

  test('the pages logged no console error and sent no request to another host', () => visitor.expectQuiet())
})
