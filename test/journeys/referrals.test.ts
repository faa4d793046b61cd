import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { type BrowserSession, createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'
import { findingsOf } from '../harness/wired.ts'

const password = 'correct horse battery'
const hourMs = 3_600_000

describe.each([...enginesOf('sqlite')])('referral codes on %s', (engine) => {
  let shop: Service
  let anna: { customer: CustomerId; token: string }
  let code = ''
  beforeAll(async () => {
    shop = await startService(engine, { TURNPIKE_REGISTRATION: 'on' })
    anna = await shop.newCustomer()
    shop.clock.advance(5)
  })
  afterAll(async () => {
    await shop?.stop()
  })

  const register = async (email: string, ref?: string) => {
    shop.clock.advance(hourMs)
    const page = await createBrowserSession(shop.url)
    const { data } = await page.post('/auth/v1/customer/register', {
      email,
      password,
      ...(ref !== undefined && { ref }),
    })
    return { page, data }
  }
  const topUp = async (page: BrowserSession) => {
    const { data } = await page.post('/api/v1/payments', { amount_rub: 200, method: 'sandbox' })
    await fetch(data.pay_url, { method: 'POST', redirect: 'manual' })
  }
  const showReferral = async () => (await shop.get('/referral', { token: anna.token })).data

  test('referrals are off by default, and a code in a registration is ignored', async () => {
    expect(await showReferral()).toEqual({ terms: null, code: null, link: null, brought: 0, earned_rub: 0 })
    expect((await shop.post('/referral', {}, { token: anna.token })).data).toMatchObject({ terms: null, earned_rub: 0 })
    const { data } = await register('early@example.com', 'ANYTHING')
    expect(data).toMatchObject({ ref: 'off', who: { login: 'early@example.com' } })
  })

  test('POST /referral answers the same code each time and needs a token with the scope trade', async () => {
    await shop.services.referrals.set({ hundredths: 500, topUps: 2 })
    const made = await Promise.all([1, 2, 3].map(() => shop.post('/referral', {}, { token: anna.token })))
    code = made[0]?.data.code
    expect(code).toMatch(/^[0-9A-Z]{8}$/)
    for (const { data } of made) {
      expect(data).toEqual({
        terms: { percent: 5, top_ups: 2 },
        code,
        link: `${shop.url}/?ref=${code}`,
        brought: 0,
        earned_rub: 0,
      })
    }
    const { text } = await shop.services.customers.issueToken(anna.customer, {
      name: 'looks',
      scopes: ['read'],
    })
    expect((await shop.post('/referral', {}, { token: text })).status).toBe(403)
    expect((await shop.get('/referral', { token: text })).data.code).toBe(code)
    expect((await shop.get('/referral', { token: 'tp_test_no' })).status).toBe(401)
  })

  test('a referrer gets 5 % of the first 2 top-ups of a customer who registered with the code', async () => {
    const page = await createBrowserSession(shop.url)
    const lookUp = async (text: string) => (await page.get(`/auth/v1/customer/register/ref?code=${text}`)).data.ref
    expect([
      await lookUp(code),
      await lookUp(code.toLowerCase()),
      await lookUp('NONESUCH'),
      await lookUp('%00'),
    ]).toEqual(['known', 'known', 'unknown', 'unknown'])
    const boris = await register('boris@example.com', code.toLowerCase())
    expect(boris.data).toMatchObject({ ref: 'known', who: { login: 'boris@example.com' } })
    for (let count = 0; count < 3; count += 1) await topUp(boris.page)
    expect(await showReferral()).toMatchObject({ brought: 1, earned_rub: 20 })
    expect((await shop.get('/balance', { token: anna.token })).data.balance_rub).toBe(20)
  })

  test('a blocked referrer gets no share of a top-up', async () => {
    const early = await shop.newCustomer()
    const { code: theirCode } = (await shop.post('/referral', {}, { token: early.token })).data
    const lookUp = async () => (await shop.get('/referral', { token: early.token })).data
    shop.clock.advance(5)
    const brought = await register('late-bird@example.com', theirCode)
    await shop.services.setBlocked(early.customer, true)
    await topUp(brought.page)
    await shop.services.setBlocked(early.customer, false)
    expect(await lookUp()).toMatchObject({ brought: 1, earned_rub: 0 })
  })

  test('a registration with an unknown code succeeds and answers ref: unknown', async () => {
    expect((await register('clara@example.com', 'NONESUCH')).data).toMatchObject({ ref: 'unknown', confirm: false })
    expect((await register('dora@example.com')).data).toMatchObject({ ref: null, confirm: false })
    expect(await showReferral()).toMatchObject({ brought: 1 })
  })

  test('a customer cannot use their own code with another spelling of their e-mail address', async () => {
    const egor = await register('egor@example.com')
    const own = (await egor.page.post('/api/v1/referral')).data.code
    const again = await register('Egor+bonus@example.com', own)
    expect(again.data).toMatchObject({ ref: 'own', confirm: false })
    await topUp(again.page)
    expect((await egor.page.get('/api/v1/referral')).data).toMatchObject({ brought: 0, earned_rub: 0 })
  })

  test('a code whose owner is dated after the new customer is ignored, and the registration succeeds', async () => {
    // Another shop’s clock is ahead, or this one’s was set back.
    shop.clock.advance(48 * hourMs)
    const later = await shop.newCustomer()
    const { code: theirCode } = (await shop.post('/referral', {}, { token: later.token })).data
    shop.clock.advance(-48 * hourMs)
    const { page, data } = await register('foma@example.com', theirCode)
    expect(data).toMatchObject({ ref: 'earlier', who: { login: 'foma@example.com' } })
    await topUp(page)
    expect((await page.get('/api/v1/balance')).data.balance_rub).toBe(200)
    expect((await shop.get('/referral', { token: later.token })).data).toMatchObject({ brought: 0, earned_rub: 0 })
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('the code of a blocked or erased customer is unknown, and erasure removes it from history', async () => {
    const egor = await shop.newCustomer()
    const { code: theirCode } = (await shop.post('/referral', {}, { token: egor.token })).data
    await shop.services.setBlocked(egor.customer, true)
    expect((await register('fyodor@example.com', theirCode)).data.ref).toBe('unknown')
    await shop.services.erasing.erase(egor.customer, { by: 'operator', isConfirmed: () => true })
    expect(await shop.services.db.all('SELECT code FROM referral_codes WHERE code = $1', [theirCode])).toEqual([])
    const history = await shop.services.db.all<{ content: string | null }>(
      `SELECT content FROM row_history WHERE of_table = 'referral_codes'`,
    )
    expect(history.some((row) => row.content?.includes(theirCode))).toBe(false)
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('GET /payments/quote prices a code before a payment and names what is wrong with it', async () => {
    const terms = { least: kopecks(10_000n), uses: 1, untilAt: null, note: 'test' }
    await shop.services.codes.add({ ...terms, code: 'SPRING', kind: 'percent', value: 1000n })
    const quote = (query: string) => shop.get(`/payments/quote?${query}`, { token: anna.token })
    expect((await quote('amount_rub=500&method=sandbox&code=spring')).data).toEqual({
      amount_rub: 500,
      fee_rub: 0,
      to_pay_rub: 500,
      bonus_rub: 50,
      balance_grows_rub: 550,
    })
    expect((await quote('amount_rub=99.5&method=sandbox')).data).toMatchObject({ to_pay_rub: 99.5, bonus_rub: 0 })
    const refused = async (query: string) => {
      const { status, error } = await quote(query)
      return [status, error.details[0].field, error.details[0].problem]
    }
    expect(await refused('amount_rub=50&method=sandbox&code=SPRING')).toEqual([
      400,
      'code',
      'applies to top-ups of at least 100.00 RUB',
    ])
    expect(await refused('amount_rub=500&method=sandbox&code=NONE')).toEqual([
      400,
      'code',
      'is not a code of this shop',
    ])
    for (const query of ['amount_rub=1e3&method=sandbox', 'amount_rub=0&method=sandbox', 'method=sandbox']) {
      expect((await refused(query)).slice(0, 2)).toEqual([400, 'amount_rub'])
    }
    expect((await refused('amount_rub=5&method=nonesuch')).slice(0, 2)).toEqual([400, 'method'])
    expect((await shop.get('/payments/quote?amount_rub=5&method=sandbox', { token: 'tp_test_no' })).status).toBe(401)
  })
})

describe.each([...enginesOf('sqlite')])('referral codes with e-mail confirmation on %s', (engine) => {
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
    })
  })
  afterAll(async () => {
    await shop?.stop()
    await smtp?.stop()
  })

  test('a referral code is applied at the e-mail confirmation and does not reveal whose code it is', async () => {
    await shop.services.referrals.set({ hundredths: 500, topUps: 1 })
    const confirm = async (email: string, ref: string | undefined, count: number) => {
      const page = await createBrowserSession(shop.url)
      const registered = await page.post('/auth/v1/customer/register', { email, password, ref })
      const link = /\/#confirm=(tpl_\w+)/.exec(textOf((await smtp.until(count)).at(-1) ?? ''))?.[1]
      shop.clock.advance(5)
      await page.post('/auth/v1/customer/register/confirm', { link, password })
      return { page, ref: registered.data.ref }
    }
    const anna = await confirm('anna@example.com', undefined, 1)
    const { code } = (await anna.page.post('/api/v1/referral')).data
    expect((await confirm('boris@example.com', code, 2)).ref).toBe('known')
    expect((await confirm('anna+2@example.com', code, 3)).ref).toBe('known')
    expect((await confirm('clara@example.com', 'NONESUCH', 4)).ref).toBe('unknown')
    expect((await anna.page.get('/api/v1/referral')).data).toMatchObject({ brought: 1 })
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
