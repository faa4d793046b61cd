import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'

const password = 'correct horse battery'
const email = 'anna@example.com'

describe.each([...enginesOf('sqlite')])('registration with e-mail confirmation on %s', (engine) => {
  let smtp: SmtpServer
  let service: Service
  beforeAll(async () => {
    const started = await startSmtp()
    if (!started) throw new Error('there is no aiosmtpd: install python3-aiosmtpd')
    smtp = started
    service = await startService(engine, {
      TURNPIKE_REGISTRATION: 'on',
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'shop@example.com',
    })
  })
  afterAll(async () => {
    await service?.stop()
    await smtp?.stop()
  })

  const lastLink = async (count: number, name: string): Promise<string> => {
    const letter = (await smtp.until(count)).at(-1) ?? ''
    const link = new RegExp(`/#${name}=(tpl_\\w+)`).exec(textOf(letter))?.[1]
    if (link === undefined) throw new Error(`no link in ${letter}`)
    return link
  }

  test('a customer registers and confirms by e-mail; a known address gets the same answer and a notice', async () => {
    const page = await createBrowserSession(service.url)
    expect((await page.get('/auth/v1/customer/offers')).data).toMatchObject({ registration: true, mail: true })
    for (const input of [
      { email: 'nobody', password },
      { email, password: 'short' },
    ]) {
      expect((await page.post('/auth/v1/customer/register', input)).status).toBe(400)
    }
    const registered = await page.post('/auth/v1/customer/register', { email, password })
    expect(registered.data).toEqual({ confirm: true, who: null, ref: null })
    expect((await page.post('/auth/v1/customer/sign-in', { login: email, password })).status).toBe(401)
    const link = await lastLink(1, 'confirm')
    expect(smtp.letters()[0]).toMatch(/^From: shop@example\.com$/m)
    const opened = await page.post('/auth/v1/customer/register/confirm', { link, password })
    expect(opened.data).toMatchObject({ kind: 'customer', login: email, email, has_password: true })
    expect((await page.get('/api/v1/balance')).data.balance_rub).toBe(0)
    expect((await page.post('/auth/v1/customer/register/confirm', { link, password })).status).toBe(404)
    const other = await createBrowserSession(service.url)
    const again = await other.post('/auth/v1/customer/register', { email: email.toUpperCase(), password })
    expect(again.text).toBe(registered.text)
    expect(textOf((await smtp.until(2))[1] ?? '')).toContain('has an account already')
  })

  test('a forgotten password is reset by an e-mail link; known and unknown addresses get one answer', async () => {
    service.clock.advance(3_600_000)
    const page = await createBrowserSession(service.url)
    const unknown = await page.post('/auth/v1/customer/password/forgotten', { email: 'nobody@example.com' })
    const known = await page.post('/auth/v1/customer/password/forgotten', { email })
    expect(unknown.text).toBe(known.text)
    const link = await lastLink(4, 'reset')
    expect((await page.post('/auth/v1/customer/password/reset', { link, password: 'short' })).status).toBe(400)
    expect((await page.post('/auth/v1/customer/password/reset', { link, password: 'a new good one' })).status).toBe(200)
    expect((await page.post('/auth/v1/customer/password/reset', { link, password: 'a new good one' })).status).toBe(404)
    expect((await page.post('/auth/v1/customer/sign-in', { login: email, password })).status).toBe(401)
    expect((await page.post('/auth/v1/customer/sign-in', { login: email, password: 'a new good one' })).status).toBe(
      200,
    )
    const { events } = (await page.get('/api/v1/events')).data
    expect(events.map((each: { type: string; data: object }) => [each.type, each.data])).toEqual([
      ['email.set', {}],
      ['password.set', {}],
      ['password.changed', { by: 'link' }],
    ])
    // An address without an account gets a letter with a link that opens one.
    expect(textOf(smtp.letters()[2] ?? '')).toContain('This address has no account yet')
    expect(smtp.letters()).toHaveLength(4)
  })

  test('a known and an unknown address write one link each, so that the time of the answer is the same', async () => {
    service.clock.advance(2 * 3_600_000)
    const page = await createBrowserSession(service.url)
    const links = async (path: '/register' | '/password/forgotten', to: string): Promise<number> => {
      const count = async () => (await service.services.db.all('SELECT id FROM console_links')).length
      const before = await count()
      expect((await page.post(`/auth/v1/customer${path}`, { email: to, password })).status).toBe(200)
      return (await count()) - before
    }
    for (const path of ['/register', '/password/forgotten'] as const) {
      expect([await links(path, email), await links(path, `unknown${path.length}@example.com`)]).toEqual([1, 1])
    }
    service.clock.advance(2 * 3_600_000)
  })

  test('one client prefix gets 10 e-mails per hour, and one address gets 3', async () => {
    service.clock.advance(3_600_000)
    const page = await createBrowserSession(service.url)
    const ask = (to: string) => page.post('/auth/v1/customer/password/forgotten', { email: to })
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) statuses.push((await ask('victim@example.com')).status)
    for (let count = 0; count < 7; count += 1) statuses.push((await ask(`other-${count}@example.com`)).status)
    expect(statuses).toEqual([200, 200, 200, 429, 200, 200, 200, 200, 200, 200, 429])
  })

  test('the log contains no e-mail address, password or link', () => {
    const log = service.log.join('\n')
    for (const hidden of [password, email, 'tpl_0', 'a new good one']) expect(log).not.toContain(hidden)
  })
})

test('a production shop needs TURNPIKE_REGISTRATION=unconfirmed to register without e-mail', async () => {
  const start = (env: Record<string, string>) => startService('sqlite', { TURNPIKE_SANDBOX: 'off', ...env })
  const refused = await failureOf(start({ TURNPIKE_REGISTRATION: 'on' }))
  expect([refused.name, refused.message]).toEqual(['BadSetting', expect.stringContaining('unconfirmed')])
  const service = await start({ TURNPIKE_REGISTRATION: 'unconfirmed' })
  const page = await createBrowserSession(service.url)
  expect((await page.get('/auth/v1/customer/offers')).data).toMatchObject({ registration: true, mail: false })
  await service.stop()
})

test('a shop without e-mail registers at once, refuses a taken login, and leave erases the address', async () => {
  const service = await startService('sqlite', { TURNPIKE_REGISTRATION: 'on' })
  try {
    const page = await createBrowserSession(service.url)
    expect((await page.get('/auth/v1/customer/offers')).data).toMatchObject({ registration: true, mail: false })
    const opened = await page.post('/auth/v1/customer/register', { email, password })
    expect(opened.data).toMatchObject({ confirm: false, who: { login: email } })
    expect((await page.post('/auth/v1/customer/register', { email, password })).status).toBe(409)
    expect((await page.post('/auth/v1/customer/password/forgotten', { email })).status).toBe(409)
    const exported = (await page.get('/api/v1/export')).data
    expect(exported.next_cursor).toBeNull()
    expect(exported.items.find((each: { table: string }) => each.table === 'identities').row.email).toBe(email)
    expect((await service.get('/export')).status).toBe(403)
    const gone = await page.post('/auth/v1/customer/leave', { current_password: password })
    expect(gone.status).toBe(200)
    for (const table of ['row_history', 'console_sessions', 'console_links', 'identities', 'audit_log', 'events']) {
      const kept = await service.services.db.all<Record<string, unknown>>(`SELECT * FROM ${table}`)
      expect([table, kept.some((row) => Object.values(row).some((value) => String(value).includes(email)))]).toEqual([
        table,
        false,
      ])
    }
  } finally {
    await service.stop()
  }
})

test('TURNPIKE_CONTACT is in the offers for customers and a link on payment pages, and null for operators', async () => {
  const service = await startService('sqlite', { TURNPIKE_CONTACT: 'https://shop.example/?a&b' })
  try {
    const page = await createBrowserSession(service.url)
    const contactFor = async (kind: string) => (await page.get(`/auth/v1/${kind}/offers`)).data.contact
    const contact = { text: 'https://shop.example/?a&b', url: 'https://shop.example/?a&b' }
    expect([await contactFor('customer'), await contactFor('operator')]).toEqual([contact, null])
    const { data } = await service.post('/payments', { amount_rub: 100, method: 'sandbox' })
    const link = '<a href="https://shop.example/?a&#38;b" rel="noopener">https://shop.example/?a&#38;b</a>'
    for (const url of [data.pay_url, `${service.url}/pay/pay_1`]) {
      expect(await (await fetch(`${url}?language=ru`)).text()).toContain(`Написать продавцу: ${link}`)
    }
  } finally {
    await service.stop()
  }
})
