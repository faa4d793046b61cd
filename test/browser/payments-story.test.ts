import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { openConsoleShop } from '../harness/console-shop.ts'
import { enginesOf } from '../harness/database.ts'
import { type ShopWithGateway, startOrigin } from '../harness/gateway.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { expectCountdown, paymentRow, readCode } from './paying.ts'
import { findBarriers, openVisitor, shown, type Visitor } from './visitor.ts'

/** One customer and one operator, each in one page, with three payment methods. Tests run in order. */
describe.each([...enginesOf('sqlite')])('payments story on %s', (engine) => {
  let shop: ShopWithGateway
  let browser: Browser
  let origin: ReturnType<typeof startOrigin>
  let card: Introduced
  let visitor: Visitor
  let page: Page
  let operator: Visitor
  let token: string
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([openConsoleShop(engine), openChromium()])
    origin = startOrigin()
    card = await introduce(shop.services, 'yookassa')
    card.side.listener = `${shop.url}/api/v1/payments/notify/yookassa`
    const invoice = { methods: undefined, min: new Map(), max: new Map(), fee: new Map([['transfer', '1']]) }
    const settings = new Map([['details', 'Account 42']])
    await shop.services.providers.set('invoice', { ...invoice, settings, secret: undefined })
    ;({ token } = await shop.newCustomer())
    visitor = await openVisitor(browser, shop.url)
    page = visitor.page
    await page.goto(await customerLink(shop, token))
    await shown(page.getByRole('heading', { name: 'Overview' }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await card?.side.stop()
    await origin?.stop()
    await shop?.stop()
  })

  const balance = async (): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub
  const newest = async () => (await shop.get('/payments?limit=1', { token })).data.payments[0]
  /** Opens the money page and presses Pay; a double click must open one payment. */
  async function begin(roubles: number, method: string): Promise<void> {
    await page.goto(`${shop.url}/#/money`)
    await page.getByLabel('Amount').fill(String(roubles))
    await page.getByLabel('Payment method').selectOption(method)
    await page.getByRole('button', { name: 'Pay', exact: true }).dblclick()
    await page.getByRole('img', { name: 'QR code of the payment' }).waitFor()
  }
  /** Opens the provider's page, presses a button there, and returns that page. */
  async function goAndPress(button: string): Promise<Page> {
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Open the payment page' }).click()
    const paying = await opening
    await paying.getByRole('button', { name: button }).click()
    return paying
  }
  test('a customer without enough money makes one payment for the difference and gets one working proxy', async () => {
    await page.goto(`${shop.url}/#/dedicated/buy`)
    await page.getByRole('radio', { name: /France/ }).check({ force: true })
    await page.getByLabel('Payment method').selectOption('sandbox')
    await page.getByRole('button', { name: /^Pay ₽.* and buy$/ }).dblclick()
    await page.getByText('is made automatically when the payment arrives').waitFor()
    // The page that comes back shows the same payment.
    await page.reload()
    await page.getByText('is made automatically when the payment arrives').waitFor()
    const paying = await goAndPress('Pay')
    await paying.getByRole('link', { name: /^Back to/ }).click()
    await paying.getByText('Balance now').waitFor()
    expect(paying.url()).toContain(`/#/payments/${(await newest()).payment_id}`)
    await paying.goto(`${shop.url}/#/money`)
    const spent = paying.getByRole('table', { name: 'Spending by product' })
    await spent.getByRole('cell', { name: 'Dedicated proxies' }).waitFor()
    await paying.getByRole('link', { name: 'Receipt' }).click()
    await paying.getByText('Added to the balance').waitFor()
    await paying.close()
    await shown(page.getByRole('heading', { name: 'Purchase completed.' }))
    expect(await page.getByText('Not enough money').count()).toBe(0)
    expect(await page.getByRole('button', { name: /^Buy for/ }).count()).toBe(0)
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect(await page.evaluate('scrollY')).toBe(0)
    await page.getByRole('link', { name: 'Show the purchase' }).click()
    await page.getByRole('heading', { name: 'Dedicated proxies' }).waitFor()
    const { payments } = (await shop.get('/payments', { token })).data
    expect([payments.length, payments[0].purchase.state, await balance()]).toEqual([1, 'bought', 0])
    const { proxies } = (await shop.get('/dedicated/list', { token })).data
    expect(proxies).toHaveLength(1)
    const [{ id, ip, port, username, password, exit_ip }] = proxies
    await page.goto(`${shop.url}/#/dedicated/${id}`)
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText(/It works: a connection took \d+ ms/).waitFor()
    const through = { proxy: { server: `http://${ip}:${port}`, username, password } }
    const used = await openVisitor(browser, origin.url, through)
    await used.page.goto(origin.url.replace('127.0.0.1', 'site.localhost'))
    expect(JSON.parse(await used.page.locator('pre').innerText())).toMatchObject({ from: exit_ip })
    await used.context.close()
  })

  test("a card payment of ₽1,000 shows its QR code and countdown, and returns from the provider's page", async () => {
    await begin(1000, card.method)
    const { pay_url, expires_at } = await newest()
    expect(await readCode(page)).toBe(pay_url)
    await expectCountdown(page, expires_at)
    expect(await findBarriers(page)).toEqual([])
    const paying = await goAndPress('Pay')
    await shown(paying.getByRole('heading', { name: 'Payment' }))
    await paying.close()
    await page.getByText('₽1,000 was added to your balance.').waitFor()
    expect(await balance()).toBe(1000)
  })

  test('the operator refunds a card payment of which ₽299 were spent, and marks a ₽1,000 transfer as paid once', async () => {
    const paid = await newest()
    expect((await shop.post('/vpn/buy', { period: 1 }, { token })).data.price_rub).toBe(299)
    await page.getByRole('button', { name: 'New payment' }).click()
    await begin(1000, 'transfer')
    await page.getByRole('heading', { name: 'Pay ₽1,010' }).waitFor()
    const { payment_id, pay_url } = await newest()
    const instructions = await (await fetch(pay_url)).text()
    for (const text of ['₽1,010', 'Account 42', payment_id]) expect(instructions).toContain(text)

    operator = await openVisitor(browser, shop.url)
    await operator.page.goto(await operatorLink(shop, 'support', 'support'))
    await operator.page.getByRole('link', { name: 'Payments' }).click()
    const dialog = operator.page.getByRole('dialog')
    // The preview of a refund of spent money is refused until the debt is accepted.
    operator.allow(/status of 409/)
    const back = paymentRow(operator.page, paid.payment_id)
    await back.getByRole('button', { name: 'Refund' }).click()
    await dialog.getByLabel('Even if spent').check()
    await dialog.locator('button[type=submit]').dblclick()
    await back.getByText('Refunded', { exact: true }).waitFor()
    const [bill] = card.side.bills.values()
    expect([await balance(), bill?.backHundredths]).toEqual([-299, 100_000])
    const waiting = paymentRow(operator.page, payment_id)
    await waiting.getByRole('button', { name: 'Mark as paid' }).click()
    await dialog.getByLabel('Note').fill('statement 17')
    await dialog.locator('button[type=submit]').dblclick()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('₽1,000 was added to your balance.').waitFor()
    expect(await balance()).toBe(1000 - 299)
  })

  test('the pages logged no console error, and verify finds no fault in the books', async () => {
    await visitor.expectQuiet()
    await operator.expectQuiet()
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
