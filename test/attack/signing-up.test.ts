import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type BrowserSession, createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { findingsOf } from '../harness/wired.ts'

const attackerPassword = 'a stranger has chosen it'
const owners = 'its owner has chosen it'

describe.each([...enginesOf('postgres')])("registration with another person's address, on %s", (engine) => {
  let smtp: SmtpServer
  let shop: Service
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    shop = await startService(engine, {
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
      TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
    })
  })
  afterAll(async () => {
    await shop?.stop()
    await smtp?.stop()
  })

  const browser = (): Promise<BrowserSession> => createBrowserSession(shop.url)
  let lettersBefore = 0

  /** The link in the next letter. */
  async function nextLink(name: 'confirm' | 'reset'): Promise<string> {
    lettersBefore += 1
    const text = textOf((await smtp.until(lettersBefore)).at(-1) ?? '')
    const link = new RegExp(`/#${name}=(tpl_\\w+)`).exec(text)?.[1]
    if (link === undefined) throw new Error(`no link in ${text}`)
    return link
  }

  /**
   * A registration that an attacker began; the letter goes to the owner of the address. Each call uses up its own
   * rate-limit window.
   */
  async function begun(email: string, password = attackerPassword): Promise<string> {
    shop.clock.advance(2 * 3_600_000)
    const answer = await (await browser()).post('/auth/v1/customer/register', { email, password })
    expect(answer.data).toEqual({ confirm: true, who: null, ref: null })
    return nextLink('confirm')
  }

  const confirm = async (link: string, password?: string) =>
    (await browser()).post('/auth/v1/customer/register/confirm', {
      link,
      ...(password !== undefined && { password }),
    })
  const signIn = async (login: string, password: string) =>
    (await browser()).post('/auth/v1/customer/sign-in', { login, password })

  test('a registration is confirmed only with the link of the letter and the password of the registration', async () => {
    const email = 'opened@example.com'
    const link = await begun(email)
    expect((await confirm(link)).status).toBe(400)
    const wrong = await confirm(link, owners)
    expect([wrong.status, wrong.error.code]).toEqual([401, 'sign_in_failed'])
    expect((await signIn(email, attackerPassword)).status).toBe(401)
    expect((await confirm(link, attackerPassword)).data).toMatchObject({ login: email })
    expect((await confirm(link, attackerPassword)).status).toBe(404)
  })

  test("a second registration by the owner of the address succeeds, and the attacker's link answers 409", async () => {
    const email = 'anew@example.com'
    const first = await begun(email)
    const second = await begun(email, owners)
    expect((await confirm(second, owners)).status).toBe(200)
    expect((await confirm(first, attackerPassword)).status).toBe(409)
    expect((await signIn(email, attackerPassword)).status).toBe(401)
    expect((await signIn(email, owners)).status).toBe(200)
  })

  test("a password reset by e-mail voids the attacker's registration, and a later reset ends open sessions", async () => {
    const email = 'reset@example.com'
    const link = await begun(email)
    const page = await browser()
    const ask = () => page.post('/auth/v1/customer/password/forgotten', { email })
    const set = async (password: string) =>
      page.post('/auth/v1/customer/password/reset', { link: await nextLink('reset'), password })
    expect((await ask()).data).toEqual({ done: true })
    expect((await set(owners)).status).toBe(200)
    expect((await confirm(link, attackerPassword)).status).toBe(409)
    expect((await signIn(email, attackerPassword)).status).toBe(401)
    const inside = await browser()
    expect((await inside.post('/auth/v1/customer/sign-in', { login: email, password: owners })).status).toBe(200)
    await ask()
    expect((await set('another of its owner')).status).toBe(200)
    expect((await inside.get('/api/v1/balance')).status).toBe(401)
    expect((await signIn(email, owners)).status).toBe(401)
    expect((await signIn(email, 'another of its owner')).status).toBe(200)
  })

  test('confirmation and password reset by e-mail create one customer', async () => {
    const email = 'both@example.com'
    const link = await begun(email, owners)
    const page = await browser()
    await page.post('/auth/v1/customer/password/forgotten', { email })
    const reset = await nextLink('reset')
    const inside = await browser()
    expect((await inside.post('/auth/v1/customer/register/confirm', { link, password: owners })).status).toBe(200)
    const before = (await shop.services.customers.list('', 500)).length
    expect(
      (await page.post('/auth/v1/customer/password/reset', { link: reset, password: 'set anew by it' })).status,
    ).toBe(200)
    expect((await inside.get('/api/v1/balance')).status).toBe(401)
    expect((await signIn(email, 'set anew by it')).status).toBe(200)
    expect(await shop.services.customers.list('', 500)).toHaveLength(before)
  })

  test('a confirmation link answers 401 to 20 wrong passwords from any addresses and then 429 for 60 s', async () => {
    const link = await begun('guessed@example.com')
    const page = await browser()
    const guess = (count: number) =>
      page.post(
        '/auth/v1/customer/register/confirm',
        { link, password: `guess number ${count}` },
        { 'X-Forwarded-For': `198.51.100.${count}` },
      )
    const statuses: number[] = []
    for (let count = 0; count < 22; count += 1) statuses.push((await guess(count)).status)
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429])
    const throttled = await confirm(link, attackerPassword)
    expect([throttled.status, Number(throttled.headers.get('retry-after')) > 0]).toEqual([429, true])
    shop.clock.advance(60_000)
    expect((await confirm(link, attackerPassword)).status).toBe(200)
  })

  test('registration answers 404 to 60 guessed links from one address and then 429', async () => {
    const page = await browser()
    const guess = (count: number) =>
      page.post(
        '/auth/v1/customer/register/confirm',
        { link: `tpl_${String(count).padStart(32, '0')}`, password: owners },
        { 'X-Forwarded-For': '198.51.100.200' },
      )
    const statuses: number[] = []
    for (let count = 0; count < 62; count += 1) statuses.push((await guess(count)).status)
    expect(statuses).toEqual([...Array.from({ length: 60 }, () => 404), 429, 429])
  })

  test('registration answers known, pending and unknown addresses alike and mails one letter to each', async () => {
    await begun('waits@example.com')
    const page = await browser()
    const answers = new Set<string>()
    for (const path of ['/register', '/password/forgotten'] as const) {
      for (const email of ['anew@example.com', 'waits@example.com', `nobody${path.length}@example.com`]) {
        shop.clock.advance(2 * 3_600_000)
        const count = async () => (await shop.services.db.all('SELECT id FROM console_links')).length
        const before = await count()
        const answer = await page.post(`/auth/v1/customer${path}`, { email, password: attackerPassword })
        lettersBefore += 1
        await smtp.until(lettersBefore)
        answers.add(`${path} ${answer.status} ${answer.text} ${(await count()) - before}`)
      }
    }
    expect(answers.size).toBe(2)
  })

  test('verify finds nothing wrong after all registrations', async () => {
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
