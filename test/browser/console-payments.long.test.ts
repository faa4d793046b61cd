import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { kopecks } from '../../src/core/money.ts'
import { curl } from '../harness/clients.ts'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { openConsoleShop } from '../harness/console-shop.ts'
import { enginesOf } from '../harness/database.ts'
import { type ShopWithGateway, startOrigin } from '../harness/gateway.ts'
import { urlOf } from '../harness/library-clients.ts'
import { isLong } from '../harness/scale.ts'
import { findingsOf } from '../harness/wired.ts'
import type { Bill } from '../providers/other-side.ts'
import { type Introduced, introduce } from '../providers/shop.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { expectCountdown, paymentRow, readCode } from './paying.ts'
import { findBarriers, openVisitor, type Visitor } from './visitor.ts'

type Provider = 'yookassa' | 'crypto_pay' | 'platega'

describe.each([...enginesOf('postgres')])('payments in the console, on %s', (engine) => {
  let shop: ShopWithGateway
  let browser: Browser
  let origin: ReturnType<typeof startOrigin>
  const sides = new Map<Provider, Introduced>()
  const visitors: Visitor[] = []
  let operator: Visitor | undefined
  beforeAll(async () => {
    ;[shop, browser] = await Promise.all([openConsoleShop(engine), openChromium()])
    origin = startOrigin()
    const { providers } = shop.services
    for (const provider of ['yookassa', 'crypto_pay', 'platega'] as const) {
      const introduced = await introduce(shop.services, provider)
      introduced.side.listener = `${shop.url}/api/v1/payments/notify/${provider}`
      sides.set(provider, introduced)
    }
    const none = { methods: undefined, min: new Map(), max: new Map(), fee: new Map([['transfer', '1']]) }
    await providers.set('invoice', { ...none, settings: new Map([['details', 'Account 42']]), secret: undefined })
  }, readyWithinMs)
  afterAll(async () => {
    await operator?.expectQuiet()
    await browser.close()
    for (const { side } of sides.values()) await side.stop()
    await origin.stop()
    await shop.stop()
  })
  afterEach(async () => {
    for (const visitor of visitors.splice(0)) {
      await visitor.expectQuiet()
      await visitor.context.close()
    }
  })

  async function enter(): Promise<{ page: Page; token: string; customer: string }> {
    const { token, customer } = await shop.newCustomer()
    const visitor = await openVisitor(browser, shop.url)
    visitors.push(visitor)
    await visitor.page.goto(await customerLink(shop, token))
    await visitor.page.getByRole('heading', { name: 'Overview' }).waitFor()
    return { page: visitor.page, token, customer }
  }
  /** The operator keeps one browser; each call reloads its page. */
  async function openOperatorPage(): Promise<Page> {
    if (operator) await operator.page.reload()
    else {
      operator = await openVisitor(browser, shop.url)
      await operator.page.goto(await operatorLink(shop, 'support', 'support'))
      await operator.page.getByRole('link', { name: 'Payments' }).click()
    }
    await operator.page.getByRole('heading', { name: 'Payments' }).waitFor()
    return operator.page
  }
  const balanceOf = async (token: string): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub
  const newestOf = async (token: string) => (await shop.get('/payments?limit=1', { token })).data.payments[0]
  const billOf = async (provider: Provider, token: string): Promise<Bill> => {
    const { payment_id } = await newestOf(token)
    const bill = [...(sides.get(provider)?.side.bills.values() ?? [])].find((each) => each.mark === payment_id)
    if (!bill) throw new Error('nothing was opened')
    return bill
  }

  /** Begins a payment on the money page. */
  async function begin(page: Page, roubles: number, method: string): Promise<void> {
    await page.goto(`${shop.url}/#/money`)
    await page.getByLabel('Amount').fill(String(roubles))
    await page.getByLabel('Payment method').selectOption(method)
    const code = page.getByRole('img', { name: 'QR code of the payment' })
    expect(await code.count()).toBe(0)
    await page.getByRole('button', { name: 'Pay', exact: true }).dblclick()
    await code.waitFor()
  }
  /** Opens the provider's page, presses a button there, and returns to the shop if `isComingBack`. */
  async function goAndPress(page: Page, button: string, isComingBack = true): Promise<void> {
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Open the payment page' }).click()
    const paying = await opening
    const pressed = paying.getByRole('button', { name: button })
    await pressed.waitFor()
    const isOurs = paying.url().startsWith(shop.url)
    await pressed.click()
    const back = paying.getByRole('link', { name: /^Back to/ })
    if (isOurs) await (isComingBack ? back.click() : back.waitFor())
    if (isComingBack) await paying.getByRole('heading', { name: 'Payment' }).waitFor()
    await paying.close()
  }
  async function buyProxy(page: Page): Promise<void> {
    await page.goto(`${shop.url}/#/dedicated/buy`)
    await page.getByRole('radio', { name: /Germany/ }).check({ force: true })
    await page.getByRole('button', { name: /^Buy for ₽/ }).click()
    await page.getByRole('heading', { name: 'Your proxies are ready' }).waitFor()
  }
  /** Buys through the API, for tests that are not about the purchase page. */
  async function spend(token: string): Promise<void> {
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    expect((await shop.post('/dedicated/buy', order, { token })).status).toBe(200)
  }
  async function expectUsable(token: string): Promise<void> {
    const { data } = await shop.get('/dedicated/list', { token })
    expect(data.proxies).toHaveLength(1)
    const used = await curl('-x', urlOf('http', data.proxies[0]), origin.url)
    expect(used).toMatchObject({ exit: 0, status: 200 })
  }
  /** The operator refunds a whole payment; the spent part becomes a debt. */
  async function refundPayment(token: string, isPossible = true): Promise<Page> {
    const page = await openOperatorPage()
    // The preview of a refund of spent money is refused until the debt is accepted.
    operator?.allow(/status of 409/)
    await paymentRow(page, (await newestOf(token)).payment_id)
      .getByRole('button', { name: 'Refund' })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Even if spent').check()
    if (isPossible) await dialog.locator('button[type=submit]').dblclick()
    return page
  }
  const expectRefunded = async (page: Page, token: string): Promise<void> =>
    paymentRow(page, (await newestOf(token)).payment_id)
      .getByText('Refunded', { exact: true })
      .waitFor()

  test('a sandbox payment shows its QR code and countdown, is credited, spent and refunded into debt', async () => {
    const { page, token } = await enter()
    await begin(page, 1000, 'sandbox')
    const { pay_url } = await newestOf(token)
    expect(await readCode(page)).toBe(pay_url)
    const link = page.getByRole('link', { name: 'Open the payment page' })
    expect(await link.getAttribute('href')).toMatch(/\/pay\/.*\?language=en&zone=\w/)
    const tops = [link, page.locator('img.qr')].map(async (each) => (await each.boundingBox())?.y ?? Number.NaN)
    const [linkTop = 0, codeTop = 0] = await Promise.all(tops)
    expect(linkTop).toBeLessThan(codeTop)
    await expectCountdown(page, (await newestOf(token)).expires_at)
    expect(await findBarriers(page)).toEqual([])
    await goAndPress(page, 'Pay')
    await page.getByText('₽1,000 was added to your balance.').waitFor()
    expect([await balanceOf(token), (await shop.get('/payments', { token })).data.payments.length]).toEqual([1000, 1])
    await buyProxy(page)
    await expectUsable(token)
    const spent = 1000 - (await balanceOf(token))
    await expectRefunded(await refundPayment(token), token)
    await page.goto(`${shop.url}/#/money`)
    await page.getByText(/payment taken back/).waitFor()
    expect(await balanceOf(token)).toBe(-spent)
  })

  test('a promotion code shows its bonus before the payment, and an invalid one its reason', async () => {
    const terms = { least: kopecks(50_000n), uses: null, untilAt: null, note: 'test' }
    await shop.services.codes.add({ ...terms, code: 'SPRING', kind: 'percent', value: 1000n })
    const { page, token } = await enter()
    visitors.at(-1)?.allow(/status of 400/)
    await page.goto(`${shop.url}/#/money`)
    await page.getByLabel('Payment method').selectOption('sandbox')
    await page.getByLabel('Promo code (optional)').fill('WINTER')
    await page.getByText('code: is not a code of this shop').waitFor()
    await page.getByLabel('Promo code (optional)').fill('spring')
    await page.getByText('The code adds ₽100.00: the balance grows by ₽1,100.00.').waitFor()
    await page.getByLabel('Amount').fill('300')
    await page.getByText('code: applies to top-ups of at least 500.00 RUB').waitFor()
    await page.getByLabel('Amount').fill('700')
    await page.getByText('The code adds ₽70.00: the balance grows by ₽770.00.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await goAndPress(page, 'Pay', false)
    await page.getByText('₽770 was added to your balance.').waitFor()
    expect(await page.getByText('Promo code bonus').locator('..').innerText()).toContain('₽70.00')
    expect(await balanceOf(token)).toBe(770)
  })

  test('a customer without enough money pays the difference on the purchase page, and the shop buys once', async () => {
    const { page, token } = await enter()
    await page.goto(`${shop.url}/#/dedicated/buy`)
    await page.getByRole('radio', { name: /France/ }).check({ force: true })
    await page.getByLabel('Payment method').selectOption('sandbox')
    await page.getByRole('button', { name: /^Pay ₽.* and buy$/ }).dblclick()
    await page.getByText('is made automatically when the payment arrives').waitFor()
    await goAndPress(page, 'Pay', false)
    await page.getByText('Purchase completed.').waitFor()
    await page.getByRole('link', { name: 'Show the purchase' }).click()
    await page.getByRole('heading', { name: 'Dedicated proxies' }).waitFor()
    await expectUsable(token)
    const payments = (await shop.get('/payments', { token })).data.payments
    expect([payments.length, payments[0].purchase.state, await balanceOf(token)]).toEqual([1, 'bought', 0])
  })

  test.each(isLong ? (['yookassa', 'crypto_pay', 'platega'] as const) : (['yookassa'] as const))(
    'a payment by %s returns from its page, is credited and spent, and its refund becomes a debt',
    async (provider) => {
      const { page, token } = await enter()
      const method = sides.get(provider)?.method ?? ''
      await begin(page, 1000, method)
      expect(await readCode(page)).toBe((await newestOf(token)).pay_url)
      await goAndPress(page, 'Pay')
      await page.getByText('₽1,000 was added to your balance.').waitFor()
      await spend(token)
      await expectUsable(token)
      const spent = 1000 - (await balanceOf(token))
      const refunding = await refundPayment(token, provider !== 'crypto_pay')
      if (provider === 'crypto_pay') {
        await refunding.getByText('crypto_pay has no refunds by API').waitFor()
        expect(await balanceOf(token)).toBe(1000 - spent)
        return
      }
      await expectRefunded(refunding, token)
      expect([await balanceOf(token), (await billOf(provider, token)).backHundredths]).toEqual([-spent, 100_000])
    },
  )

  test('a bank transfer shows amount and account, and the operator marks it as paid once', async () => {
    const { page, token } = await enter()
    await begin(page, 1000, 'transfer')
    await page.getByRole('heading', { name: 'Pay ₽1,010' }).waitFor()
    await page.getByText(/Time left: 1[34] days/).waitFor()
    const { payment_id, pay_url } = await newestOf(token)
    const shown = await (await fetch(pay_url)).text()
    for (const text of ['₽1,010', 'Account 42', payment_id]) expect(shown).toContain(text)
    const marking = await openOperatorPage()
    await marking.getByLabel('State').selectOption('pending')
    await paymentRow(marking, payment_id).getByRole('button', { name: 'Mark as paid' }).click()
    await marking.getByRole('dialog').getByLabel('Note').fill('statement 17')
    await marking.getByRole('dialog').locator('button[type=submit]').dblclick()
    await marking.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('₽1,000 was added to your balance.').waitFor()
    expect(await balanceOf(token)).toBe(1000)
    await spend(token)
    await expectUsable(token)
    const refunding = await refundPayment(token)
    await expectRefunded(refunding, token)
    expect(await balanceOf(token)).toBeLessThan(0)
    expect(await findBarriers(refunding)).toEqual([])
  })

  test('a cancelled and an expired payment show their state, and another payment can be begun', async () => {
    const { page, token } = await enter()
    await begin(page, 300, 'card')
    await goAndPress(page, 'Give up')
    await page.getByText('The payment was cancelled.').waitFor()
    await page.getByRole('button', { name: 'New payment' }).click()
    await begin(page, 300, 'crypto')
    const { id } = await billOf('crypto_pay', token)
    const side = sides.get('crypto_pay')?.side
    side?.end(id)
    await fetch(side?.listener ?? '', { method: 'POST', ...side?.notificationOf(id) })
    await page.getByText('The time to pay has expired.').waitFor()
    expect(await balanceOf(token)).toBe(0)
  })

  test('a payment of another amount credits nothing, stays pending, and appears as a notice to the operator', async () => {
    const { page, token, customer } = await enter()
    await begin(page, 300, 'card')
    Object.assign(await billOf('yookassa', token), { hundredths: 12_300 })
    await goAndPress(page, 'Pay')
    const explaining = await openOperatorPage()
    const notices = explaining.getByRole('table', { name: 'Unmatched notices' })
    await notices.getByText('the paid amount differs from the requested one').waitFor()
    await page.reload()
    await page.getByText('Time left:').waitFor()
    expect([(await newestOf(token)).status, await balanceOf(token)]).toEqual(['pending', 0])
    await notices.getByRole('button', { name: 'Resolve' }).click()
    await explaining.getByRole('dialog').getByLabel('Credit to').fill(customer)
    await explaining.getByRole('dialog').locator('button[type=submit]').click()
    await explaining.getByText('No unmatched notices').waitFor()
    expect(await balanceOf(token)).toBe(123)
  })

  test('verify finds nothing wrong after all payments', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
