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

describe.each([...enginesOf('sqlite')])('a referral link on %s', (engine) => {
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
  const show = async () => (await shop.get('/referral', { token: anna.token })).data

  test('is nobody’s as shipped, and a code that comes with a newcomer does not stop him', async () => {
    expect(await show()).toEqual({ terms: null, code: null, link: null, brought: 0, earned_rub: 0 })
    expect((await shop.post('/referral', {}, { token: anna.token })).data).toMatchObject({ terms: null, earned_rub: 0 })
    const { data } = await register('early@example.com', 'ANYTHING')
    expect(data).toMatchObject({ ref: 'off', who: { login: 'early@example.com' } })
  })

  test('is the same one however often it is asked for, and needs a token that may act', async () => {
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

  test('brings its owner a share of the newcomer’s first top-ups', async () => {
    const page = await createBrowserSession(shop.url)
    const look = async (text: string) => (await page.get(`/auth/v1/customer/register/ref?code=${text}`)).data.ref
    expect([await look(code), await look(code.toLowerCase()), await look('NONESUCH'), await look('%00')]).toEqual([
      'known',
      'known',
      'unknown',
      'unknown',
    ])
    const boris = await register('boris@example.com', code.toLowerCase())
    expect(boris.data).toMatchObject({ ref: 'known', who: { login: 'boris@example.com' } })
    for (let count = 0; count < 3; count += 1) await topUp(boris.page)
    expect(await show()).toMatchObject({ brought: 1, earned_rub: 20 })
    expect((await shop.get('/balance', { token: anna.token })).data.balance_rub).toBe(20)
  })

  test('brings whoever is shut out nothing more', async () => {
    const early = await shop.newCustomer()
    const { code: his } = (await shop.post('/referral', {}, { token: early.token })).data
    const look = async () => (await shop.get('/referral', { token: early.token })).data
    shop.clock.advance(5)
    const brought = await register('late-bird@example.com', his)
    await shop.services.setBlocked(early.customer, true)
    await topUp(brought.page)
    await shop.services.setBlocked(early.customer, false)
    expect(await look()).toMatchObject({ brought: 1, earned_rub: 0 })
  })

  test('that nobody has is named, and the newcomer is let in all the same', async () => {
    expect((await register('clara@example.com', 'NONESUCH')).data).toMatchObject({ ref: 'unknown', confirm: false })
    expect((await register('dora@example.com')).data).toMatchObject({ ref: null, confirm: false })
    expect(await show()).toMatchObject({ brought: 1 })
  })

  test('brings nobody himself, under another spelling of his address either', async () => {
    const egor = await register('egor@example.com')
    const own = (await egor.page.post('/api/v1/referral')).data.code
    const again = await register('Egor+bonus@example.com', own)
    expect(again.data).toMatchObject({ ref: 'own', confirm: false })
    await topUp(again.page)
    expect((await egor.page.get('/api/v1/referral')).data).toMatchObject({ brought: 0, earned_rub: 0 })
  })

  test('of somebody whom a clock has later than the newcomer stops nobody, and brings nothing', async () => {
    // Another shop's clock is ahead, or this one's went back.
    shop.clock.advance(48 * hourMs)
    const later = await shop.newCustomer()
    const { code: his } = (await shop.post('/referral', {}, { token: later.token })).data
    shop.clock.advance(-48 * hourMs)
    const { page, data } = await register('foma@example.com', his)
    expect(data).toMatchObject({ ref: 'earlier', who: { login: 'foma@example.com' } })
    await topUp(page)
    expect((await page.get('/api/v1/balance')).data.balance_rub).toBe(200)
    expect((await shop.get('/referral', { token: later.token })).data).toMatchObject({ brought: 0, earned_rub: 0 })
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('of somebody who was shut out or has left is nobody’s, and nothing of it is kept', async () => {
    const egor = await shop.newCustomer()
    const { code: his } = (await shop.post('/referral', {}, { token: egor.token })).data
    await shop.services.setBlocked(egor.customer, true)
    expect((await register('fyodor@example.com', his)).data.ref).toBe('unknown')
    await shop.services.erasing.erase(egor.customer, { by: 'operator', isConfirmed: () => true })
    expect(await shop.services.db.all('SELECT code FROM referral_codes WHERE code = $1', [his])).toEqual([])
    const history = await shop.services.db.all<{ content: string | null }>(
      `SELECT content FROM row_history WHERE of_table = 'referral_codes'`,
    )
    expect(history.some((row) => row.content?.includes(his))).toBe(false)
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('lets a code of the shop be priced before anything is paid', async () => {
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
      'adds to larger top-ups only, from 100.00 RUB on',
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

describe.each([...enginesOf('sqlite')])('a referral link with letters on %s', (engine) => {
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

  test('waits with the address, and tells nobody whose address its owner has', async () => {
    await shop.services.referrals.set({ hundredths: 500, topUps: 1 })
    const confirm = async (email: string, ref: string | undefined, count: number) => {
      const page = await createBrowserSession(shop.url)
      const asked = await page.post('/auth/v1/customer/register', { email, password, ref })
      const link = /\/#confirm=(tpl_\w+)/.exec(textOf((await smtp.until(count)).at(-1) ?? ''))?.[1]
      shop.clock.advance(5)
      await page.post('/auth/v1/customer/register/confirm', { link, password })
      return { page, ref: asked.data.ref }
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
