import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { openVisitor, shown } from './visitor.ts'

const widths = [390, 1440] as const
type Width = (typeof widths)[number]

/** A hand that counts its presses, and how often it must scroll to find what it needs (a hesitation). */
class Hand {
  presses = 0
  hesitations = 0
  constructor(readonly page: Page) {}

  async find(target: Locator): Promise<void> {
    const box = await this.#boxOf(target)
    const height = this.page.viewportSize()?.height ?? 0
    const isSeen = box.y >= 0 && box.y + Math.min(box.height, 40) <= height
    if (!isSeen) this.hesitations += 1
    await target.scrollIntoViewIfNeeded()
  }
  /** Where an element is once it is at the same place in two frames: a page that is still drawn moves its parts. */
  async #boxOf(target: Locator): Promise<{ readonly y: number; readonly height: number }> {
    for (;;) {
      await shown(target)
      const first = await target.boundingBox()
      await this.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      const box = await target.boundingBox()
      if (box !== null && box.y === first?.y) return box
    }
  }
  async press(target: Locator): Promise<void> {
    await this.find(target)
    this.presses += 1
    await target.click()
  }
  /** A press into the field; keys are not presses. */
  async type(field: Locator, text: string): Promise<void> {
    await this.find(field)
    this.presses += 1
    await field.fill(text)
  }
  /** A press opens the list, and another one chooses. */
  async choose(field: Locator, value: string): Promise<void> {
    await this.find(field)
    this.presses += 2
    await field.selectOption(value)
  }
  /** A page of the menu, which is a drawer on a phone. */
  async open(name: string): Promise<void> {
    const link = this.page.getByRole('link', { name, exact: true }).first()
    const drawer = this.page.getByRole('button', { name: 'Menu', exact: true })
    if (await drawer.isVisible()) {
      await this.press(drawer)
      await shown(this.page.getByRole('dialog').getByRole('link', { name, exact: true }))
      await this.press(this.page.getByRole('dialog').getByRole('link', { name, exact: true }))
      await this.page.getByRole('dialog').waitFor({ state: 'detached' })
    } else await this.press(link)
  }
  button(name: string | RegExp): Promise<void> {
    return this.press(this.page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) }).first())
  }
}

/** The most presses and hesitations of each task, at 390 and at 1440 pixels. Raise a number only with a reason. */
const most: Readonly<Record<string, Readonly<Record<Width, readonly [presses: number, hesitations: number]>>>> = {
  'the price of 100 private IPv4 addresses in Russia': { 390: [3, 1], 1440: [3, 1] },
  'the price of a year of VPN': { 390: [0, 1], 1440: [0, 1] },
  'what happens at the end of a term': { 390: [1, 1], 1440: [1, 1] },
  'order a proxy in Russia, up to the letter': { 390: [5, 2], 1440: [5, 1] },
  'from the letter to the line of the proxy': { 390: [6, 0], 1440: [6, 0] },
  'buy one more proxy and copy its line': { 390: [5, 0], 1440: [4, 0] },
  'check whether all proxies work': { 390: [5, 0], 1440: [4, 0] },
  'buy a VPN and get its code for a phone': { 390: [3, 1], 1440: [2, 0] },
  'refund the unused part of the newest order': { 390: [4, 1], 1440: [3, 0] },
  "save this month's payments for the bookkeeper": { 390: [4, 1], 1440: [3, 1] },
}

/** Ten tasks of a newcomer: five on the public page, three as a customer, two as an operator. Tests run in order. */
describe.each([...widths])('ten tasks at %i pixels', (width) => {
  let smtp: SmtpServer
  let shop: Service
  let browser: Browser
  let hand: Hand
  let token: string
  const email = 'vera@example.com'
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    const env = {
      TURNPIKE_FRONT: 'on',
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
    }
    ;[shop, browser] = await Promise.all([startService('sqlite', env), openChromium()])
    ;({ token } = await shop.newCustomer(50_000n))
    await shop.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 3, ipv: 4 }, { token })
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
    await smtp?.stop()
  })

  async function begin(url: string): Promise<Page> {
    const viewport = { width, height: width === 390 ? 844 : 900 }
    const { page } = await openVisitor(browser, shop.url, { viewport })
    await page.goto(url)
    hand = new Hand(page)
    return page
  }
  async function beginIn(link: string): Promise<Page> {
    const page = await begin(link)
    await shown(page.locator('#content h1'))
    await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
    return page
  }
  /** A line of a proxy is in the clipboard. */
  async function expectLine(page: Page): Promise<void> {
    const line = /^[\d.]+:\d+:\w+:\S+$/
    await untilTrue(async () => line.test(await page.evaluate<string>('navigator.clipboard.readText()')))
  }
  function task(name: string, work: () => Promise<void>): void {
    test(`${name} takes no more presses than it did`, async () => {
      await work()
      const { presses, hesitations } = hand
      const [maxPresses = 0, maxHesitations = 0] = most[name]?.[width] ?? []
      expect({ presses, isWithin: presses <= maxPresses }).toEqual({ presses, isWithin: true })
      expect({ hesitations, isWithin: hesitations <= maxHesitations }).toEqual({ hesitations, isWithin: true })
    })
  }

  task('the price of 100 private IPv4 addresses in Russia', async () => {
    const page = await begin(`${shop.url}/?lang=en`)
    await hand.choose(page.getByLabel('Country'), 'RU')
    await hand.type(page.getByLabel('Number'), '100')
    await page.getByText('10 % from 100 pieces, 5 % from 30 days').last().waitFor()
    await hand.find(page.locator('#result .price'))
  })

  task('the price of a year of VPN', async () => {
    const page = await begin(`${shop.url}/?lang=en`)
    await hand.find(page.locator('#vpn').getByText('12 months'))
  })

  task('what happens at the end of a term', async () => {
    const page = await begin(`${shop.url}/?lang=en`)
    await hand.press(page.locator('summary', { hasText: 'What happens at the end of the term?' }))
    await hand.find(page.getByText('A proxy can be prolonged with the same address'))
  })

  task('order a proxy in Russia, up to the letter', async () => {
    const page = await begin(`${shop.url}/?lang=en`)
    await hand.choose(page.getByLabel('Country'), 'RU')
    await hand.press(page.locator('#result').getByRole('link', { name: 'Buy' }))
    await hand.type(page.getByLabel('E-mail address'), email)
    await hand.button('Continue')
    await shown(page.getByRole('heading', { name: 'Open the letter' }))
    await smtp.until(1)
  })

  task('from the letter to the line of the proxy', async () => {
    const letter = smtp.letters().find((each) => each.includes(`To: ${email}`)) ?? ''
    const link = /link=(tpl_\w+)/.exec(textOf(letter))?.[1] ?? ''
    const page = await begin(`${shop.url}/buy/continue?lang=en&link=${link}`)
    await hand.button('Continue')
    await hand.press(page.getByRole('link', { name: /^Pay ₽/ }))
    await hand.press(page.locator('button.button'))
    await hand.press(page.locator('a[href*="/account#"]').first())
    await hand.press(page.getByRole('link', { name: 'Show the purchase' }))
    await hand.button(/^Copy: /)
    await expectLine(page)
  })

  task('buy one more proxy and copy its line', async () => {
    const page = await beginIn(await customerLink(shop, token))
    await hand.open('Dedicated proxies')
    await hand.press(page.getByRole('link', { name: 'Buy proxies' }).first())
    await hand.button(/^Buy for/)
    await shown(page.getByRole('heading', { name: 'Your proxies are ready' }))
    await hand.button('Copy')
    await expectLine(page)
  })

  task('check whether all proxies work', async () => {
    const page = await beginIn(await customerLink(shop, token))
    await hand.open('Dedicated proxies')
    await hand.press(page.getByLabel('Select all', { exact: true }))
    await hand.press(page.getByRole('toolbar').getByRole('button', { name: 'Check' }))
    await hand.press(page.getByRole('dialog').getByRole('button', { name: 'Check all' }))
    // No gateway runs here.
    await hand.find(page.getByText('0 work, 4 do not.'))
  })

  task('buy a VPN and get its code for a phone', async () => {
    const page = await beginIn(await customerLink(shop, token))
    await hand.open('VPN')
    await hand.button(/^Buy for/)
    await hand.find(page.getByRole('img', { name: /QR/ }).first())
  })

  task('refund the unused part of the newest order', async () => {
    const page = await beginIn(await operatorLink(shop, `refunder-${width}`, 'owner'))
    await hand.open('Orders')
    await hand.press(page.getByRole('table', { name: 'Orders' }).getByRole('button', { name: 'Refund' }).first())
    await hand.press(page.getByRole('dialog').locator('button[type=submit]'))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await shown(
      page
        .getByRole('table', { name: 'Orders' })
        .getByText(/^(Refunded|Partly refunded)$/)
        .first(),
    )
  })

  task("save this month's payments for the bookkeeper", async () => {
    const page = await beginIn(await operatorLink(shop, `bookkeeper-${width}`, 'owner'))
    await hand.open('Reports')
    await hand.button('This month')
    const saved = page.waitForEvent('download')
    await hand.button('CSV: payments')
    await saved
  })
})
