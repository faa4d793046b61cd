import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { roles } from '../../src/domains/operators/rules.ts'
import { createAnswerChecker } from '../harness/answers.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { engines } from '../harness/database.ts'
import { scansIn, wideIn } from '../harness/scans.ts'
import { type Service, startService } from '../harness/service.ts'

type Match = { kind: string; id: string; title: string; detail: string | null; customer_name: string }

describe.each([...engines])('search and dry runs of operators on %s', (engine) => {
  let shop: Service
  let checker: Awaited<ReturnType<typeof createAnswerChecker>>
  const tokens = new Map<string, string>()
  beforeAll(async () => {
    shop = await startService(engine, { TURNPIKE_REGISTRATION: 'on' })
    checker = await createAnswerChecker(shop.url, '/admin/v1')
    for (const role of roles) {
      await createActions(shop.services).addOperator(`${role}-1`, role)
      tokens.set(role, (await shop.services.operators.issueToken(`${role}-1`, { name: 't', expiresAt: null })).text)
    }
  })
  afterAll(() => shop.stop())

  async function call(method: 'GET' | 'POST', path: string, role: string, body?: object) {
    const response = await fetch(`${shop.url}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${tokens.get(role)}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return checker.read(method, path, response)
  }
  const search = async (text: string, role = 'support'): Promise<Match[]> =>
    (await call('GET', `/search?q=${encodeURIComponent(text)}`, role)).data.items
  const found = async (text: string, role?: string) => (await search(text, role)).map(({ kind, id }) => `${kind} ${id}`)
  const logged = async (): Promise<string[]> =>
    (await call('GET', '/audit?limit=500', 'owner')).data.items.map((each: { action: string }) => each.action)

  test('search finds every kind by its id, customers by the beginning of name, login and e-mail, devices by name, orders by request', async () => {
    const { token, customer } = await shop.newCustomer(5_000n)
    const wanted = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const purchase = await shop.post('/dedicated/buy', wanted, { token, key: 'zoe-key' })
    const bought = purchase.data
    const [proxy] = bought.proxies
    const vpn = (await shop.post('/vpn/buy', { period: 1 }, { token })).data
    const payment = (await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })).data
    const { data: named } = await call('POST', '/customers', 'support', { name: 'Zoë Ivanova' })
    const { data: russian } = await call('POST', '/customers', 'support', { name: 'Яна Ильина' })
    await shop.services.db.transact((tx) =>
      shop.services.identities.create(
        tx,
        { kind: 'customer', id: named.customer_id },
        {
          login: 'zoe-login',
          email: 'post@zoe.example',
          password: null,
          isConfirmed: true,
        },
      ),
    )
    expect(await found(customer)).toEqual([`customer ${customer}`])
    for (const text of ['zoë', 'ZOË IVAN', 'zoe-l', 'post@zoe', named.customer_id.slice(0, 29)]) {
      expect(await found(text)).toContain(`customer ${named.customer_id}`)
    }
    for (const text of ['яна', 'Яна И', 'ЯНА']) expect(await found(text)).toEqual([`customer ${russian.customer_id}`])
    const requestId = purchase.headers.get('x-request-id') ?? ''
    for (const text of [bought.order_id, requestId, 'zoe-key']) {
      expect(await found(text)).toEqual([`order ${bought.order_id}`])
    }
    const { data: story } = await call('GET', `/orders/${bought.order_id}`, 'reader')
    expect(story.order).toMatchObject({ request_id: requestId, idempotency_key: 'zoe-key' })
    const listed = async (filter: string): Promise<string[]> =>
      (await call('GET', `/customers/${customer}/orders?${filter}`, 'reader')).data.items.map(
        (each: { order_id: string }) => each.order_id,
      )
    for (const filter of [`request_id=${requestId}`, 'idempotency_key=zoe-key']) {
      expect(await listed(filter)).toEqual([bought.order_id])
    }
    expect(await listed(`request_id=${requestId}&idempotency_key=other`)).toEqual([])
    expect(await found(payment.payment_id)).toEqual([`payment ${payment.payment_id}`])
    expect(await found(String(proxy.id))).toEqual([`proxy ${proxy.id}`])
    expect(await found(proxy.username)).toEqual([`proxy ${proxy.id}`])
    expect(await found(`${proxy.username}0`)).toEqual([])
    expect(await found(vpn.uuid)).toEqual([`vpn ${vpn.uuid}`])
    const [device] = (await shop.services.vpn.show(vpn.uuid)).devices
    for (const text of [device?.id ?? '', device?.publicKey ?? '', device?.ipv6 ?? '']) {
      expect(await found(text)).toEqual([`device ${device?.id}`])
    }
    for (const name of ["Zoë's Phone", 'Телефон Яны'])
      await shop.post('/vpn/devices', { uuid: vpn.uuid, name }, { token })
    for (const [text, title] of [
      ["zoë's pH", "Zoë's Phone"],
      ['телефон', 'Телефон Яны'],
    ] as const) {
      expect((await search(text)).map((each) => [each.kind, each.title])).toEqual([['device', title]])
    }
    expect((await search(bought.order_id))[0]).toMatchObject({
      title: 'dedicated',
      detail: 'buy',
      customer_name: 'another',
    })
    expect(await found('nothing-like-this')).toEqual([])
  })

  test('operators see the e-mail address of a self-registered customer as the name, in lists, search, payments and the audit log', async () => {
    const email = 'self@example.com'
    const visitor = await createBrowserSession(shop.url)
    const entered = await visitor.post('/auth/v1/customer/register', { email, password: 'correct horse battery' })
    const { id } = entered.data.who
    const { text: token } = await shop.services.customers.issueToken(id, { name: 'test' })
    const payment = (await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })).data
    const { data } = await call('POST', `/customers/${id}/note`, 'support', { note: 'asked for help' })
    const [searched] = await search(payment.payment_id)
    const [known] = await search('self@ex')
    const [listed] = (await call('GET', '/customers?search=self@', 'support')).data.items
    const [paid] = (await call('GET', `/payments?customer_id=${id}`, 'support')).data.items
    const [entry] = (await call('GET', '/audit?limit=1', 'owner')).data.items
    expect([data.name, known?.title, listed.name]).toEqual([email, email, email])
    expect([searched, paid, entry].map((each) => each?.customer_name)).toEqual([email, email, email])
    await fetch(payment.pay_url, { method: 'POST', redirect: 'manual' })
    await shop.services.erasing.erase(id, { by: 'customer', isConfirmed: () => true })
    expect((await call('GET', `/customers/${id}`, 'support')).data.name).toBe('deleted')
  })

  test('search by a whole address answers support and logs it; a reader gets nothing and no entry', async () => {
    const { token } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const [proxy] = (await shop.post('/dedicated/buy', order, { token })).data.proxies
    const before = (await logged()).filter((each) => each === 'search').length
    expect(await found(proxy.exit_ip, 'reader')).toEqual([])
    expect(await found(proxy.exit_ip, 'support')).toEqual([`proxy ${proxy.id}`])
    expect((await logged()).filter((each) => each === 'search').length).toBe(before + 1)
  })

  test('a reader who looks at a proxy by its number leaves an entry in the audit log each time', async () => {
    const { token } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const [proxy] = (await shop.post('/dedicated/buy', order, { token })).data.proxies
    expect((await call('GET', `/proxies/${proxy.id}`, 'reader')).data.address).toBe(proxy.exit_ip)
    expect(await found(String(proxy.id), 'reader')).toContain(`proxy ${proxy.id}`)
    const entries = (await call('GET', '/audit?limit=2', 'owner')).data.items
    expect(entries.map((each: { action: string; name: string }) => [each.action, each.name])).toEqual([
      ['search', 'reader-1'],
      ['showProxy', 'reader-1'],
    ])
  })

  test('a reader who looks at an order or at the proxies of a customer leaves an entry in the audit log', async () => {
    const { token, customer } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
    const { order_id, proxies } = (await shop.post('/dedicated/buy', order, { token })).data
    const story = (await call('GET', `/orders/${order_id}`, 'reader')).data
    expect(JSON.stringify(story)).toContain(proxies[0].exit_ip)
    expect((await call('GET', `/customers/${customer}/proxies`, 'reader')).data.items).toHaveLength(1)
    expect((await call('GET', '/customers/cus_nobody/proxies', 'reader')).status).toBe(404)
    const entries = (await call('GET', '/audit?limit=2', 'owner')).data.items
    expect(entries.map((each: { action: string; name: string }) => [each.action, each.name])).toEqual([
      ['listCustomerProxies', 'reader-1'],
      ['getOrderStory', 'reader-1'],
    ])
  })

  test('a refund with end of a renewal ends the whole subscription, and says so before and after', async () => {
    const { token } = await shop.newCustomer(5_000n)
    const bought = (await shop.post('/vpn/buy', { period: 1 }, { token })).data
    const renewed = (await shop.post('/vpn/renew', { uuid: bought.uuid, period: 3 }, { token })).data
    const end = (more: object) =>
      call('POST', `/orders/${renewed.order_id}/refund`, 'support', { end: 'unused', ...more })
    const ended = {
      uuid: bought.uuid,
      amount_rub: bought.price_rub + renewed.price_rub,
      subscription: { until: renewed.expires_at, devices: 1, orders: [bought.order_id] },
    }
    expect((await end({ dry_run: true })).data).toMatchObject(ended)
    expect((await shop.get(`/vpn/info?uuid=${bought.uuid}`, { token })).data.status).toBe('ACTIVE')
    expect((await end({})).data).toMatchObject(ended)
    expect((await shop.get('/balance', { token })).data.balance_rub).toBe(5_000)
  })

  const toKopecks = (roubles: number): number => Math.round(roubles * 100)
  type Line = { refunded_purchase_rub: number; refunded_prolongation_rub: number }
  const linesOf = ({ services }: { services: Line[] }): number =>
    services.reduce(
      (sum, each) => sum + toKopecks(each.refunded_purchase_rub) + toKopecks(each.refunded_prolongation_rub),
      0,
    )

  test.each(['whole', 'unused'])('the lines of a refund (%s) of 7 proxies add up to it to the kopeck', async (end) => {
    const { token } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 7, ipv: 4 }
    const bought = (await shop.post('/dedicated/buy', order, { token })).data
    const ids = bought.proxies.slice(0, 3).map((each: { id: number }) => each.id)
    await shop.post('/dedicated/prolong', { ids, period: 7 }, { token })
    await call('POST', `/orders/${bought.order_id}/refund`, 'support', { amount_rub: 3.33 })
    const { data } = await call('POST', `/orders/${bought.order_id}/refund`, 'support', { end })
    expect(data.services).toHaveLength(7)
    expect([data.amount_rub > 0, linesOf(data)]).toEqual([true, toKopecks(data.amount_rub)])
  })

  test('dry_run of credit, debit, refund, end and payment refund answers as the action would and changes nothing', async () => {
    const { token, customer } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 2, ipv: 4 }
    const bought = (await shop.post('/dedicated/buy', order, { token })).data
    const [proxy] = bought.proxies
    const started = (await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })).data
    await fetch(started.pay_url, { method: 'POST', redirect: 'manual' })
    const balance = async () => (await shop.get('/balance', { token })).data.balance_rub
    const [before, entries] = [await balance(), (await logged()).length]
    const tried = async (path: string, body: object) =>
      (await call('POST', path, 'support', { ...body, dry_run: true })).data
    expect(await tried(`/customers/${customer}/credit`, { amount_rub: 7 })).toMatchObject({
      balance_rub: before + 7,
      dry_run: true,
    })
    expect(await tried(`/customers/${customer}/debit`, { amount_rub: 7 })).toMatchObject({ balance_rub: before - 7 })
    const beyond = await call('POST', `/customers/${customer}/debit`, 'support', { amount_rub: 99_999, dry_run: true })
    expect(beyond.status).toBe(402)
    const whole = await tried(`/orders/${bought.order_id}/refund`, { end: 'whole' })
    expect(whole).toMatchObject({ amount_rub: bought.price_rub, balance_rub: before + bought.price_rub })
    expect(whole.proxies).toHaveLength(2)
    expect(linesOf(whole)).toBe(toKopecks(whole.amount_rub))
    expect(await tried(`/orders/${bought.order_id}/refund`, { amount_rub: 5 })).toMatchObject({ amount_rub: 5 })
    expect(await tried(`/proxies/${proxy.id}/end`, {})).toMatchObject({ proxy: proxy.id, dry_run: true })
    expect(await tried(`/payments/${started.payment_id}/refund`, { amount_rub: 100 })).toMatchObject({
      refunded_rub: 100,
    })
    expect([await balance(), (await logged()).length]).toEqual([before, entries])
    expect((await shop.get('/dedicated/list', { token })).data.proxies).toHaveLength(2)
    const refund = await call('POST', `/orders/${bought.order_id}/refund`, 'support', { end: 'whole' })
    expect(refund.data).toMatchObject({ amount_rub: whole.amount_rub, balance_rub: whole.balance_rub })
    expect(refund.data.dry_run).toBeUndefined()
    expect(await balance()).toBe(whole.balance_rub)
  })

  test('a customer’s services list proxies, VPN and traffic without passwords, and setup checks 7 steps', async () => {
    const { token, customer } = await shop.newCustomer(5_000n)
    const order = { country_code: 'DE', period: 30, count: 2, ipv: 4 }
    const bought = (await shop.post('/dedicated/buy', order, { token })).data
    await shop.post('/vpn/buy', { period: 1 }, { token })
    await shop.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 1 }, { token })
    const { items } = (await call('GET', `/customers/${customer}/proxies?limit=1`, 'reader')).data
    expect(items).toHaveLength(1)
    expect(JSON.stringify(items)).not.toContain(bought.proxies[1].password)
    const { vpn, traffic } = (await call('GET', `/customers/${customer}/services`, 'reader')).data
    expect([vpn.length, traffic.length]).toEqual([1, 1])
    expect(traffic[0]).toMatchObject({ pool: 'datacenter', left_bytes: 1_000_000_000 })
    const { steps } = (await call('GET', '/setup', 'reader')).data
    const open = steps.filter((each: { done: boolean }) => !each.done).map((each: { step: string }) => each.step)
    expect([steps.length, open]).toEqual([7, ['address']])
  })

  test('search reads no table completely, whatever the text', async () => {
    const tables = [
      'customers',
      'identities',
      'proxies',
      'orders',
      'payments',
      'vpn_peers',
      'vpn_subscriptions',
      'subusers',
      'stock',
      'leases',
    ]
    const texts = [
      'anna',
      'cus_0',
      'ord_0',
      'pay_0',
      '7',
      'u0123abcd',
      '127.10.0.1',
      'fd74::1',
      'dev_00000000000000000000000000',
    ]
    const scans = await scansIn(shop.services.db, tables, async () => {
      for (const text of texts) await search(text)
    })
    expect(scans).toEqual([])
  })

  test('a search by login or e-mail reads the matching identities only, by an index on both columns', async () => {
    const wide = await wideIn(
      shop.services.db,
      { table: 'identities', columns: ['login>', 'email>', 'owner_id='], max: 10 },
      () => search('nobody-is-called-this'),
    )
    expect(wide).toEqual([])
  })
})
