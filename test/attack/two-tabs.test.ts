import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

const password = 'a long enough passphrase'

/** Tabs of one browser share the session cookie, and a tab may still show the customer before. */
describe.each([...enginesOf('sqlite')])('two tabs of one browser, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  async function newCustomer(login: string) {
    const { db, identities } = service.services
    const { customer, token } = await service.newCustomer(1000n)
    const hashed = await identities.hash(password, login, '192.0.2.1')
    await db.transact((tx) =>
      identities.create(
        tx,
        { kind: 'customer', id: customer },
        { login, email: null, password: hashed, isConfirmed: true },
      ),
    )
    const balance = async () => (await service.get('/balance', { token })).data.balance_rub as number
    return { id: customer, login, balance }
  }

  test('a purchase that names the customer of the first tab is refused after another customer signed in', async () => {
    const [first, second] = [await newCustomer('anna'), await newCustomer('boris')]
    const page = await createBrowserSession(service.url)
    const signIn = (login: string) => page.post('/auth/v1/customer/sign-in', { login, password })
    const buy = (customer: string, key: string) =>
      page.post(
        '/api/v1/dedicated/buy',
        { country_code: 'DE', period: 30, count: 1, ipv: 4 },
        { 'Idempotency-Key': key, 'X-Turnpike-Customer': customer },
      )
    expect((await signIn(first.login)).status).toBe(200)
    expect((await buy(first.id, 'key-1')).status).toBe(200)
    expect((await signIn(second.login)).status).toBe(200)
    for (const key of ['key-1', 'key-2']) {
      const refused = await buy(first.id, key)
      expect(refused).toMatchObject({ status: 409, error: { reason: 'other_customer_signed_in' } })
    }
    expect(await second.balance()).toBe(1000)
    expect((await buy(second.id, 'key-2')).status).toBe(200)
    expect(await second.balance()).toBeLessThan(1000)
  })
})
