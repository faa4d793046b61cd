import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type BrowserSession, createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

const password = 'correct horse battery'
const home = '203.0.113.9'
const homeOf6 = (host: number): string => `2001:db8:77:1::${host.toString(16)}`
const dayMs = 86_400_000

describe.each([...enginesOf('sqlite')])('password guessing, on %s', (engine) => {
  let shop: Service
  beforeAll(async () => {
    shop = await startService(engine, { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' })
  })
  afterAll(() => shop.stop())

  const from = (address: string) => ({ 'X-Forwarded-For': address })
  const signIn = (page: BrowserSession, login: string, given: string, address: string) =>
    page.post('/auth/v1/customer/sign-in', { login, password: given }, from(address))

  let count = 0
  /** A customer who has signed in from a known address, and the browser. */
  async function atHome(address = home): Promise<{ readonly login: string; readonly page: BrowserSession }> {
    count += 1
    const login = `at-home-${count}`
    const { customer } = await shop.newCustomer()
    const { db, signIn: service } = shop.services
    const link = await db.transact(async (tx) =>
      service.issueLink(tx, { kind: 'customer', owner: customer, purpose: 'enter' }),
    )
    const page = await createBrowserSession(shop.url)
    await page.post('/auth/v1/customer/sign-in/link', { link: link.text }, from(address))
    expect((await page.post('/auth/v1/customer/password', { login, password }, from(address))).status).toBe(200)
    return { login, page }
  }

  /** Guesses 20 wrong passwords from as many addresses, which locks the login, and once more. */
  async function lock(login: string): Promise<void> {
    const page = await createBrowserSession(shop.url)
    const guesses = Array.from({ length: 21 }, (_, n) => n)
    const statuses: number[] = []
    for (const n of guesses) statuses.push((await signIn(page, login, `guess ${n}`, `198.51.${100 + n}.1`)).status)
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429])
  }

  test('a customer signs in while six other customers run 120 password checks', async () => {
    const { login } = await atHome()
    const clientAddresses = ['198.51.100.1', '198.51.101.1'] as const
    const own = [await atHome(), await atHome(), await atHome(), await atHome(), await atHome(), await atHome()]
    const flood = own.flatMap(({ page }) =>
      Array.from({ length: 20 }, (_, n) =>
        page.post(
          '/auth/v1/customer/factor/remove',
          { current_password: password },
          from(clientAddresses[n % 2] ?? ''),
        ),
      ),
    )
    const honest = createBrowserSession(shop.url).then((page) => signIn(page, login, password, home))
    expect((await honest).status).toBe(200)
    const answers = await Promise.all(flood)
    // How many checks wait at once depends on the machine; `passwords.test.ts` checks which are refused.
    const refused = answers.filter((each) => each.status !== 200)
    expect(refused.filter((each) => each.status !== 503)).toEqual([])
    expect(refused.every((each) => each.headers.get('retry-after') === '1')).toBe(true)
  })

  test('a locked login accepts its customer from the known IPv4 address or IPv6 /64, and answers 429 elsewhere', async () => {
    const { login } = await atHome()
    await lock(login)
    const fresh = (of: string, address: string) =>
      createBrowserSession(shop.url).then((page) => signIn(page, of, password, address))
    expect((await fresh(login, '192.0.2.1')).status).toBe(429)
    expect((await fresh(login, home)).status).toBe(200)
    const { login: ofSix } = await atHome(homeOf6(1))
    await lock(ofSix)
    expect((await fresh(ofSix, homeOf6(2))).status).toBe(200)
    expect((await fresh(ofSix, '2001:db8:77:2::1')).status).toBe(429)
  })

  test('a locked login accepts the browser in which its customer was signed in, from any address', async () => {
    const { login, page } = await atHome()
    const other = await atHome('192.0.2.77')
    await page.post('/auth/v1/customer/sessions/end', {
      session_id: (await page.get('/auth/v1/customer/session')).data.session_id,
    })
    await lock(login)
    expect((await signIn(other.page, login, password, '192.0.2.2')).status).toBe(429)
    expect((await signIn(page, login, password, '192.0.2.2')).status).toBe(200)
  })

  test('a known address allows 20 wrong guesses and then answers 429, like any other', async () => {
    const { login } = await atHome('192.0.2.50')
    await lock(login)
    const page = await createBrowserSession(shop.url)
    const statuses: number[] = []
    for (let n = 0; n < 21; n += 1) statuses.push((await signIn(page, login, `guess ${n}`, '192.0.2.50')).status)
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429])
    expect((await signIn(page, login, password, '192.0.2.50')).status).toBe(429)
  })

  test('sign-in answers 429 to a locked unknown login from a known address, as to a locked known one', async () => {
    await lock('nobody-at-all')
    const page = await createBrowserSession(shop.url)
    const unknown = await signIn(page, 'nobody-at-all', password, home)
    expect([unknown.status, unknown.error.code]).toEqual([429, 'rate_limited'])
  })

  test('an address is unknown again 14 days after the last sign-in', async () => {
    const { login } = await atHome('192.0.2.60')
    shop.clock.advance(14 * dayMs + 1)
    await lock(login)
    const page = await createBrowserSession(shop.url)
    expect((await signIn(page, login, password, '192.0.2.60')).status).toBe(429)
  })
})
