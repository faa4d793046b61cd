import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { CustomerId } from '../../src/kernel/ids.ts'
import { kopecks } from '../../src/kernel/money.ts'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { openConsoleRoad } from '../harness/console-shop.ts'
import { enginesOf } from '../harness/database.ts'
import { type Road, startOrigin } from '../harness/gateway.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Introduced, introduce } from '../providers/shop.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { expectCountdown, readCode } from './paying.ts'
import { findBarriers, openVisitor, shown, type Visitor } from './visitor.ts'

/** One customer and one operator, each in one page, with three ways to pay. Tests run in order. */
describe.each([...enginesOf('postgres')])('payments story on %s', (engine) => {
  let shop: Road
  let browser: Browser
  let origin: ReturnType<typeof startOrigin>
  let card: Introduced
  let crypto: Introduced
  let visitor: Visitor
  let page: Page
  let operator: Visitor
  let token: string
  let customer: CustomerId
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([openConsoleRoad(engine), openChromium()])
    origin = startOrigin()
    card = await introduce(shop.services, 'yookassa')
    crypto = await introduce(shop.services, 'crypto_pay')
    for (const { provider, side } of [card, crypto]) {
      side.listener = `${shop.url}/api/v1/payments/notify/${provider}`
    }
    const invoice = { methods: undefined, min: new Map(), max: new Map(), fee: new Map([['transfer', '1']]) }
    const settings = new Map([['details', 'Account 42']])
    await shop.services.providers.set('invoice', { ...invoice, settings, secret: undefined })
    ;({ token, customer } = await shop.newCustomer())
    visitor = await openVisitor(browser, shop.url)
    visitor.allow(/status of 400/)
    page = visitor.page
    await page.goto(await customerLink(shop, token))
    await shown(page.getByRole('heading', { name: 'Overview' }))
    operator = await openVisitor(browser, shop.url)
    await operator.page.goto(await operatorLink(shop, 'support', 'support'))
    await operator.page.getByRole('link', { name: 'Payments' }).click()
    await shown(operator.page.getByRole('heading', { name: 'Payments' }))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await card?.side.stop()
    await crypto?.side.stop()
    await origin?.stop()
    await shop?.stop()
  })

  const balance = async (): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub
  const newest = async () => (await shop.get('/payments?limit=1', { token })).data.payments[0]
  const billOf = async ({ side }: Introduced) => {
    const { payment_id } = await newest()
    const bill = [...side.bills.values()].find((each) => each.mark === payment_id)
    if (!bill) throw new Error('the provider has no bill for the payment')
    return bill
  }
  /** Opens the money page and asks to pay; a double click must open one payment. */
  async function begin(roubles: number, method: string): Promise<void> {
    await page.goto(`${shop.url}/#/money`)
    await page.getByLabel('Amount').fill(String(roubles))
    await page.getByLabel('How to pay').selectOption(method)
    await page.getByRole('button', { name: 'Pay', exact: true }).dblclick()
    await page.getByRole('img', { name: 'QR code of the payment' }).waitFor()
  }
  const payAnother = () => page.getByRole('button', { name: 'Another payment' }).click()
  /** Follows the link to the page where one pays, presses a button there, and returns that page. */
  async function goAndPress(button: string): Promise<Page> {
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Open the page to pay' }).click()
    const paying = await opening
    await paying.getByRole('button', { name: button }).click()
    return paying
  }
  /** The sandbox's page offers a way back; a provider's page redirects. Nothing else is loaded. */
  async function payInSandbox(): Promise<void> {
    const paying = await goAndPress('Pay')
    await paying.getByRole('link', { name: /^Back to/ }).waitFor()
    await paying.close()
  }
  async function pressAtProvider(button: string): Promise<void> {
    const paying = await goAndPress(button)
    await paying.waitForURL(`${shop.url}/**`, { waitUntil: 'commit' })
    await paying.close()
  }
  /** The row of the newest payment in the operator's list, which is read again. */
  async function rowOfNewest() {
    const { payment_id } = await newest()
    await operator.page.reload()
    return operator.page.getByRole('row', { name: payment_id })
  }
  const dialog = () => operator.page.getByRole('dialog')

  test('Buy now with too little money takes one payment for the difference and buys one proxy that Chromium can use', async () => {
    await page.goto(`${shop.url}/#/dedicated/buy`)
    await page.getByRole('radio', { name: /France/ }).check({ force: true })
    await page.getByLabel('How to pay').selectOption('sandbox')
    await page.getByRole('button', { name: /^Pay ₽.* and buy$/ }).dblclick()
    await page.getByText('It is bought by itself as soon as the money has come').waitFor()
    await payInSandbox()
    await page.getByText('It is yours.').waitFor()
    await page.getByRole('link', { name: 'Show it' }).click()
    await page.getByRole('heading', { name: 'Dedicated proxies' }).waitFor()
    const { payments } = (await shop.get('/payments', { token })).data
    expect([payments.length, payments[0].then.state, await balance()]).toEqual([1, 'bought', 0])
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

  test('a card payment returns from the provider’s page, and the operator’s refund leaves the spent ₽299 owed', async () => {
    await begin(1000, card.method)
    expect(await readCode(page)).toBe((await newest()).pay_url)
    const paying = await goAndPress('Pay')
    await shown(paying.getByRole('heading', { name: 'Money' }))
    await paying.close()
    await page.getByText('₽1,000 has come to your balance.').waitFor()
    expect((await shop.post('/vpn/buy', { period: 1 }, { token })).data.price_rub).toBe(299)
    const row = await rowOfNewest()
    await row.getByRole('button', { name: 'Give back' }).click()
    await dialog().getByLabel('Even if it was spent').check()
    await dialog().locator('button[type=submit]').dblclick()
    await row.getByText('Gone back').waitFor()
    expect([await balance(), (await billOf(card)).backHundredths]).toEqual([-299, 100_000])
  })

  test('a bank transfer of ₽1,000 shows ₽1,010 with the 1 % fee, and the operator marks it as paid once', async () => {
    await payAnother()
    await begin(1000, 'transfer')
    await page.getByRole('heading', { name: 'Pay ₽1,010' }).waitFor()
    const { payment_id, pay_url } = await newest()
    const instructions = await (await fetch(pay_url)).text()
    for (const text of ['1010.00 RUB', 'Account 42', payment_id]) expect(instructions).toContain(text)
    const row = await rowOfNewest()
    await row.getByRole('button', { name: 'Mark as paid' }).click()
    await dialog().getByLabel('Note').fill('statement 17')
    await dialog().locator('button[type=submit]').dblclick()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('₽1,000 has come to your balance.').waitFor()
    expect(await balance()).toBe(701)
  })

  test('the page says that a payment was cancelled or has expired, and offers another one', async () => {
    await payAnother()
    await begin(300, card.method)
    await pressAtProvider('Give up')
    await page.getByText('The payment was cancelled.').waitFor()
    await payAnother()
    await begin(300, crypto.method)
    const { id } = await billOf(crypto)
    crypto.side.end(id)
    await fetch(crypto.side.listener ?? '', { method: 'POST', ...crypto.side.tell(id) })
    await page.getByText('The time to pay is over.').waitFor()
    expect(await balance()).toBe(701)
  })

  test('₽123 paid instead of ₽300 credits nothing until the operator assigns it to the customer', async () => {
    await payAnother()
    await begin(300, card.method)
    Object.assign(await billOf(card), { hundredths: 12_300 })
    await pressAtProvider('Pay')
    await operator.page.reload()
    const notices = operator.page.getByRole('table', { name: 'What no payment explains' })
    await notices.getByText('another amount was paid than was asked for').waitFor()
    expect([(await newest()).status, await balance()]).toEqual(['pending', 701])
    await notices.getByRole('button', { name: 'Deal with it' }).click()
    await dialog().getByLabel('Credit to').fill(customer)
    await dialog().locator('button[type=submit]').click()
    await operator.page.getByText('Everything is explained').waitFor()
    expect(await balance()).toBe(824)
  })

  test('a sandbox payment of ₽1,000 with a 10 % code shows its QR code and countdown, and credits ₽1,100', async () => {
    const terms = { least: kopecks(50_000n), uses: null, untilAt: null, note: 'test' }
    await shop.services.codes.add({ ...terms, code: 'SPRING', kind: 'percent', value: 1000n })
    await payAnother()
    await page.getByLabel('Code, if you have one').fill('WINTER')
    await page.getByText('code: is not a code of this shop').waitFor()
    await page.getByLabel('Code, if you have one').fill('spring')
    await page.getByText('The code adds ₽100.00: the balance grows by ₽1,100.00.').waitFor()
    await begin(1000, 'sandbox')
    const { pay_url, expires_at } = await newest()
    expect(await readCode(page)).toBe(pay_url)
    await expectCountdown(page, expires_at)
    expect(await findBarriers(page)).toEqual([])
    await payInSandbox()
    await page.getByText('₽1,000 has come to your balance.').waitFor()
    expect(await balance()).toBe(824 + 1100)
    expect((await shop.get('/payments', { token })).data.payments).toHaveLength(7)
  })

  test('the pages logged no console error, and verify finds no fault in the books', async () => {
    await visitor.expectQuiet()
    await operator.expectQuiet()
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
