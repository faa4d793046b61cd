import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Browser, Page, Request } from 'playwright-core'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { startShopWithHistory } from '../harness/console-shop.ts'
import type { Service } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { vpnGatewayIsSeen } from '../harness/vpn.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findForeign } from './foreign.ts'
import { ofCustomers, ofNewcomers, ofOperators, type Scene } from './scenes.ts'
import { findAllBarriers, findCutOff, fitsWidth, openVisitor, shown, type Visitor } from './visitor.ts'

const looks = (['en-US', 'ru-RU'] as const).flatMap((locale) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    ([390, 1440] as const).map((width) => ({ locale, colorScheme, width })),
  ),
)
type Look = (typeof looks)[number]

/** A folder for pictures of all pages, for a person: `en-light-390/front.png`. */
const pictures = process.env['TURNPIKE_TEST_PICTURES']

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle fill="#0f7563" cx="4.5" cy="4.5" r="4"/></svg>'
const brand = 'Blue Gate'
const texts = {
  terms: { en: '# Terms\n\nPay first.\n\n- One\n- Two', ru: '# Условия\n\nСначала оплата.\n\n- Раз\n- Два' },
  privacy: { en: '# Privacy\n\nAddresses are kept.', ru: '# Данные\n\nАдреса хранятся.' },
} as const

/** Every page and state of the shop as visitors, customers and operators see it, in each of 8 looks. */
describe('looks', () => {
  let shop: Service
  let browser: Browser
  let smtp: SmtpServer
  let operators = 0
  let buyers = 0
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    const env = {
      TURNPIKE_FRONT: 'on',
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_GATEWAY_VPN: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
      TURNPIKE_CONTACT: 'help@shop.example',
    }
    ;[shop, browser] = await Promise.all([startShopWithHistory('sqlite', env), openChromium()])
    await vpnGatewayIsSeen(shop)
    const { brands } = shop.services
    for (const name of ['terms', 'privacy'] as const) {
      for (const language of ['en', 'ru'] as const) await brands.setText(name, language, texts[name][language])
    }
    await brands.setLines({ name: brand, accent: '#1d4ed8' })
    await brands.setImage('logo', Buffer.from(logo).toString('base64'))
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
    await smtp?.stop()
  })

  const openAs = ({ locale, colorScheme, width }: Look): Promise<Visitor> =>
    openVisitor(browser, shop.url, { locale, colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } })

  /** Looks at one page: takes its picture and keeps what is wrong with it. */
  function createEye({ page }: Visitor, look: Look) {
    const found: object[] = []
    const folder = `${look.locale.slice(0, 2)}-${look.colorScheme}-${look.width}`
    return {
      found,
      async see(name: string): Promise<void> {
        if (pictures !== undefined) {
          const isOver = (await page.getByRole('dialog').count()) > 0
          await page.screenshot({ path: join(pictures, folder, `${name}.png`), fullPage: !isOver })
        }
        // Only colours differ between the schemes.
        const rules = look.colorScheme === 'dark' ? { only: ['color-contrast'] } : {}
        const problems = [
          ...(await findAllBarriers(page, rules)),
          ...(await findCutOff(page)).map((each) => `cut off: ${each}`),
          ...(await findForeign(page, look.locale)).map((each) => `other language: ${each}`),
          ...((await fitsWidth(page)) ? [] : ['the page scrolls sideways']),
          ...((await page.title()).includes(brand) ? [] : ['the title lacks the name of the shop']),
        ]
        if (problems.length > 0) found.push({ name, problems })
      },
    }
  }
  type Eye = ReturnType<typeof createEye>

  /** Counts open requests of a page, without the feed's, which wait for news. */
  function watchRequests(page: Page): ReadonlySet<Request> {
    const open = new Set<Request>()
    page.on('request', (request) => request.url().includes('wait=') || open.add(request))
    page.on('requestfinished', (request) => open.delete(request))
    page.on('requestfailed', (request) => open.delete(request))
    return open
  }

  /** Waits until the page is drawn after its last answer: four frames without an open request. */
  async function settle(page: Page, open: ReadonlySet<Request>): Promise<void> {
    await shown(page.locator('#content h1'))
    for (let quiet = 0; quiet < 2; quiet += 1) {
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      if (open.size > 0) quiet = -1
    }
    await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' })
  }

  async function walk(look: Look, base: string, link: string, scenes: readonly Scene[]): Promise<object[]> {
    const visitor = await openAs(look)
    // Some scenes show refusals.
    visitor.allow(/status of 40/)
    const { page } = visitor
    await page.goto(link)
    await shown(page.locator('#content h1'))
    const eye = createEye(visitor, look)
    const requests = watchRequests(page)
    for (const { name, path, prepare } of scenes) {
      await page.goto(`${base}${path}`)
      await settle(page, requests)
      await prepare?.(page, shop)
      await settle(page, requests)
      await eye.see(name)
      if ((await page.getByRole('dialog').count()) > 0) await page.reload()
    }
    await visitor.expectQuiet()
    await visitor.context.close()
    return eye.found
  }

  /** From the public page over the order, the letter and the payment to what was bought. */
  async function buyAsVisitor(visitor: Visitor, eye: Eye): Promise<void> {
    const { page } = visitor
    await page.goto(shop.url)
    await eye.see('front')
    await page.locator('select[name=country]').selectOption('RU')
    await page.locator('input[name=count]').fill('100')
    await page
      .getByText(/10 % (from 100 pieces|от 100 шт\.)/)
      .last()
      .waitFor()
    await eye.see('front-calculated')
    await page.locator('summary').first().click()
    await eye.see('front-question')
    await page.locator('input[name=count]').fill('1')
    await page.goto(`${shop.url}/buy?product=dedicated&ipv=4&country=RU&period=30&count=1`)
    await eye.see('buy')
    await page.locator('input[name=email]').fill(`visitor-${(buyers += 1)}@example.com`)
    await page.locator('main button').click()
    const letter = (await smtp.until(buyers)).at(-1) ?? ''
    await shown(page.locator('main a[href*="/buy?"]'))
    await eye.see('letter-sent')
    expect(letter).toMatch(/^From: "?Blue Gate"? <shop@example\.com>$/m)
    const text = textOf(letter)
    // A letter with a link is in both languages: nothing tells the language of its reader.
    expect([/[а-яё]{4}/i.test(text), /[a-z]{4}/i.test(text)]).toEqual([true, true])
    await page.goto(/http\S+link=tpl_\w+/.exec(text)?.[0] ?? '')
    await eye.see('letter-opened')
    await page.locator('main button').click()
    const pay = page.locator('a[href*="/pay/"]')
    await shown(pay)
    await eye.see('visitor-pays')
    await pay.click()
    await shown(page.locator('button.button'))
    await eye.see('pay')
    await page.locator('button.button').click()
    const back = page.locator('a[href*="/account#"]')
    await shown(back)
    await eye.see('pay-paid')
    await back.click()
    await shown(page.locator('#content h1'))
    await settle(page, watchRequests(page))
    await eye.see('visitor-paid')
  }

  /** Pages without a session: sign-in, secret links, refusals, texts of the operator and the documentation. */
  async function readOthers(visitor: Visitor, eye: Eye): Promise<void> {
    const { page } = visitor
    const open = async (name: string, path: string) => {
      await page.goto(new URL(path, shop.url).href)
      await shown(page.locator('h1').first())
      await eye.see(name)
    }
    await open('terms', '/terms')
    await open('privacy', '/privacy')
    await open('buy-unknown', '/buy?product=nothing')
    await open('letter-unknown', '/buy/continue?link=tpl_nothing')
    await open('pay-unknown', '/pay/pay_nothing')
    await open('unsubscribe-unknown', '/unsubscribe/nothing')
    const { data } = await shop.get('/vpn/info')
    await open('link', data.subscription_url)
    await page
      .getByRole('link', { name: /WireGuard/ })
      .first()
      .click()
    await eye.see('link-code')
    await open('sign-in', '/account')
    await page.getByRole('textbox').first().fill('nothing@example.com')
    await page.locator('input[type=password]').fill('a wrong password')
    await page.locator('button[type=submit]').click()
    await shown(page.getByRole('alert'))
    await eye.see('sign-in-refused')
    await page.getByRole('button', { name: /^(Forgot your|Забыли)/ }).click()
    await eye.see('sign-in-forgotten')
    await open('register', '/account')
    await page.getByRole('button', { name: /^(Sign up|Регистрация)$/ }).click()
    await eye.see('register')
    await open('link-used', '/account#enter=tpl_nothing')
    await shown(page.getByText(/link no longer works|Ссылка больше не действует/))
    await eye.see('link-used')
    await open('operator-sign-in', '/operator')
  }

  for (const look of looks) {
    const { locale, colorScheme, width } = look
    const name = `at ${width} px, ${colorScheme}, ${locale}`

    test(`all pages of a visitor ${name}: axe finds nothing, nothing is cut off, no text in the other language`, async () => {
      const visitor = await openAs(look)
      visitor.allow(/status of 40/)
      const eye = createEye(visitor, look)
      await readOthers(visitor, eye)
      await buyAsVisitor(visitor, eye)
      expect(eye.found).toEqual([])
      await visitor.expectQuiet()
      await visitor.context.close()
    })

    test(`all pages of a customer ${name}: axe finds nothing, nothing is cut off, no text in the other language`, async () => {
      const base = `${shop.url}/account`
      const { token } = await shop.newCustomer()
      const found = [
        ...(await walk(look, base, await customerLink(shop, token), ofNewcomers)),
        ...(await walk(look, base, await customerLink(shop, shop.token), ofCustomers)),
      ]
      expect(found).toEqual([])
    })

    test(`all pages of an operator ${name}: axe finds nothing, nothing is cut off, no text in the other language`, async () => {
      const link = await operatorLink(shop, `looker-${(operators += 1)}`, 'owner')
      expect(await walk(look, `${shop.url}/operator`, link, ofOperators)).toEqual([])
    })
  }
})
