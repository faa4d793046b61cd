import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PaymentId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

describe.each([...engines])('erasure of a customer, on %s', (engine) => {
  let shop: Service
  beforeAll(async () => {
    shop = await startService(engine, { TURNPIKE_REGISTRATION: 'on' })
  })
  afterAll(async () => {
    expect(await findingsOf(shop.services)).toEqual([])
    await shop.stop()
  })

  const erase = (customer: Parameters<Service['services']['erasing']['erase']>[0]) =>
    shop.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })

  test("the export before an erasure lists the customer's traffic lot, which never expires", async () => {
    const { customer, token } = await shop.newCustomer(10_000n)
    expect((await shop.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })).status).toBe(200)
    const { items } = await shop.services.exporting.page(customer, 'customer', undefined, 500)
    expect(items.filter((each) => each.table === 'traffic_lots')).toHaveLength(1)
  })

  test('a sub-user that was requested before an erasure is not created after it, so that 0 names are left', async () => {
    const { customer } = await shop.newCustomer()
    await erase(customer)
    const late = shop.services.premium.subusers.create(customer, { name: 'Anna Late' })
    expect(await failureOf(late)).toMatchObject({ reason: 'customer_erased' })
    expect(await shop.services.db.all(`SELECT id FROM subusers WHERE name = 'Anna Late'`)).toEqual([])
  })

  test('the next resume of an erasure deletes a whitelist entry written after it, and verify finds nothing wrong', async () => {
    const { customer, token } = await shop.newCustomer()
    await shop.post('/premium/whitelist/add', { ip: '198.18.0.1' }, { token })
    await erase(customer)
    // Authorized before the erasure, and written after it.
    await shop.services.premium.whitelist.add(customer, undefined, '198.18.0.2', 'late')
    await shop.services.erasing.resume()
    const left = await shop.services.db.all(`SELECT prefix FROM whitelist_entries WHERE comment = 'late'`)
    expect(left).toEqual([])
  })

  test('an erased customer cannot begin a payment', async () => {
    const { customer } = await shop.newCustomer()
    await erase(customer)
    const order = {
      amount: kopecks(50_000n),
      method: 'sandbox',
      returnUrl: undefined,
      email: undefined,
      code: undefined,
    }
    const begun = shop.services.payments.begin({ customer, token: null }, undefined, order, shop.url)
    expect((await failureOf(begun)).message).toContain('blocked')
  })

  test('the shop answers 404 to the VPN subscription link of an erased customer', async () => {
    const { customer, token } = await shop.newCustomer(10_000n)
    await shop.post('/vpn/buy', { period: 1 }, { token })
    const link = (await shop.get('/vpn/info', { token })).data.subscription_url as string
    expect((await fetch(link)).status).toBe(200)
    await erase(customer)
    expect((await fetch(link)).status).toBe(404)
  })

  test("erasure succeeds when the customer's sub-user already has the replacement login", async () => {
    const { customer, token } = await shop.newCustomer()
    const first = (await shop.post('/premium/subusers', { login: `mallory_${engine}` }, { token })).data
    const taken = `u${String(first.id).slice(4)}`
    expect((await shop.post('/premium/subusers', { login: taken }, { token })).status).toBe(200)
    expect(await erase(customer)).toMatchObject({ customer })
  })

  test("erasure of 300 sub-users runs in more than 3 transactions, and the customer's token is refused at once", async () => {
    const { customer, token } = await shop.newCustomer()
    const { premium, db } = shop.services
    const login = (n: number) => `many_${engine}_${n}`
    for (let n = 0; n < 300; n += 50) {
      const some = Array.from({ length: 50 }, (_, each) => n + each)
      await Promise.all(some.map((each) => premium.subusers.create(customer, { name: 'his', login: login(each) })))
    }
    const count = async (): Promise<number> => {
      const row = await db.first<{ n: bigint }>(
        `SELECT COUNT(*) AS n FROM subusers WHERE customer_id = $1 AND (login LIKE 'many!_%' ESCAPE '!' OR name = 'his')`,
        [customer],
      )
      return Number(row?.n ?? 0n)
    }
    /**
     * The number of transactions that changed the rows. PostgreSQL stores it per row. SQLite has one writer at a time
     * in this process: the states between two writes show every transaction.
     */
    const pieces = async (seen: ReadonlySet<number>): Promise<number> => {
      if (engine === 'sqlite') return seen.size
      const sql = 'SELECT COUNT(DISTINCT xmin::text) AS n FROM subusers WHERE customer_id = $1'
      return Number((await db.first<{ n: bigint }>(sql, [customer]))?.n ?? 0n)
    }
    const other = await shop.newCustomer()
    const progress = { isOver: false }
    const erasing = erase(customer).finally(() => {
      progress.isOver = true
    })
    const seen = new Set<number>()
    while (!progress.isOver) {
      // Another customer writes: the state read after that lies between two transactions.
      await premium.whitelist.add(other.customer, undefined, '198.18.7.7', String(seen.size))
      const left = await count()
      seen.add(left)
      if (left > 0 && left < 300) expect((await shop.get('/balance', { token })).status).not.toBe(200)
    }
    await erasing
    expect(await count()).toBe(0)
    expect(await pieces(seen)).toBeGreaterThan(3)
  })

  test('the erasure job finishes an interrupted erasure, and verify finds nothing wrong before and after', async () => {
    const { customer } = await shop.newCustomer()
    const { premium, db } = shop.services
    for (let n = 0; n < 3; n += 1)
      await premium.subusers.create(customer, { name: 'his', login: `half_${engine}_${n}` })
    // The state after the first transaction: one of three.
    await db.transact(async (tx) => {
      await tx.run(`INSERT INTO erasures (customer_id, requested_by, at) VALUES ($1, 'customer', $2)`, [
        customer,
        shop.clock.nowMs,
      ])
      await tx.run(`UPDATE subusers SET name = 'erased' WHERE login = $1`, [`half_${engine}_1`])
    })
    await shop.services.setBlocked(customer, true)
    expect(await findingsOf(shop.services)).toEqual([])
    await shop.services.erasing.resume()
    const left = await db.all(`SELECT id FROM subusers WHERE login LIKE 'half!_%' ESCAPE '!'`)
    expect(left).toEqual([])
  })

  test('POST /auth/v1/customer/leave answers 409 conflict to a customer in debt', async () => {
    const page = await createBrowserSession(shop.url)
    const [email, password] = [`debtor-${engine}@example.com`, 'correct horse battery']
    await page.post('/auth/v1/customer/register', { email, password })
    const begun = (await page.post('/api/v1/payments', { amount_rub: 1000, method: 'sandbox' })).data
    await fetch(begun.pay_url, { method: 'POST' })
    await page.post('/api/v1/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
    await shop.services.paymentOperator.refund(begun.payment_id as PaymentId, {
      amount: 'all',
      intoDebt: true,
      note: 'back',
    })
    const refused = await page.post('/auth/v1/customer/leave', { current_password: password })
    expect([refused.status, refused.error?.code]).toEqual([409, 'conflict'])
  })
})
