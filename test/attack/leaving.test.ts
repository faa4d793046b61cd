import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { kopecks } from '../../src/kernel/money.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

describe.each([...engines])('whoever leaves, on %s,', (engine) => {
  let shop: Service
  beforeAll(async () => {
    shop = await startService(engine, { TURNPIKE_REGISTRATION: 'on' })
  })
  afterAll(() => shop.stop())

  const erase = (customer: Parameters<Service['services']['erasing']['erase']>[0]) =>
    shop.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })

  test('reads all that is kept about him before, what never ends included', async () => {
    const { customer, token } = await shop.newCustomer(10_000n)
    expect((await shop.post('/premium/traffic/buy', { pool_type: 'residential', gb: 1 }, { token })).status).toBe(200)
    const { items } = await shop.services.exporting.page(customer, 'customer', undefined, 500)
    expect(items.filter((each) => each.table === 'traffic_lots')).toHaveLength(1)
  })

  test('is rid of what was on its way to the database when he left, and every promise holds', async () => {
    const { customer, token } = await shop.newCustomer()
    await shop.post('/premium/whitelist/add', { ip: '198.18.0.1' }, { token })
    await erase(customer)
    // Let in before the door was shut, and written after it.
    await shop.services.premium.whitelist.add(customer, undefined, '198.18.0.2', 'late')
    await shop.services.erasing.resume()
    const left = await shop.services.db.all(`SELECT prefix FROM whitelist_entries WHERE comment = 'late'`)
    expect(left).toEqual([])
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('pays nothing in any more', async () => {
    const { customer } = await shop.newCustomer()
    await erase(customer)
    const wish = {
      amount: kopecks(50_000n),
      method: 'sandbox',
      returnUrl: undefined,
      email: undefined,
      code: undefined,
    }
    const begun = shop.services.payments.begin({ customer, token: null }, undefined, wish, shop.url)
    expect((await failureOf(begun)).message).toContain('blocked')
  })

  test('takes the way into his VPN with him', async () => {
    const { customer, token } = await shop.newCustomer(10_000n)
    await shop.post('/vpn/buy', { period: 1 }, { token })
    const link = (await shop.get('/vpn/info', { token })).data.subscription_url as string
    expect((await fetch(link)).status).toBe(200)
    await erase(customer)
    expect((await fetch(link)).status).toBe(404)
  })

  test('may have called a sub-user what another of his is to be called', async () => {
    const { customer, token } = await shop.newCustomer()
    const first = (await shop.post('/premium/subusers', { login: `mallory_${engine}` }, { token })).data
    const taken = `u${String(first.id).slice(4)}`
    expect((await shop.post('/premium/subusers', { login: taken }, { token })).status).toBe(200)
    expect(await erase(customer)).toMatchObject({ customer })
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('pays his debt first', async () => {
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
