import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { kopecks } from '../../src/core/money.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { customerLink, operatorLink } from '../harness/console-links.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { openChromium, readyWithinMs } from './chromium.ts'
import { findBarriers, fitsWidth, openVisitor, type Visitor } from './visitor.ts'

const password = 'correct horse battery'
/** The time step of the second factor: a code works once within it. */
const stepMs = 30_000

describe.each([...enginesOf('postgres')])('customer and operator accounts in the console, on %s', (engine) => {
  let smtp: SmtpServer
  let shop: Service
  let browser: Browser
  let visitor: Visitor
  let page: Page
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    const settings = {
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
    }
    ;[shop, browser] = await Promise.all([startService(engine, settings), openChromium()])
  }, readyWithinMs)
  afterAll(async () => {
    await browser?.close()
    await shop?.stop()
    await smtp?.stop()
  })
  afterEach(async () => {
    await visitor.expectQuiet()
    await visitor.context.close()
  })

  async function visit(options: BrowserContextOptions = {}): Promise<void> {
    visitor = await openVisitor(browser, shop.url, options)
    page = visitor.page
    // The browser logs the refusals that a test provokes, and ended sessions.
    visitor.allow(/status of 40[0149]/)
  }
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
  const refused = (text: string) => page.getByRole('alert').filter({ hasText: text }).waitFor()
  const type = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  const panel = (name: string) => page.locator('section', { has: page.getByRole('heading', { name, exact: true }) })

  /** The link in the last of so many letters, which the browser opens. */
  async function linkOf(letters: number): Promise<string> {
    const letter = (await smtp.until(letters)).at(-1) ?? ''
    const link = /http\S+\/#\w+=tpl_\w+/.exec(textOf(letter))?.[0]
    if (link === undefined) throw new Error(`no link in ${letter}`)
    expect(link).toStartWith(`${shop.url}/#`)
    return link
  }

  async function signIn(login: string, secret: string): Promise<void> {
    await type('Login', login)
    await type('Password', secret)
    await press('Sign in')
  }

  /** Finishes a registration with the password. */
  async function finish(secret: string): Promise<void> {
    await type('Password', secret)
    await press('Finish')
  }

  /** Credits the registered customer. */
  async function credit(roubles: bigint): Promise<void> {
    const { customers, db, ledger } = shop.services
    const found = (await customers.list('', 500)).find((each) => each.name === 'registered')
    if (!found) throw new Error('no customer has signed up')
    await db.transact((tx) => ledger.credit(tx, found.id, kopecks(roubles * 100n), 'operator', 'test'))
  }

  const codeOf = (secret: string): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: shop.clock.nowMs })
  const wrongCode = (secret: string): string => (codeOf(secret) === '000000' ? '000001' : '000000')

  /** Enables the second factor with the secret on the page, after one wrong code. */
  async function switchOn(): Promise<string> {
    const factor = panel('Second factor')
    await factor.getByLabel('Current password').fill(password)
    await factor.getByRole('button', { name: 'Set up' }).click()
    await factor.getByRole('img', { name: 'QR code for the authenticator' }).waitFor()
    const secret = await factor.locator('.copyable .mono').innerText()
    await factor.getByLabel('Code').fill(wrongCode(secret))
    await factor.getByRole('button', { name: 'Confirm' }).click()
    await refused('is not the code that the second factor shows now')
    await factor.getByLabel('Code').fill(codeOf(secret))
    await factor.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Signing in requires a code from your authenticator.').waitFor()
    return secret
  }

  /** Sign-in is refused without a code, with a wrong code and with a used code. */
  async function enterWithCode(login: string, secret: string, used: string): Promise<void> {
    await press('Sign out')
    await signIn(login, password)
    await page.getByLabel('Code of the second factor').waitFor()
    for (const code of [wrongCode(secret), used]) {
      await type('Code of the second factor', code)
      const answered = page.waitForResponse(/sign-in$/)
      await press('Sign in')
      expect((await answered).status()).toBe(401)
      await refused('Login, password or code is wrong.')
    }
    shop.clock.advance(stepMs)
    await type('Code of the second factor', codeOf(secret))
    await press('Sign in')
    await heading('Account')
  }

  /** Makes new recovery codes, signs in with one of them, and returns to the account page. */
  async function enterByRecovery(login: string): Promise<void> {
    const factor = panel('Second factor')
    await factor.getByText('10 recovery codes left.').waitFor()
    await factor.getByLabel('Current password').fill(password)
    await factor.getByRole('button', { name: 'New recovery codes' }).click()
    const codes = await factor.getByRole('region', { name: 'Recovery codes' }).innerText()
    expect(await findBarriers(page)).toEqual([])
    await press('Sign out')
    await signIn(login, password)
    await press('Use a recovery code')
    await type('Recovery code', codes.trim().split('\n')[9] ?? '')
    expect(await findBarriers(page)).toEqual([])
    await press('Sign in')
    await heading('Account')
    await panel('Second factor').getByText('9 recovery codes left.').waitFor()
  }

  async function switchOff(): Promise<void> {
    const factor = panel('Second factor')
    await factor.getByLabel('Current password').fill('not the password')
    await factor.getByRole('button', { name: 'Switch off' }).click()
    await factor.getByRole('alert').waitFor()
    await factor.getByLabel('Current password').fill(password)
    await factor.getByRole('button', { name: 'Switch off' }).click()
    await page.getByText('A code from an authenticator on your phone').waitFor()
  }

  test('a customer signs up by e-mail, resets the password by e-mail, and deletes the account', async () => {
    const email = `new-${engine}@example.com`
    await visit()
    await page.goto(shop.url)
    await press('Sign up')
    expect(await findBarriers(page)).toEqual([])
    await type('E-mail', 'nobody')
    await type('Password', 'short')
    await press('Sign up')
    await refused('E-mail address: must be an e-mail address')
    await type('E-mail', email)
    await press('Sign up')
    await refused('Password: must be 10 to 200 characters')
    await type('Password', password)
    await press('Sign up')
    await page.getByText('We have sent you a link.').waitFor()
    const link = await linkOf(1)
    await page.goto(link)
    await heading('Finish signing up')
    expect(page.url()).not.toContain('tpl_')
    await finish('not the password')
    await refused('Login, password or code is wrong.')
    await finish(password)
    await heading('Overview')
    await page.goto(link)
    await press('Use the link')
    await finish(password)
    await heading('The link no longer works')

    await press('Sign in')
    await press('Forgot your password?')
    await type('E-mail', email)
    await press('Send the link')
    await page.getByText('we have sent a link to it').waitFor()
    await page.goto(await linkOf(2))
    await heading('New password')
    await type('New password', 'aaaaaaaaaaaa')
    await press('Set the password')
    await refused('must have at least four different characters')
    await type('New password', 'another good one')
    await press('Set the password')
    await page.getByText('Password changed. Sign in with the new password.').waitFor()
    await press('Sign in')
    await signIn(email, password)
    await refused('Login, password or code is wrong.')
    await signIn(email, 'another good one')
    await heading('Overview')

    await credit(120n)
    await page.goto(`${shop.url}/#/account`)
    const erasure = panel('Delete the account')
    await erasure.getByLabel('Current password').fill('another good one')
    expect(await erasure.getByRole('button', { name: 'Delete the account' }).isDisabled()).toBe(true)
    await erasure.getByLabel('End all my services now').check()
    await erasure.getByRole('button', { name: 'Delete the account' }).click()
    await refused('The balance is 120.00 RUB.')
    await erasure.getByLabel('I give up the balance of ₽120.00').check()
    await erasure.getByLabel('Current password').fill(password)
    await erasure.getByRole('button', { name: 'Delete the account' }).click()
    await erasure.getByText('is wrong').waitFor()
    await erasure.getByLabel('Current password').fill('another good one')
    await erasure.getByRole('button', { name: 'Delete the account' }).click()
    await heading('Sign in')
    await signIn(email, 'another good one')
    await refused('Login, password or code is wrong.')
  })

  test('the owner of an address that an attacker registered sets a password by e-mail, in Russian on a phone', async () => {
    const email = `taken-${engine}@example.com`
    const letters = smtp.letters().length
    const attacker = await createBrowserSession(shop.url)
    await attacker.post('/auth/v1/customer/register', { email, password: 'a stranger has chosen it' })
    await visit({ locale: 'ru-RU', viewport: { width: 360, height: 740 } })
    await page.goto(await linkOf(letters + 1))
    await heading('Завершение регистрации')
    await page.getByText('его мог выбрать кто-то другой').waitFor()
    await page.getByRole('button', { name: 'Зарегистрироваться заново' }).waitFor()
    expect([await findBarriers(page), await fitsWidth(page)]).toEqual([[], true])
    await type('Пароль', password)
    await press('Завершить')
    await refused('Логин, пароль или код неверны.')
    await press('Задать пароль через почту')
    await type('Эл. почта', email)
    await press('Прислать ссылку')
    await page.getByText('мы отправили на него ссылку').waitFor()
    await page.goto(await linkOf(letters + 2))
    await type('Новый пароль', password)
    await press('Задать пароль')
    await press('Войти')
    await type('Логин', email)
    await type('Пароль', password)
    await press('Войти')
    await heading('Обзор')
    const late = await attacker.post('/auth/v1/customer/sign-in', {
      login: email,
      password: 'a stranger has chosen it',
    })
    expect(late.status).toBe(401)
  })

  test('a customer gets a referral link, a visitor signs up with it, and an unknown code does not block sign-up', async () => {
    await shop.services.referrals.set({ hundredths: 1000, topUps: 1 })
    const { token } = await shop.newCustomer()
    shop.clock.advance(stepMs)
    await visit()
    await page.goto(await customerLink(shop, token))
    await heading('Overview')
    await page.goto(`${shop.url}/#/money`)
    const bringing = panel('Refer customers')
    await bringing.getByText('You get 10% of the first 1 top-up of each customer').waitFor()
    await bringing.getByRole('button', { name: 'Get my link' }).dblclick()
    const link = await bringing.locator('.copyable .mono').innerText()
    expect(link).toMatch(new RegExp(`^${shop.url}/\\?ref=[0-9A-Z]{8}$`))
    expect(await findBarriers(page)).toEqual([])
    await press('Sign out')

    await page.goto(link)
    await heading('Sign up')
    await page.getByText('is valid: the customer who referred you gets a reward').waitFor()
    expect(await findBarriers(page)).toEqual([])
    const letters = smtp.letters().length
    await type('E-mail', `brought-${engine}@example.com`)
    await type('Password', password)
    await press('Sign up')
    await page.getByText('We have sent you a link.').waitFor()
    await page.goto(await linkOf(letters + 1))
    await finish(password)
    await heading('Overview')
    expect((await shop.get('/referral', { token })).data).toMatchObject({ link, brought: 1 })
    await press('Sign out')

    await page.goto(`${shop.url}/?ref=NONESUCH`)
    await page.getByText('There is no referral code NONESUCH.').waitFor()
    await press('I have an account')
    await heading('Sign in')
    await shop.services.referrals.set({ hundredths: 0, topUps: 1 })
  })

  test('a customer enables a second factor, signs in with it, each code once, and disables it', async () => {
    const { token } = await shop.newCustomer()
    await visit()
    await page.goto(await customerLink(shop, token))
    await heading('Overview')
    await page.goto(`${shop.url}/#/account`)
    await page.getByText('Set a password first.').waitFor()
    const login = `factor-${engine}`
    await type('Choose a login', login)
    await type('New password', password)
    await press('Set the password')
    await page.getByText('Password set.').waitFor()
    shop.clock.advance(stepMs)
    const secret = await switchOn()
    expect(await findBarriers(page)).toEqual([])
    await enterWithCode(login, secret, codeOf(secret))
    await enterByRecovery(login)
    await switchOff()
    await press('Sign out')
    await signIn(login, password)
    await heading('Account')
  })

  test('the account page lists sessions, ends one, then all others, and a sign-in link works once', async () => {
    const { token } = await shop.newCustomer()
    const firefox = (version: number) => `Mozilla/5.0 (X11; Linux) Firefox/${version}.0`
    const other = await openVisitor(browser, shop.url, { userAgent: firefox(130) })
    await other.page.goto(await customerLink(shop, token))
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor()
    other.allow(/status of 401/)
    const unseen = await Promise.all([createBrowserSession(shop.url), createBrowserSession(shop.url)])
    for (const [index, session] of unseen.entries()) {
      const link = (await customerLink(shop, token)).split('#enter=')[1]
      const agent = { 'User-Agent': firefox(131 + index) }
      expect((await session.post('/auth/v1/customer/sign-in/link', { link }, agent)).status).toBe(200)
    }
    await visit()
    const link = await customerLink(shop, token)
    await page.goto(link)
    await heading('Overview')
    expect(page.url()).not.toContain('enter')
    await page.goto(`${shop.url}/#/account`)
    const rows = page.getByRole('table', { name: 'Sessions' }).locator('tbody tr')
    await rows.nth(3).waitFor()
    expect(await rows.count()).toBe(4)
    expect(await rows.filter({ hasText: 'Firefox' }).count()).toBe(3)
    expect(await rows.filter({ hasText: 'This one' }).count()).toBe(1)
    expect(await rows.filter({ hasText: 'The same address as now' }).count()).toBe(3)
    await rows.filter({ hasText: 'Firefox' }).first().getByRole('button', { name: 'End' }).click()
    await rows.nth(3).waitFor({ state: 'detached' })
    await press('End all others')
    await rows.nth(1).waitFor({ state: 'detached' })
    expect(await rows.innerText()).toContain('This one')
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.expectQuiet()
    await other.context.close()
    for (const session of unseen) expect((await session.get('/auth/v1/customer/session')).status).toBe(401)
    await page.reload()
    await heading('Account')
    await visitor.context.clearCookies()
    await page.reload()
    await heading('Sign in')
    await page.goto(link)
    await heading('The link no longer works')
    await press('Sign in')
    await page.getByLabel('Login').waitFor()
  })

  test('an operator sets a password and a second factor, and a changed password ends the other session', async () => {
    const name = `owner-${engine}`
    await visit()
    await page.goto(await operatorLink(shop, name, 'owner'))
    await heading('Overview')
    await page.goto(`${shop.url}/operator#/account`)
    await page.getByText('Owner').first().waitFor()
    await type('New password', password)
    await press('Set the password')
    await page.getByText('Password set.').waitFor()
    const other = await openVisitor(browser, shop.url)
    other.allow(/status of 401/)
    await other.page.goto(`${shop.url}/operator`)
    await other.page.getByLabel('Login').fill(name)
    await other.page.getByLabel('Password', { exact: true }).fill(password)
    await other.page.keyboard.press('Enter')
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor()
    const changing = panel('Password')
    await changing.getByLabel('Current password').fill(password)
    await changing.getByLabel('New password').fill(`${password} 2`)
    await press('Set the password')
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in as operator' }).waitFor()
    await other.expectQuiet()
    await other.context.close()
    await changing.getByLabel('Current password').fill(`${password} 2`)
    await changing.getByLabel('New password').fill(password)
    // The page still shows that the first change was made.
    const changed = page.waitForResponse(/\/password$/)
    await press('Set the password')
    expect((await changed).status()).toBe(200)
    await changing.getByText('Password changed.').waitFor()
    shop.clock.advance(stepMs)
    const secret = await switchOn()
    await enterWithCode(name, secret, codeOf(secret))
    await enterByRecovery(name)
    await switchOff()
    expect(await findBarriers(page)).toEqual([])
  })
})
