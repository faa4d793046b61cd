import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import { createActions } from '../../src/app/shop/admin.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { type Role, roles } from '../../src/domains/operators/rules.ts'
import { type BrowserSession, createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { type SmtpServer, startSmtp, textOf } from '../harness/smtp.ts'

const password = 'correct horse battery'

/** A customer, and the session of the operator who attacks the account. */
type Attacked = { readonly id: CustomerId; readonly page: BrowserSession }

/** Actions that an operator reaches through a customer's session, beyond those of the role itself. */
describe.each([...enginesOf('sqlite')])('indirect reach of a role, on %s', (engine) => {
  let smtp: SmtpServer
  let service: Service
  let serial = 0
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

  const browser = (): Promise<BrowserSession> => createBrowserSession(service.url)

  /** An operator who has signed in. */
  async function newOperator(role: Role): Promise<{ name: string; page: BrowserSession }> {
    serial += 1
    const name = `operator-${serial}`
    const { text } = await createActions(service.services).addOperator(name, role)
    const page = await browser()
    expect((await page.post('/auth/v1/operator/sign-in/link', { link: text })).status).toBe(200)
    return { name, page }
  }

  /** A customer with a password, and with a second factor if requested. */
  async function newCustomer({ email = null, hasFactor = false }: { email?: string | null; hasFactor?: boolean } = {}) {
    serial += 1
    const { db, identities, customers } = service.services
    const { id } = await customers.create('with a password')
    const login = email ?? `customer-${serial}`
    const kept = await identities.hash(password, login, '')
    await db.transact((tx) =>
      identities.create(tx, { kind: 'customer', id }, { login, email, password: kept, isConfirmed: true }),
    )
    const page = await browser()
    await page.post('/auth/v1/customer/sign-in', { login, password })
    if (!hasFactor) return { id, login, codeNow: () => '' }
    const { secret } = (await page.post('/auth/v1/customer/factor', { current_password: password })).data
    const codeNow = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: service.clock.nowMs })
    expect((await page.post('/auth/v1/customer/factor/confirm', { code: codeNow() })).status).toBe(200)
    service.clock.advance(60_000)
    return { id, login, codeNow }
  }

  const newNameless = async (): Promise<CustomerId> => (await service.services.customers.create('nameless')).id
  const secretOf = (link: string): string => link.split('#enter=')[1] ?? ''

  /** Every indirect path to an owner's actions, and the status of each. */
  async function reach(role: Role) {
    const { page } = await newOperator(role)
    const taken = await newCustomer()
    const withToken = await newNameless()
    await service.services.customers.issueToken(withToken, { name: 'by an owner' })
    const link = (id: string) => linkBy(page, id)
    const opened = await page.post(`${at(taken.id)}/view`)
    return {
      export: (await page.get(`${at(taken.id)}/export`)).status,
      token: (await page.post(`${at(taken.id)}/tokens`, { name: 'mine' })).status,
      linkOfNewcomer: (await link(await newNameless())).status,
      linkOfPassword: (await link(taken.id)).status,
      linkOfToken: (await link(withToken)).status,
      removedFactor: (await page.post(`${at(taken.id)}/remove-factor`)).status,
      view: opened.status,
      balanceInView: (await page.get('/api/v1/balance')).status,
      exportInView: (await page.get('/api/v1/export')).status,
      tokenInView: (await page.post('/api/v1/tokens/create', { name: 'mine' })).status,
      passwordInView: (await page.post('/auth/v1/customer/password', { login: 'mine', password })).status,
      resetInView: (await page.post('/api/v1/premium/password/reset', {})).status,
    }
  }

  const inView = {
    view: 200,
    balanceInView: 200,
    exportInView: 403,
    tokenInView: 403,
    passwordInView: 403,
    resetInView: 403,
  }
  const reached: Readonly<Record<Role, Awaited<ReturnType<typeof reach>>>> = {
    owner: {
      export: 200,
      token: 200,
      linkOfNewcomer: 200,
      linkOfPassword: 200,
      linkOfToken: 200,
      removedFactor: 200,
      ...inView,
    },
    support: {
      export: 403,
      token: 403,
      linkOfNewcomer: 200,
      linkOfPassword: 403,
      linkOfToken: 403,
      removedFactor: 403,
      ...inView,
    },
    reader: {
      export: 403,
      token: 403,
      linkOfNewcomer: 403,
      linkOfPassword: 403,
      linkOfToken: 403,
      removedFactor: 403,
      view: 403,
      balanceInView: 401,
      exportInView: 401,
      tokenInView: 401,
      passwordInView: 401,
      resetInView: 401,
    },
  }

  test.each([...roles])('%s reaches through links and views only the actions of the role', async (role) => {
    expect(await reach(role)).toEqual(reached[role])
  })

  const at = (id: string) => `/admin/v1/customers/${id}` as const
  const linkBy = (page: BrowserSession, id: string) => page.post(`${at(id)}/link`)

  test.each([
    [
      'revoked the only token',
      async ({ id, page }: Attacked) => {
        const { token } = await service.services.customers.issueToken(id, { name: 'by an owner' })
        expect((await page.post(`/admin/v1/tokens/${token.id}/revoke`)).status).toBe(200)
      },
    ],
    [
      'waited until the only token expired',
      async ({ id }: Attacked) => {
        const expiresAt = service.clock.nowMs + 1000
        await service.services.customers.issueToken(id, { name: 'short', expiresAt })
        service.clock.advance(2000)
      },
    ],
    [
      'credited the customer',
      async ({ id, page }: Attacked) => {
        expect((await page.post(`${at(id)}/credit`, { amount_rub: 5, note: 'gift' })).status).toBe(200)
      },
    ],
    [
      'seen the customer sign in by an owner’s link',
      async ({ id }: Attacked) => {
        const { page: owner } = await newOperator('owner')
        const link = secretOf((await linkBy(owner, id)).data.link)
        expect((await (await browser()).post('/auth/v1/customer/sign-in/link', { link })).status).toBe(200)
      },
    ],
  ] as const)('support gets no sign-in link for a customer after having %s', async (_, prepare) => {
    const { page } = await newOperator('support')
    const id = await newNameless()
    await prepare({ id, page })
    const refused = await linkBy(page, id)
    expect([refused.status, refused.error?.code]).toEqual([403, 'forbidden'])
  })

  /** A browser that signed in with a link that support made for a new customer. */
  async function enterBySupport(id: CustomerId): Promise<BrowserSession> {
    const { page } = await newOperator('support')
    const entering = await browser()
    const link = secretOf((await linkBy(page, id)).data.link)
    expect((await entering.post('/auth/v1/customer/sign-in/link', { link })).status).toBe(200)
    return entering
  }
  const firstPassword = (page: BrowserSession) => {
    serial += 1
    return page.post('/auth/v1/customer/password', { login: `first-${serial}`, password })
  }
  const newToken = (page: BrowserSession) => page.post('/api/v1/tokens/create', { name: 'mine' })
  const beginsUse = [
    ['a token', (id: CustomerId) => service.services.customers.issueToken(id, { name: 'by an owner' })],
    [
      'money',
      async (id: CustomerId) => {
        const { page: owner } = await newOperator('owner')
        expect((await owner.post(`${at(id)}/credit`, { amount_rub: 5, note: 'gift' })).status).toBe(200)
      },
    ],
  ] as const

  test.each(beginsUse)('a link that support made stops working when the customer gets %s', async (_, begin) => {
    const { page } = await newOperator('support')
    const id = await newNameless()
    const link = secretOf((await linkBy(page, id)).data.link)
    await begin(id)
    const visitor = await browser()
    expect((await visitor.post('/auth/v1/customer/sign-in/link', { link })).status).toBe(404)
    expect((await visitor.get('/api/v1/balance')).status).toBe(401)
  })

  test.each(beginsUse)("a session by support's link sets no password after the customer got %s", async (_, begin) => {
    const id = await newNameless()
    const visitor = await enterBySupport(id)
    await begin(id)
    expect((await firstPassword(visitor)).status).toBe(403)
    expect((await newToken(visitor)).status).toBe(403)
    expect((await service.services.identities.profile({ kind: 'customer', id })).hasPassword).toBe(false)
  })

  test("a session by support's link only reads and sets the first password, which lifts the restriction", async () => {
    const id = await newNameless()
    const visitor = await enterBySupport(id)
    const other = await enterBySupport(id)
    expect((await visitor.get('/api/v1/balance')).status).toBe(200)
    expect((await newToken(visitor)).error.code).toBe('forbidden')
    expect((await visitor.post('/auth/v1/customer/leave', {})).status).toBe(403)
    expect((await visitor.post('/auth/v1/customer/sessions/end', {})).status).toBe(403)
    expect((await firstPassword(visitor)).status).toBe(200)
    expect((await newToken(visitor)).status).toBe(200)
    expect((await other.get('/api/v1/balance')).status).toBe(401)
    expect((await firstPassword(other)).status).toBe(401)
  })

  test('the shop mails the link that support makes for a customer with a password and omits it from the answer', async () => {
    const email = `anna-${engine}@example.com`
    const customer = await newCustomer({ email })
    const { page } = await newOperator('support')
    const before = smtp.letters().length
    const made = await page.post(`/admin/v1/customers/${customer.id}/link`)
    expect(made.data).toMatchObject({ link: null, sent_to: email })
    const letter = textOf((await smtp.until(before + 1)).at(-1) ?? '')
    const link = /#enter=(tpl_\w+)/.exec(letter)?.[1] ?? ''
    expect(made.text).not.toContain(link)
    expect((await (await browser()).post('/auth/v1/customer/sign-in/link', { link })).data.id).toBe(customer.id)
  })

  test('a sign-in link requires the second factor, works once with the right code, and allows 20 wrong codes', async () => {
    const customer = await newCustomer({ hasFactor: true })
    const { page } = await newOperator('owner')
    const link = secretOf((await page.post(`/admin/v1/customers/${customer.id}/link`)).data.link)
    const visitor = await browser()
    const enter = (code?: string) =>
      visitor.post('/auth/v1/customer/sign-in/link', { link, ...(code !== undefined && { code }) })
    const answer = await enter()
    expect([answer.status, answer.error.details]).toEqual([401, { code_required: true }])
    expect((await enter('000000')).status).toBe(401)
    expect((await visitor.get('/api/v1/balance')).status).toBe(401)
    expect((await enter(customer.codeNow())).data.id).toBe(customer.id)
    service.clock.advance(60_000)
    expect((await enter(customer.codeNow())).status).toBe(404)

    const second = secretOf((await page.post(`/admin/v1/customers/${customer.id}/link`)).data.link)
    const guesses: number[] = []
    for (let guess = 0; guess < 25; guess += 1) {
      guesses.push((await visitor.post('/auth/v1/customer/sign-in/link', { link: second, code: '000000' })).status)
    }
    expect(guesses.filter((status) => status === 401).length).toBeLessThanOrEqual(20)
    expect(guesses.at(-1)).toBe(429)
  })

  test('an owner removes a lost second factor, and the next link needs no code', async () => {
    const customer = await newCustomer({ hasFactor: true })
    const { page } = await newOperator('owner')
    expect((await page.post(`/admin/v1/customers/${customer.id}/remove-factor`)).data).toEqual({ removed: true })
    expect((await page.post(`/admin/v1/customers/${customer.id}/remove-factor`)).data).toEqual({ removed: false })
    const link = secretOf((await page.post(`/admin/v1/customers/${customer.id}/link`)).data.link)
    const entered = await (await browser()).post('/auth/v1/customer/sign-in/link', { link })
    expect(entered.data).toMatchObject({ id: customer.id, has_factor: false })
  })

  test.each([
    ['support', 'reader'],
    ['owner', 'support'],
    ['support', 'owner'],
  ] as const)('a role change from %s to %s ends open views, and no later change revives them', async (from, to) => {
    const customer = await newCustomer()
    const { name, page } = await newOperator(from)
    await page.post(`/admin/v1/customers/${customer.id}/view`)
    expect((await page.get('/api/v1/balance')).status).toBe(200)
    const { page: owner } = await newOperator('owner')
    const setRole = (role: Role) => owner.post(`/admin/v1/operators/${name}/role`, { role })
    expect((await setRole(to)).status).toBe(200)
    expect((await page.get('/api/v1/balance')).status).toBe(401)
    expect((await setRole(from)).status).toBe(200)
    expect((await page.get('/api/v1/balance')).status).toBe(401)
    expect((await page.get('/admin/v1/customers')).status).toBe(200)
  })

  /** A view that an operator opened with a token, without a session. */
  async function viewByToken(expiresAt: number | null = null) {
    const { name } = await newOperator('support')
    const { text, token } = await service.services.operators.issueToken(name, { name: 'script', expiresAt })
    const view = await browser()
    const opened = await view.post(`${at(await newNameless())}/view`, {}, { Authorization: `Bearer ${text}` })
    expect((await view.get('/api/v1/balance')).status).toBe(200)
    return { view, token: token.id, endsAt: Date.parse(opened.data.expires_at) }
  }

  test('a view opened with an operator token ends when an owner revokes the token', async () => {
    const { view, token } = await viewByToken()
    const { page: owner } = await newOperator('owner')
    expect((await owner.post(`/admin/v1/operators/tokens/${token}/revoke`)).status).toBe(200)
    expect((await view.get('/api/v1/balance')).status).toBe(401)
  })

  test.each(['revoked', 'removed', 'demoted'] as const)(
    'an operator who was %s opens no view while the shop still caches the token as valid',
    async (change) => {
      const { operators, db } = service.services
      const { name } = await newOperator('support')
      const { text, token } = await operators.issueToken(name, { name: 'script', expiresAt: null })
      const customer = await newNameless()
      const open = async () =>
        (await (await browser()).post(`${at(customer)}/view`, {}, { Authorization: `Bearer ${text}` })).status
      expect(await open()).toBe(200)
      // As another process of the shop does it: this process caches the token for a second.
      await db.transact(async (tx) => {
        if (change === 'revoked') await operators.revokeToken(tx, token.id)
        else if (change === 'removed') await operators.remove(tx, name)
        else await operators.setRole(tx, name, 'reader')
      })
      expect(await open()).toBe(change === 'revoked' ? 401 : 403)
    },
  )

  test('a view opened with an operator token ends no later than the token expires', async () => {
    const expiresAt = service.clock.nowMs + 60_000
    expect((await viewByToken(expiresAt)).endsAt).toBe(expiresAt)
  })

  test.each(['sign-out', 'sessions/end'] as const)("an operator's POST %s ends open views", async (path) => {
    const { page } = await newOperator('support')
    await page.post(`${at(await newNameless())}/view`)
    expect((await page.get('/api/v1/balance')).status).toBe(200)
    const { session_id } = (await page.get('/auth/v1/operator/session')).data
    expect((await page.post(`/auth/v1/operator/${path}`, path === 'sign-out' ? {} : { session_id })).status).toBe(200)
    expect((await page.get('/api/v1/balance')).status).toBe(401)
  })
})
