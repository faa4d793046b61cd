import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { engines } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'
import type { OtherSide } from '../providers/other-side.ts'
import { type Introduced, introduce } from '../providers/shop.ts'

const minuteMs = 60_000

describe.each([...engines])('payments on %s', (engine) => {
  let shop: Service
  const open: Introduced[] = []
  beforeAll(async () => {
    shop = await startService(engine)
  })
  afterAll(async () => {
    for (const each of open) await each.side.stop()
    await shop.stop()
  })

  const balanceOf = async (token: string): Promise<number> => (await shop.get('/balance', { token })).data.balance_rub
  const pressPay = (url: string) => fetch(url, { method: 'POST' })
  const notify = async (provider: string, side: OtherSide, id: string): Promise<number> => {
    const { headers, body } = side.notificationOf(id)
    return (await fetch(`${shop.url}/api/v1/payments/notify/${provider}`, { method: 'POST', headers, body })).status
  }

  test('the sandbox payment page credits the amount once and links back to return_url', async () => {
    const { token } = await shop.newCustomer()
    const { data: methods } = await shop.get('/payments/methods', { token })
    expect(methods.items.map((each: { method: string }) => each.method)).toContain('sandbox')
    const topUp = { amount_rub: 500.5, method: 'sandbox', return_url: 'https://shop.example.net/done?a=1' }
    const { data: begun } = await shop.post('/payments', topUp, { token, key: 'top-up-1' })
    expect(begun).toMatchObject({ status: 'pending', amount_rub: 500.5, to_pay_rub: 500.5, pay_url: begun.qr })
    const page = await fetch(begun.pay_url)
    const inRussian = await fetch(begun.pay_url, { headers: { 'Accept-Language': 'ru-RU,ru;q=0.9,en;q=0.8' } })
    expect(await inRussian.text()).toContain('Это песочница: реальные деньги не списываются.')
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('₽500.50')])
    expect(await balanceOf(token)).toBe(0)
    expect((await pressPay(begun.pay_url)).status).toBe(200)
    const again = await pressPay(begun.pay_url)
    expect(await again.text()).toContain(
      'href="https://shop.example.net/done?a=1" rel="noreferrer nofollow">Back to shop',
    )
    expect(await balanceOf(token)).toBe(500.5)
    const { data: now } = await shop.get(`/payments/${begun.payment_id}`, { token })
    expect(now).toMatchObject({ status: 'paid', refunded_rub: 0 })
    const { data: listed } = await shop.get('/transactions', { token })
    expect(listed.transactions).toMatchObject([{ kind: 'credit', amount_rub: 500.5, payment_id: begun.payment_id }])
    const { data: listedEvents } = await shop.get('/events?type=payment.paid', { token })
    expect(listedEvents.events).toMatchObject([
      { data: { payment_id: begun.payment_id, amount_rub: 500.5, balance_rub: 500.5 } },
    ])
  })

  test('a key of version 0.2.0 replays its payment: the stored digest of each request is the one of that version', async () => {
    const { token, customer } = await shop.newCustomer()
    const of = { amount_rub: 1000, method: 'sandbox' }
    const dedicated = { product: 'dedicated', country_code: 'DE', period: 30, count: 2, ipv: 4 }
    const traffic = { product: 'traffic', pool_type: 'residential', gb: 1.5 }
    // The texts that 0.2.0 made of these requests, of which it stored SHA-256.
    const requests: readonly (readonly [body: object, text: string])[] = [
      [of, ''],
      [{ ...of, return_url: 'https://shop.example/done' }, ',"return_url":"https://shop.example/done"'],
      [
        { ...of, purchase: dedicated },
        ',"purchase":{"input":{"count":2,"country":"DE","ipv":4,"period":30},"product":"dedicated"}',
      ],
      [
        { ...of, purchase: traffic, return_url: 'https://x.example/' },
        ',"purchase":{"input":{"pool":"residential","tenths":15},"product":"traffic"},"return_url":"https://x.example/"',
      ],
      [
        { ...of, purchase: { product: 'vpn', period_months: 3, auto_renew: true } },
        ',"purchase":{"input":{"autoRenew":true,"months":3},"product":"vpn"}',
      ],
      [
        { ...of, purchase: { product: 'vpn', period: 1, auto_renew: false, location: 'local' } },
        ',"purchase":{"input":{"location":"local","months":1},"product":"vpn"}',
      ],
    ]
    for (const [index, [body, text]] of requests.entries()) {
      const key = `from-0.2.0-${index}`
      const { data } = await shop.post('/payments', { amount_rub: 1, method: 'sandbox' }, { token, key })
      const canonical = `{"payment":{"amount":"100000","method":"sandbox"${text}}}`
      const digest = Uint8Array.from(new Bun.CryptoHasher('sha256').update(canonical).digest())
      await shop.services.db.transact((tx) =>
        tx.run('UPDATE payments SET request = $3 WHERE customer_id = $1 AND key = $2', [customer, key, digest]),
      )
      const repeated = await shop.post('/payments', body, { token, key })
      expect([body, repeated.data?.payment_id]).toEqual([body, data.payment_id])
    }
  })

  test('POST /payments replays the first answer for a key, also after the payment was made', async () => {
    const { token } = await shop.newCustomer()
    const topUp = { amount_rub: 10, method: 'sandbox' }
    const first = await shop.post('/payments', topUp, { token, key: 'k' })
    await pressPay(first.data.pay_url)
    const second = await shop.post('/payments', topUp, { token, key: 'k' })
    expect([second.text, second.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    const other = await shop.post('/payments', { ...topUp, amount_rub: 11 }, { token, key: 'k' })
    expect([other.status, other.error.details.payment_id]).toEqual([422, first.data.payment_id])
    const { data } = await shop.get('/payments?limit=1', { token })
    expect([data.payments.length, data.next_cursor]).toEqual([1, null])
  })

  test('GET /payments pages through a customer’s payments, newest first; others’ payments answer 404', async () => {
    const [anna, boris] = [await shop.newCustomer(), await shop.newCustomer()]
    for (let count = 0; count < 3; count += 1) {
      shop.clock.advance(5)
      await shop.post('/payments', { amount_rub: 10 + count, method: 'sandbox' }, { token: anna.token })
    }
    const { data: first } = await shop.get('/payments?limit=2', { token: anna.token })
    const { data: rest } = await shop.get(`/payments?limit=2&cursor=${first.next_cursor}`, { token: anna.token })
    const amounts = [...first.payments, ...rest.payments].map((each: { amount_rub: number }) => each.amount_rub)
    expect([amounts, rest.next_cursor]).toEqual([[12, 11, 10], null])
    const id = first.payments[0].payment_id
    expect((await shop.get(`/payments/${id}`, { token: boris.token })).status).toBe(404)
    expect((await shop.get('/payments/pay_1', { token: boris.token })).status).toBe(404)
    expect((await shop.get('/payments?cursor=xx', { token: boris.token })).status).toBe(400)
  })

  test.each([
    [{ method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: 0, method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: -5, method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: 0.001, method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: '5', method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: 1e12, method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: 0.5, method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: 1_000_000.01, method: 'sandbox' }, 'amount_rub'],
    [{ amount_rub: 5, method: 'gold' }, 'method'],
    [{ amount_rub: 5, method: 'sandbox', return_url: 'javascript:alert(1)' }, 'return_url'],
    [{ amount_rub: 5, method: 'sandbox', return_url: 'https://bank.example@evil.example/' }, 'return_url'],
    [{ amount_rub: 5, method: 'sandbox', return_url: '//evil.example/' }, 'return_url'],
    [{ amount_rub: 5, method: 'sandbox', email: 'nobody' }, 'email'],
    [{ amount_rub: 5, method: 'sandbox', code: 'NONESUCH' }, 'code'],
    [{ amount_rub: 5, method: 'sandbox', purchase: { product: 'gold' } }, 'purchase.product'],
    [{ amount_rub: 5, method: 'sandbox', purchase: { product: 'vpn' } }, 'purchase.period'],
    [{ amount_rub: 5, method: 'sandbox', purchase: { product: 'vpn', period: 7 } }, 'purchase.period'],
    [
      { amount_rub: 5, method: 'sandbox', purchase: { product: 'traffic', pool_type: 'gold', gb: 1 } },
      'purchase.pool_type',
    ],
    [{ amount_rub: 5, method: 'sandbox', purchase: { product: 'vpn', period: 1 } }, 'amount_rub'],
  ])('POST /payments refuses %j, names the field and stores no payment', async (body, field) => {
    const { token } = await shop.newCustomer()
    const refused = await shop.post('/payments', body, { token })
    expect([refused.status, refused.error.details[0].field]).toEqual([400, field])
    expect((await shop.get('/payments', { token })).data.payments).toEqual([])
  })

  test('POST /payments needs the scope pay, and trade as well for a purchase', async () => {
    const { customer } = await shop.newCustomer()
    const issue = async (...scopes: ('read' | 'trade' | 'pay')[]) =>
      (await shop.services.customers.issueToken(customer, { name: 't', scopes })).text
    const topUp = { amount_rub: 5000, method: 'sandbox' }
    const [trade, pay] = [await issue('read', 'trade'), await issue('pay')]
    expect((await shop.post('/payments', topUp, { token: trade })).error.details.needed).toBe('pay')
    expect((await shop.post('/payments', topUp, { token: pay })).status).toBe(200)
    const purchase = { product: 'vpn', period: 1 }
    expect((await shop.post('/payments', { ...topUp, purchase }, { token: pay })).error.details.needed).toBe('trade')
    expect((await shop.post('/payments', topUp, { token: null })).status).toBe(401)
  })

  test('an unpaid payment expires after 60 min with an event and credits nothing', async () => {
    const { token, customer } = await shop.newCustomer()
    const { data: begun } = await shop.post('/payments', { amount_rub: 50, method: 'sandbox' }, { token })
    shop.clock.advance(61 * minuteMs)
    while ((await shop.services.paymentWatch.pollDue(100)).polled === 100);
    expect((await shop.get(`/payments/${begun.payment_id}`, { token })).data.status).toBe('expired')
    expect(await (await fetch(begun.pay_url)).text()).toContain('This payment has expired or was cancelled.')
    const { data: listedEvents } = await shop.get('/events?type=payment.expired', { token })
    expect(listedEvents.events).toMatchObject([{ data: { payment_id: begun.payment_id } }])
    expect(await balanceOf(token)).toBe(0)
    expect(customer).toStartWith('cus_')
  })

  test.each(['yookassa', 'crypto_pay', 'platega'] as const)(
    'a top-up through %s is credited once; its chargeback leaves a debt that blocks purchases until paid',
    async (provider) => {
      const introduced = await introduce(shop.services, provider, { now: shop.clock.read })
      const { side, method } = introduced
      open.push(introduced)
      const { token } = await shop.newCustomer()
      const payByProvider = async (amount: number) => {
        const { data } = await shop.post('/payments', { amount_rub: amount, method }, { token })
        const bill = [...side.bills.values()].find((each) => each.mark === data.payment_id)
        expect([data.status, bill?.hundredths, data.pay_url]).toEqual(['pending', amount * 100, expect.any(String)])
        side.pay(bill?.id ?? '')
        expect(await notify(provider, side, bill?.id ?? '')).toBe(200)
        return { id: data.payment_id as string, bill: bill?.id ?? '' }
      }
      const first = await payByProvider(1000)
      expect(await notify(provider, side, first.bill)).toBe(200)
      expect(await balanceOf(token)).toBe(1000)
      const bought = await shop.post('/vpn/buy', { period: 1 }, { token })
      expect(bought.status).toBe(200)
      if (provider === 'crypto_pay') return
      side.refund(first.bill, 100_000)
      expect(await notify(provider, side, first.bill)).toBe(200)
      const owed = bought.data.price_rub as number
      expect(await balanceOf(token)).toBe(-owed)
      expect((await shop.get(`/payments/${first.id}`, { token })).data).toMatchObject({
        status: 'refunded',
        refunded_rub: 1000,
      })
      const refused = await shop.post('/vpn/buy', { period: 1 }, { token })
      expect([refused.status, refused.error.code]).toEqual([402, 'insufficient_funds'])
      expect(refused.error.details).toMatchObject({ debt_rub: owed, charged: false })
      expect(refused.error.message).toContain(`you owe ${owed.toFixed(2)} RUB`)
      await payByProvider(2000)
      expect(await balanceOf(token)).toBe(2000 - owed)
      expect((await shop.post('/vpn/buy', { period: 1 }, { token })).status).toBe(200)
    },
  )

  test('a payment with a purchase buys once, at the quoted price, although prices have doubled', async () => {
    const { customer, token } = await shop.newCustomer()
    const { data: quoted } = await shop.get('/vpn/quote?period=1', { token })
    const purchase = { product: 'vpn', period: 1 }
    const topUp = { amount_rub: quoted.price_rub, method: 'sandbox', purchase }
    const { data: begun } = await shop.post('/payments', topUp, { token, key: 'buy-now' })
    expect(begun.purchase).toEqual({
      product: 'vpn',
      price_rub: quoted.price_rub,
      state: 'waiting',
      order_id: null,
      problem: null,
    })
    const { vpn } = shippedCatalogue as { vpn: { months: Record<string, number> } }
    const dearer = Object.fromEntries(Object.entries(vpn.months).map(([months, price]) => [months, price * 2]))
    const { db, pricing } = shop.services
    const list = { ...(shippedCatalogue as object), vpn: { ...vpn, months: dearer } }
    await db.transact((tx) => pricing.apply(tx, list))
    await Promise.all([pressPay(begun.pay_url), pressPay(begun.pay_url), shop.services.purchases.fulfilAll(10)])
    await shop.services.purchases.fulfilAll(10)
    const { data: now } = await shop.get(`/payments/${begun.payment_id}`, { token })
    expect(now).toMatchObject({
      status: 'paid',
      purchase: { state: 'bought', order_id: expect.stringMatching(/^ord_/) },
    })
    // Three processes may try: the log has one line.
    const lines = shop.log.map((line) => JSON.parse(line)).filter((line) => line.payment === begun.payment_id)
    expect(lines).toMatchObject([{ event: 'sold', customer, product: 'vpn', order: now.purchase.order_id }])
    const { data: listed } = await shop.get('/orders', { token })
    expect(listed.orders).toMatchObject([{ order_id: now.purchase.order_id, price_rub: quoted.price_rub }])
    expect(await balanceOf(token)).toBe(0)
    await db.transact((tx) => pricing.apply(tx, shippedCatalogue))
    shop.clock.advance(1000)
  })

  test('POST /payments compares the purchase of a repeat by meaning and warns about an unknown field', async () => {
    const { token } = await shop.newCustomer()
    const begin = (purchase: object) =>
      shop.post('/payments', { purchase, method: 'sandbox', amount_rub: 500 }, { token, key: 'purchase' })
    const first = await begin({ product: 'vpn', period: 1 })
    expect(first.status).toBe(200)
    const again = await begin({ auto_renew: false, period: 1, product: 'vpn', lokation: 'moon' })
    expect([again.status, again.data, again.warnings]).toEqual([
      200,
      first.data,
      [
        {
          field: 'purchase.lokation',
          problem: 'is not known here; did you mean location?',
          reason: 'ignored_similar',
          params: { nearest: 'location' },
        },
      ],
    ])
    expect((await begin({ product: 'vpn', period: 3 })).error.code).toBe('idempotency_key_reused')
  })

  test('port_type of an attached purchase is delivered and counts for the key of the payment; the default is http', async () => {
    const { token } = await shop.newCustomer()
    const begin = (key: string, more: object) => {
      const purchase = { product: 'dedicated', country_code: 'DE', period: 30, count: 1, ipv: 4, ...more }
      return shop.post('/payments', { amount_rub: 1000, method: 'sandbox', purchase }, { token, key })
    }
    const { data: begun } = await begin('both', { port_type: 'both' })
    expect((await begin('both', { port_type: 'socks' })).error.code).toBe('idempotency_key_reused')
    expect((await begin('http', {})).data).toEqual((await begin('http', { port_type: 'http' })).data)
    await pressPay(begun.pay_url)
    const { data: listed } = await shop.get('/dedicated/list', { token })
    expect(listed.proxies).toMatchObject([{ port_type: 'both' }])
  })

  test('a refused purchase names the problem and leaves the money; one paid 3 h late lapses', async () => {
    const { token } = await shop.newCustomer()
    const purchase = { product: 'dedicated', country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const { data: begun } = await shop.post('/payments', { amount_rub: 5000, method: 'sandbox', purchase }, { token })
    await shop.services.db.transact((tx) =>
      tx.run(`UPDATE stock SET state = 'retired' WHERE state = 'free' AND ipv = 4`),
    )
    await pressPay(begun.pay_url)
    await shop.services.db.transact((tx) =>
      tx.run(`UPDATE stock SET state = 'free' WHERE state = 'retired' AND ipv = 4`),
    )
    const { data: now } = await shop.get(`/payments/${begun.payment_id}`, { token })
    expect(now.purchase).toMatchObject({ state: 'refused', order_id: null })
    const problemIn = async (language: string) => {
      const headers = { 'Accept-Language': language }
      const { data, headers: sent } = await shop.get(`/payments/${begun.payment_id}`, { token, headers })
      const { payments } = (await shop.get('/payments', { token, headers })).data
      expect([payments[0].purchase, sent.get('content-language')]).toEqual([data.purchase, language])
      return data.purchase.problem as string
    }
    expect(await problemIn('en')).toStartWith('No addresses are available now.')
    expect(await problemIn('ru')).toMatch(/^[А-Я].*Деньги не списаны/)
    const { db } = shop.services
    const read = () =>
      db.first<{ problem: string }>('SELECT purchase_problem AS problem FROM payments WHERE id = $1', id)
    const id = [begun.payment_id]
    expect(JSON.parse((await read())?.problem ?? '')).toEqual({ reason: 'out_of_stock', params: { available: 0 } })
    // Version 0.2 stored the English sentence.
    const old = 'There are not so many proxies.'
    await db.transact((tx) => tx.run('UPDATE payments SET purchase_problem = $2 WHERE id = $1', [...id, old]))
    expect(await Promise.all([problemIn('en'), problemIn('ru')])).toEqual([old, old])
    expect(await balanceOf(token)).toBe(5000)
    const { data: late } = await shop.post('/payments', { amount_rub: 5000, method: 'sandbox', purchase }, { token })
    shop.clock.advance(3 * 60 * minuteMs)
    await pressPay(late.pay_url)
    expect((await shop.get(`/payments/${late.payment_id}`, { token })).data).toMatchObject({
      status: 'paid',
      purchase: { state: 'lapsed' },
    })
    expect(await balanceOf(token)).toBe(10_000)
  })

  test('a payment begun by a token that was revoked since buys nothing, and its money stays on the balance', async () => {
    const { customer, token } = await shop.newCustomer()
    const { customers } = shop.services
    const issue = (expiresAt: number | null) => customers.issueToken(customer, { name: 'program', expiresAt })
    const purchase = { product: 'vpn', period: 1 }
    const begin = async (as: string) =>
      (await shop.post('/payments', { amount_rub: 1000, method: 'sandbox', purchase }, { token: as })).data
    const [revoked, expired] = [await issue(null), await issue(shop.clock.nowMs + minuteMs)]
    const [ofRevoked, ofExpired] = [await begin(revoked.text), await begin(expired.text)]
    await customers.revokeToken(revoked.token.id)
    shop.clock.advance(2 * minuteMs)
    for (const each of [ofRevoked, ofExpired]) await pressPay(each.pay_url)
    const purchaseOf = async (id: string) => (await shop.get(`/payments/${id}`, { token })).data.purchase
    expect(await purchaseOf(ofRevoked.payment_id)).toMatchObject({
      state: 'refused',
      order_id: null,
      problem: expect.stringContaining('revoked'),
    })
    expect(await purchaseOf(ofExpired.payment_id)).toMatchObject({ state: 'bought' })
    const { data } = await shop.get('/orders', { token })
    expect(data.orders).toHaveLength(1)
    expect(await balanceOf(token)).toBe(2000 - data.orders[0].price_rub)
  })

  test('a code adds a bonus once per customer and twice in all, and a refund debits the bonus', async () => {
    const { codes, paymentOperator } = shop.services
    const terms = {
      kind: 'percent' as const,
      value: 1000n,
      least: 10_000n as never,
      uses: 2,
      untilAt: null,
      note: 'test',
    }
    await codes.add({ code: 'SPRING', ...terms })
    const [anna, boris, clara] = [await shop.newCustomer(), await shop.newCustomer(), await shop.newCustomer()]
    const begin = (token: string, amount = 500) =>
      shop.post('/payments', { amount_rub: amount, method: 'sandbox', code: 'spring' }, { token })
    expect((await begin(anna.token, 99)).error.message).toContain('at least 100.00 RUB')
    const { data: first } = await begin(anna.token)
    expect(first.bonus_rub).toBe(50)
    expect((await begin(anna.token)).error.message).toContain('was already used by you')
    const { data: second } = await begin(boris.token)
    expect((await begin(clara.token)).error.message).toContain('has reached its maximum number of uses')
    await pressPay(first.pay_url)
    expect(await balanceOf(anna.token)).toBe(550)
    await paymentOperator.refund(first.payment_id, { amount: 'all', intoDebt: false, note: 'back' })
    expect(await balanceOf(anna.token)).toBe(0)
    await codes.end('SPRING')
    await pressPay(second.pay_url)
    expect(await balanceOf(boris.token)).toBe(550)
    expect((await begin(clara.token)).error.message).toContain('has ended')
  })

  test('a referrer gets 10 % of the first 2 top-ups once the operator has set these terms', async () => {
    const { referrals } = shop.services
    const anna = await shop.newCustomer()
    shop.clock.advance(5)
    const boris = await shop.newCustomer()
    const topUp = async () => {
      const { data } = await shop.post('/payments', { amount_rub: 100, method: 'sandbox' }, { token: boris.token })
      await pressPay(data.pay_url)
    }
    await referrals.add(boris.customer, anna.customer)
    await topUp()
    expect(await balanceOf(anna.token)).toBe(0)
    await referrals.set({ hundredths: 1000, topUps: 2 })
    await topUp()
    await topUp()
    expect([await balanceOf(anna.token), await balanceOf(boris.token)]).toEqual([10, 300])
    await referrals.set({ hundredths: 0, topUps: 1 })
    const refusal = async (work: Promise<unknown>) => (await failureOf(work)).message
    expect(await refusal(referrals.add(boris.customer, anna.customer))).toContain('already')
    expect(await refusal(referrals.add(anna.customer, boris.customer))).toContain('before')
  })

  test('/pay shows its time limit in the language and time zone of the link, and in UTC for an unknown zone', async () => {
    const { data } = await shop.post('/payments', { amount_rub: 100, method: 'sandbox' })
    const read = async (query: string) => (await fetch(data.pay_url + query)).text()
    expect(await read('?language=ru&zone=Asia/Novosibirsk')).toMatch(/Оплатить до \d+ \S+ \d{4} .*GMT\+7/)
    expect(await read('?zone=Nowhere/City')).toMatch(/Pay before .* UTC/)
    expect(await read('')).toMatch(/Pay before .* UTC/)
    expect(await read('')).not.toContain('seller')
  })

  test('/pay answers 404 for unknown payments, and verify finds nothing', async () => {
    for (const path of ['/pay/pay_1', `/pay/pay_${'0'.repeat(26)}`]) {
      expect((await fetch(shop.url + path)).status).toBe(404)
      expect((await pressPay(shop.url + path)).status).toBe(404)
    }
    expect((await fetch(`${shop.url}/api/v1/payments/notify/yookassa`)).status).toBe(405)
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
