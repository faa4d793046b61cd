import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import { codes } from '../../src/adapters/codes.ts'
import { adaptToRestore } from '../../src/app/backup/after-restore.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { type BrowserSession, createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'

const password = 'correct horse battery'

describe.each([...enginesOf('postgres')])('sessions, passwords and tokens of customers on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const browser = (): Promise<BrowserSession> => createBrowserSession(service.url)

  const linkFor = async (customer: CustomerId): Promise<string> => {
    const { db, signIn } = service.services
    return db.transact(async (tx) => signIn.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }).text)
  }

  let customersMade = 0
  /** A customer with a password, and a browser that has signed in by link. */
  async function addCustomer(roubles = 0n) {
    customersMade += 1
    const login = `customer-${customersMade}`
    const { customer, token } = await service.newCustomer(roubles)
    const page = await browser()
    await page.post('/auth/v1/customer/sign-in/link', { link: await linkFor(customer) })
    const set = await page.post('/auth/v1/customer/password', { login, password })
    expect(set.status).toBe(200)
    return { customer, token, login, page }
  }

  const codeNow = (secret: string): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: service.clock.nowMs })

  test('a sign-in link works once, for the console of its kind and customer', async () => {
    const { customer } = await service.newCustomer()
    const link = await linkFor(customer)
    const page = await browser()
    const opened = await page.post('/auth/v1/customer/sign-in/link', { link })
    expect(opened.data).toMatchObject({ kind: 'customer', id: customer, has_password: false, viewed_by: null })
    expect(page.setCookie()).toMatch(/^turnpike_customer=tps_\w+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
    expect((await page.get('/api/v1/balance')).data).toEqual({ balance_rub: 0, api_spent_rub: 0 })
    expect((await (await browser()).post('/auth/v1/customer/sign-in/link', { link })).status).toBe(404)
    expect(
      (await (await browser()).post('/auth/v1/operator/sign-in/link', { link: await linkFor(customer) })).status,
    ).toBe(404)
  })

  test('a wrong password and an unknown login get the same 401, and a login is read in any case', async () => {
    const { login } = await addCustomer()
    const page = await browser()
    const wrong = await page.post('/auth/v1/customer/sign-in', { login, password: 'not the password' })
    const unknown = await page.post('/auth/v1/customer/sign-in', { login: 'nobody-here', password })
    expect([wrong.status, wrong.error.code]).toEqual([401, 'sign_in_failed'])
    expect(wrong.text).toBe(unknown.text)
    expect(page.cookies.size).toBe(0)
    const right = await page.post('/auth/v1/customer/sign-in', { login: login.toUpperCase(), password })
    expect(right.data).toMatchObject({ login, has_password: true })
    expect((await page.get('/auth/v1/customer/session')).data).toEqual(right.data)
  })

  test('api_spent_rub leaves out a purchase in a session', async () => {
    const { page } = await addCustomer(1000n)
    const bought = await page.post('/api/v1/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
    expect(bought.status).toBe(200)
    const { data } = await page.get('/api/v1/balance')
    expect(data).toEqual({ balance_rub: 1000 - bought.data.price_rub, api_spent_rub: 0 })
  })

  test('a session cookie is refused for another origin and without the console header', async () => {
    const { page, login } = await addCustomer(100n)
    const body = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
      expect((await page.post('/api/v1/dedicated/buy', body, headers)).status).toBe(403)
      expect((await page.post('/auth/v1/customer/sign-in', { login, password }, headers)).status).toBe(403)
    }
    const bare = await fetch(`${service.url}/api/v1/balance`, {
      headers: { Cookie: [...page.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    expect(bare.status).toBe(403)
  })

  test('a customer lists sessions and ends one or all others; an ended session gets 401', async () => {
    const { page, login } = await addCustomer()
    const other = await browser()
    const third = await browser()
    for (const each of [other, third]) {
      service.clock.advance(1)
      await each.post('/auth/v1/customer/sign-in', { login, password })
    }
    const { sessions } = (await page.get('/auth/v1/customer/sessions')).data
    expect(sessions.map((each: { current: boolean }) => each.current)).toEqual([false, false, true])
    const ended = await page.post('/auth/v1/customer/sessions/end', { session_id: sessions[0].session_id })
    expect(ended.data).toEqual({ ended: 1 })
    expect((await third.get('/api/v1/balance')).status).toBe(401)
    expect((await page.post('/auth/v1/customer/sessions/end')).data).toEqual({ ended: 1 })
    expect((await other.get('/api/v1/balance')).status).toBe(401)
    expect((await page.post('/auth/v1/customer/sign-out')).data).toEqual({ done: true })
    expect(page.cookies.size).toBe(0)
    expect((await page.get('/api/v1/balance')).status).toBe(401)
  })

  test('another customer’s session answers 404 and stays open', async () => {
    const { page } = await addCustomer()
    const { page: other } = await addCustomer()
    const { session_id } = (await other.get('/auth/v1/customer/session')).data
    expect((await page.post('/auth/v1/customer/sessions/end', { session_id })).status).toBe(404)
    expect((await other.get('/api/v1/balance')).status).toBe(200)
  })

  test('a password change needs the old password and ends all other sessions', async () => {
    const { page, login } = await addCustomer()
    const other = await browser()
    await other.post('/auth/v1/customer/sign-in', { login, password })
    const blind = await page.post('/auth/v1/customer/password', { password: 'another good one' })
    expect(blind.error.code).toBe('sign_in_failed')
    const short = await page.post('/auth/v1/customer/password', { password: 'short', current_password: password })
    expect([short.status, short.error.details[0].field]).toEqual([400, 'password'])
    const set = await page.post('/auth/v1/customer/password', {
      password: 'another good one',
      current_password: password,
    })
    expect(set.data).toEqual({ sessions_ended: 1 })
    expect((await other.get('/api/v1/balance')).status).toBe(401)
    expect((await page.get('/api/v1/balance')).status).toBe(200)
    expect((await other.post('/auth/v1/customer/sign-in', { login, password })).status).toBe(401)
  })

  test('a login that another customer has is refused with 409', async () => {
    const { login } = await addCustomer()
    const { customer } = await service.newCustomer()
    const page = await browser()
    await page.post('/auth/v1/customer/sign-in/link', { link: await linkFor(customer) })
    expect((await page.post('/auth/v1/customer/password', { login, password })).status).toBe(409)
  })

  test('an unconfirmed e-mail address is refused as a login and stays free for its owner', async () => {
    const { page, login, customer } = await addCustomer()
    const change = { password: 'another good one', current_password: password }
    for (const address of ['victim@example.com', 'VICTIM@example.com', 'ｖictim@example.com']) {
      const refused = await page.post('/auth/v1/customer/password', { ...change, login: address })
      expect([refused.status, refused.error.details[0].field]).toEqual([400, 'login'])
    }
    const { operators, identities, db } = service.services
    const operator = await db.transact((tx) => operators.add(tx, 'olga-of-letters', 'owner'))
    const input = { login: 'victim@example.com', current: undefined, password, clientPrefix: 'h' }
    const slipped = identities.setPassword({ kind: 'operator', id: operator.id }, input, null)
    expect((await refusalOf(slipped)).code).toBe('invalid_request')
    expect((await (await browser()).post('/auth/v1/customer/sign-in', { login, password })).status).toBe(200)
    const owner = { kind: 'customer', id: (await service.newCustomer()).customer } as const
    const address = { login: 'victim@example.com', email: 'victim@example.com' }
    const hash = await identities.hash(password, address.login, 'h')
    await db.transact((tx) => identities.create(tx, owner, { ...address, password: hash, isConfirmed: true }))
    expect((await identities.profile({ kind: 'customer', id: customer })).email).toBeNull()
    // The owner of a confirmed address may change the login and change it back.
    const confirmed = { current: password, password, clientPrefix: 'h' }
    await identities.setPassword(owner, { ...confirmed, login: 'victim' }, null)
    await identities.setPassword(owner, { ...confirmed, login: address.login }, null)
    expect(await identities.profile(owner)).toMatchObject(address)
  })

  test('one of two concurrent requests for a login gets it, and the other gets 409', async () => {
    const both = [await addCustomer(), await addCustomer()]
    const input = { login: 'wanted-by-both', password: 'another good one', current_password: password }
    const answers = await Promise.all(both.map(({ page }) => page.post('/auth/v1/customer/password', input)))
    expect(answers.map((each) => each.status).toSorted((a, b) => a - b)).toEqual([200, 409])
  })

  test('sign-in with a second factor needs a code, and each code works once', async () => {
    const { page, login } = await addCustomer()
    expect((await page.post('/auth/v1/customer/factor')).status).toBe(401)
    const { data } = await page.post('/auth/v1/customer/factor', { current_password: password })
    expect(data.uri).toStartWith('otpauth://totp/Turnpike:')
    expect((await page.post('/auth/v1/customer/factor/confirm', { code: '000000' })).status).toBe(400)
    const signIn = async (given: object) => {
      const fresh = await browser()
      return fresh.post('/auth/v1/customer/sign-in', { login, password, ...given })
    }
    expect((await signIn({})).status).toBe(200)
    expect((await page.post('/auth/v1/customer/factor/confirm', { code: codeNow(data.secret) })).status).toBe(200)
    expect((await signIn({})).error.details).toEqual({ code_required: true })
    expect((await signIn({ password: 'not the password' })).error.details).toEqual({ code_required: false })
    expect((await signIn({ code: codeNow(data.secret) })).status).toBe(401)
    service.clock.advance(30_000)
    const code = codeNow(data.secret)
    expect((await signIn({ code })).status).toBe(200)
    expect((await signIn({ code })).status).toBe(401)
    await page.post('/auth/v1/customer/factor/remove', { current_password: password })
    expect((await signIn({})).status).toBe(200)
    expect(codes.findStep(data.secret, '12345', 0)).toBeUndefined()
  })

  /** Switches the second factor on. Returns its recovery codes. */
  async function enableFactor(page: BrowserSession, kind: 'customer' | 'operator' = 'customer'): Promise<string[]> {
    const { data } = await page.post(`/auth/v1/${kind}/factor`, { current_password: password })
    const confirmed = await page.post(`/auth/v1/${kind}/factor/confirm`, { code: codeNow(data.secret) })
    return confirmed.data.recovery_codes
  }

  test('a second factor has 10 recovery codes: each signs in once, 8 concurrent uses of one sign in once', async () => {
    const { page, login, customer } = await addCustomer()
    const signIn = async (code: string | undefined) =>
      (await browser()).post('/auth/v1/customer/sign-in', { login, password, code })
    const who = async () => (await page.get('/auth/v1/customer/session')).data
    expect((await who()).recovery_codes_left).toBeNull()
    const made = await enableFactor(page)
    expect([made.length, new Set(made).size]).toEqual([10, 10])
    for (const code of made) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/)
    const [first = '', second = '', third = '', fourth = ''] = made
    expect((await signIn(` ${first.toUpperCase().replaceAll('-', ' ')} `)).data.recovery_codes_left).toBe(9)
    expect((await signIn(first)).status).toBe(401)
    const raced = await Promise.all(Array.from({ length: 8 }, () => signIn(second)))
    expect(raced.filter(({ status }) => status === 200)).toHaveLength(1)
    const byLink = async (code: string) =>
      (await browser()).post('/auth/v1/customer/sign-in/link', { link: await linkFor(customer), code })
    expect([(await byLink(third)).status, (await byLink(third)).status]).toEqual([200, 401])
    expect((await who()).recovery_codes_left).toBe(7)

    expect((await page.post('/auth/v1/customer/factor/recovery-codes', {})).status).toBe(401)
    const renewed = await page.post('/auth/v1/customer/factor/recovery-codes', { current_password: password })
    expect([renewed.data.recovery_codes.length, (await who()).recovery_codes_left]).toEqual([10, 10])
    expect((await signIn(fourth)).status).toBe(401)
    expect((await signIn(renewed.data.recovery_codes[9])).status).toBe(200)
    const { events } = (await page.get('/api/v1/events')).data
    const shown = events.map((each: { type: string; data: object }) => [each.type, each.data])
    const used = (left: number) => ['recovery_code.used', { left }]
    const madeTen = ['recovery_codes.made', { left: 10 }]
    const set = [
      ['password.set', {}],
      ['second_factor.set', {}],
    ]
    expect(shown).toEqual([...set, madeTen, used(9), used(8), used(7), madeTen, used(9)])

    await page.post('/auth/v1/customer/factor/remove', { current_password: password })
    expect((await who()).recovery_codes_left).toBeNull()
    const missing = await page.post('/auth/v1/customer/factor/recovery-codes', { current_password: password })
    expect([missing.status, missing.error.code]).toEqual([409, 'conflict'])
  })

  test('a restore ends every session, sign-in link, recovery code, current code and unused join key', async () => {
    const { page, login, customer } = await addCustomer()
    const { data } = await page.post('/auth/v1/customer/factor', { current_password: password })
    const confirm = { code: codeNow(data.secret) }
    const [recovery = ''] = (await page.post('/auth/v1/customer/factor/confirm', confirm)).data.recovery_codes
    const link = await linkFor(customer)
    const { services, clock } = service
    await services.db.transact((tx) => services.fleet.add(tx, { kind: 'gateway', name: 'unjoined', location: 'x' }))
    const { text: key } = await services.fleet.issueKey('unjoined')
    clock.advance(60_000)
    const signIn = async (code: string) =>
      (await browser()).post('/auth/v1/customer/sign-in', { login, password, code })
    const unused = codeNow(data.secret)

    await services.db.transact((tx) => adaptToRestore(tx, clock.read()))
    // Until it has looked, a running shop refuses sign-ins with 503.
    await services.timeline.look()
    clock.advance(1001)
    expect((await page.get('/auth/v1/customer/session')).status).toBe(401)
    for (const code of [recovery, unused]) expect((await signIn(code)).status).toBe(401)
    clock.advance(60_000)
    const byLink = (await browser()).post('/auth/v1/customer/sign-in/link', { link, code: codeNow(data.secret) })
    expect((await byLink).status).toBe(404)
    expect((await refusalOf(services.fleet.join(key, 'a'.repeat(64), '1'))).reason).toBe('invalid_join_key')
    const signedIn = await signIn(codeNow(data.secret))
    expect([signedIn.status, signedIn.data.recovery_codes_left]).toEqual([200, null])
  })

  test('events name each change of a password and a second factor, and contain no secret', async () => {
    const { page, customer } = await addCustomer()
    const next = 'another horse battery'
    await page.post('/auth/v1/customer/password', { password: next, current_password: password })
    const { data } = await page.post('/auth/v1/customer/factor', { current_password: next })
    const confirmed = await page.post('/auth/v1/customer/factor/confirm', { code: codeNow(data.secret) })
    await page.post('/auth/v1/customer/factor/remove', { current_password: next })
    await page.post('/auth/v1/customer/factor', { current_password: next })
    const owner = { kind: 'customer', id: customer } as const
    // A factor that was never confirmed is not in the events.
    expect(await service.services.identities.dropFactor(owner)).toBeTrue()
    const again = await page.post('/auth/v1/customer/factor', { current_password: next })
    await page.post('/auth/v1/customer/factor/confirm', { code: codeNow(again.data.secret) })
    expect(await service.services.identities.dropFactor(owner)).toBeTrue()
    const { text, data: listed } = await page.get('/api/v1/events')
    expect(listed.events.map((each: { type: string; data: object }) => [each.type, each.data])).toEqual([
      ['password.set', {}],
      ['password.changed', {}],
      ['second_factor.set', {}],
      ['recovery_codes.made', { left: 10 }],
      ['second_factor.removed', { by: 'customer' }],
      ['second_factor.set', {}],
      ['recovery_codes.made', { left: 10 }],
      ['second_factor.removed', { by: 'operator' }],
    ])
    for (const secret of [password, next, data.secret, ...confirmed.data.recovery_codes]) {
      expect(text).not.toContain(secret)
    }
  })

  test('wrong recovery codes count as failed sign-ins: after 20 the right one is refused', async () => {
    const { page, login } = await addCustomer()
    const [right = ''] = await enableFactor(page)
    const guessing = { source: '198.51.100.8', clientPrefix: 'guessing', agent: null, shown: [] }
    const kinds: string[] = []
    for (let count = 0; count < 20; count += 1) {
      const given = { login, password, code: `0000-0000-0000-${String(count).padStart(4, '0')}` }
      kinds.push((await refusalOf(service.services.signIn.byPassword('customer', given, guessing))).kind)
    }
    expect(new Set(kinds)).toEqual(new Set(['unauthenticated']))
    const given = { login, password, code: right }
    expect((await refusalOf(service.services.signIn.byPassword('customer', given, guessing))).kind).toBe('too_many')
  })

  test('an operator’s recovery code signs in once, and the audit log has its use', async () => {
    const { db, operators, signIn } = service.services
    const name = 'olga'
    const link = await db.transact(async (tx) => {
      const { id } = await operators.add(tx, name, 'support')
      return signIn.issueLink(tx, { kind: 'operator', owner: id, purpose: 'enter' }).text
    })
    const page = await browser()
    await page.post('/auth/v1/operator/sign-in/link', { link })
    expect((await page.post('/auth/v1/operator/password', { password })).status).toBe(200)
    const [code = ''] = await enableFactor(page, 'operator')
    const enter = async () => (await browser()).post('/auth/v1/operator/sign-in', { login: name, password, code })
    const entered = await enter()
    expect([entered.status, entered.data.recovery_codes_left, (await enter()).status]).toEqual([200, 9, 401])
    const renewed = await page.post('/auth/v1/operator/factor/recovery-codes', { current_password: password })
    expect(renewed.data.recovery_codes).toHaveLength(10)
    const log = await operators.log({ before: undefined, operator: undefined, action: undefined, limit: 3 })
    expect(log.map((each) => [each.name, each.action, each.request])).toEqual([
      [name, 'renewRecoveryCodesOfOperator', '{}'],
      [name, 'useRecoveryCode', '{"left":9}'],
      [name, 'confirmFactorOfOperator', '{}'],
    ])
  })

  test('sign-in allows 20 wrong passwords per login and 30 right ones, then one per minute', async () => {
    const { login, customer } = await addCustomer()
    const page = await browser()
    const tries = (given: string) => page.post('/auth/v1/customer/sign-in', { login, password: given })
    for (let count = 0; count < 30; count += 1) expect((await tries(password)).status).toBe(200)
    // Right passwords: 30 and then one per minute; the newest 20 sessions stay open.
    const refused = await tries(password)
    expect([refused.status, refused.error.message]).toEqual([429, expect.stringContaining('Too many sign-ins')])
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)
    expect(await service.services.signIn.list({ kind: 'customer', id: customer })).toHaveLength(20)
    expect((await page.get('/api/v1/balance')).status).toBe(200)
    const elsewhere = { source: '198.51.100.9', clientPrefix: 'elsewhere', agent: null, shown: [] }
    const guess = async (given: string) =>
      (await refusalOf(service.services.signIn.byPassword('customer', { login, password: given }, elsewhere))).kind
    const kinds: string[] = []
    for (let count = 0; count < 20; count += 1) kinds.push(await guess(`guess number ${count}`))
    expect(kinds).toEqual([...Array.from({ length: 19 }, () => 'unauthenticated'), 'too_many'])
    expect(await guess(password)).toBe('too_many')
    service.clock.advance(60_000)
    expect((await tries(password)).status).toBe(200)
  })

  test('a blocked customer’s session and sign-in answer 403', async () => {
    const { page, customer, login } = await addCustomer()
    await service.services.setBlocked(customer, true)
    service.clock.advance(1000)
    expect((await page.get('/api/v1/balance')).status).toBe(403)
    expect((await page.post('/auth/v1/customer/sign-in', { login, password })).status).toBe(403)
  })

  test('a session ends after 14 days', async () => {
    const { page } = await addCustomer()
    service.clock.advance(14 * 86_400_000 - 1000)
    expect((await page.get('/api/v1/balance')).status).toBe(200)
    service.clock.advance(1000)
    expect((await page.get('/api/v1/balance')).status).toBe(401)
  })

  test('a session creates, lists and revokes tokens; a token gets 403 for each', async () => {
    const { page, token } = await addCustomer(100n)
    const input = { name: 'shop window', scopes: ['read'], cap_rub: 99.9, from: ['127.0.0.0/8'] }
    const made = (await page.post('/api/v1/tokens/create', input)).data
    expect(made).toMatchObject({
      name: 'shop window',
      scopes: ['read'],
      cap_rub: 99.9,
      from: ['127.0.0.0/8'],
      used_at: null,
    })
    for (const bad of [
      { name: 'x'.repeat(201) },
      { name: '' },
      { scopes: [] },
      { scopes: ['all'] },
      { cap_rub: -1 },
      { cap_rub: 0.001 },
      { cap_rub: 1_000_000_001 },
      { from: ['nowhere'] },
      { from: Array.from({ length: 101 }, () => '10.0.0.1') },
      { expires_at: 'soon' },
    ]) {
      const answer = await page.post('/api/v1/tokens/create', bad)
      expect([bad, answer.status, answer.error?.code]).toEqual([bad, 400, 'invalid_request'])
    }
    expect((await service.get('/balance', { token: made.token })).status).toBe(200)
    expect((await service.post('/dedicated/buy', {}, { token: made.token })).status).toBe(403)
    await service.services.customers.noteUses()
    const { tokens } = (await page.get('/api/v1/tokens')).data
    const listed = tokens.find((each: { token_id: string }) => each.token_id === made.token_id)
    expect(listed).toMatchObject({ used_from: '127.0.0.1', used_at: new Date(service.clock.nowMs).toISOString() })
    for (const answer of [
      await service.get('/tokens', { token }),
      await service.post('/tokens/create', input, { token }),
      await service.post('/tokens/revoke', { token_id: made.token_id }, { token }),
    ]) {
      expect([answer.status, answer.error.code]).toEqual([403, 'forbidden'])
    }
    const { page: otherCustomer } = await addCustomer()
    expect((await otherCustomer.post('/api/v1/tokens/revoke', { token_id: made.token_id })).status).toBe(404)
    expect((await page.post('/api/v1/tokens/revoke', { token_id: made.token_id })).status).toBe(200)
    expect((await service.get('/balance', { token: made.token })).status).toBe(401)
  })

  test('leave erases the customer’s name and needs give_up_balance while there is money', async () => {
    const { page, customer, login, token } = await addCustomer(10n)
    const refused = await page.post('/auth/v1/customer/leave', { current_password: password })
    expect([refused.status, refused.error.details]).toEqual([409, { balance_rub: 10 }])
    const left = await page.post('/auth/v1/customer/leave', { current_password: password, give_up_balance: true })
    expect(left.data).toEqual({ done: true })
    expect((await service.get('/balance', { token })).status).toBe(401)
    expect((await page.post('/auth/v1/customer/sign-in', { login, password })).status).toBe(401)
    const { name, blockedAt } = await service.services.customers.load(customer)
    expect([name, blockedAt !== null]).toEqual(['deleted', true])
  })

  test('the log and the database contain no password, second factor or session secret in plain text', async () => {
    const { page } = await addCustomer()
    const { data } = await page.post('/auth/v1/customer/factor', { current_password: password })
    const confirmed = await page.post('/auth/v1/customer/factor/confirm', { code: codeNow(data.secret) })
    const [recovery = 'none'] = confirmed.data.recovery_codes
    const secret = [...page.cookies.values()][0] ?? 'none'
    const rows = await Promise.all(
      ['identities', 'console_sessions', 'console_links', 'row_history'].map((table) =>
        service.services.db.all(`SELECT * FROM ${table}`),
      ),
    )
    const shown = Bun.inspect(rows, { depth: 10 }) + service.log.join('\n')
    for (const hidden of [password, data.secret, secret, recovery, recovery.replaceAll('-', '')])
      expect(shown).not.toContain(hidden)
  })

  test('register answers 403 while registration is off', async () => {
    const page = await browser()
    expect((await page.get('/auth/v1/customer/offers')).data).toEqual({
      registration: false,
      mail: false,
      contact: null,
    })
    const refused = await page.post('/auth/v1/customer/register', { email: 'new@example.com', password })
    expect(refused.status).toBe(403)
  })
})
