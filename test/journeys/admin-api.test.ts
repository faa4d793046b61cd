import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { commands } from '../../src/app/commands.ts'
import { createActions } from '../../src/app/shop/admin.ts'
import { roles } from '../../src/domains/operators/rules.ts'
import { type Answer, createAnswerChecker } from '../harness/answers.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { introduce } from '../providers/shop.ts'

type Described = {
  operationId: string
  'x-role': (typeof roles)[number]
  requestBody?: { content: { 'application/json': { example?: object } } }
}
type Walked = Described & { method: 'GET' | 'POST'; path: string }

/** Commands without an HTTP operation: they run a process, or work on files while no shop runs. */
const localCommands = [
  'up',
  'shop',
  'gateway',
  'gateway reload',
  'vpn-node',
  'vpn-node status',
  'range setup',
  'ready',
  'completion',
  'migrate',
  'backup',
  'restore',
  'move',
  'reopen',
  'compact',
  'doctor',
  'mcp',
]

const tokens = new Map<string, string>()

describe.each([...enginesOf('sqlite')])('/admin/v1 on %s', (engine) => {
  let service: Service
  let operations: Walked[]
  let checker: Awaited<ReturnType<typeof createAnswerChecker>>

  beforeAll(async () => {
    service = await startService(engine)
    const actions = createActions(service.services)
    for (const role of roles) {
      await actions.addOperator(`${role}-1`, role)
      tokens.set(role, (await service.services.operators.issueToken(`${role}-1`, { name: 't', expiresAt: null })).text)
    }
    const described = (await (await fetch(`${service.url}/admin/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Described>>
    }
    operations = Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, each]) => ({
        ...each,
        path,
        method: method.toUpperCase() as 'GET' | 'POST',
      })),
    )
    checker = await createAnswerChecker(service.url, '/admin/v1')
  })
  afterAll(() => service.stop())

  async function call(
    method: 'GET' | 'POST',
    path: string,
    as: string | null = 'owner',
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const token = as === null ? undefined : (tokens.get(as) ?? as)
    const response = await fetch(`${service.url}/admin/v1${path}`, {
      method,
      headers: {
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return checker.read(method, path, response)
  }
  const get = (path: string, as?: string | null) => call('GET', path, as)
  const post = (path: string, body: unknown = {}, as?: string | null, headers?: Record<string, string>) =>
    call('POST', path, as, body, headers)
  const log = async () => (await get('/audit?limit=500')).data.items

  /** The actions in the audit log whose request names this customer or payment, newest first. */
  const actionsOn = async (id: string): Promise<string[]> =>
    (await log())
      .filter((each: { request: object }) => Object.values(each.request).includes(id))
      .map((each: { action: string }) => each.action)

  /** The path with ids that do not exist in place of its parameters. */
  const toUnknownPath = (path: string): string =>
    path
      .replace('{customer_id}', 'cus_00000000000000000000000000')
      .replace('{order_id}', 'ord_00000000000000000000000000')
      .replace('{address}', '192.0.2.77')
      .replace(/\{\w+\}/g, 'nothing')

  test('every command except the local ones names an operation of the admin API description', () => {
    const ids = new Set(operations.map((each) => each.operationId))
    const named = commands.filter((each) => !localCommands.includes(each.name))
    expect(named.filter((each) => each.operation === undefined).map((each) => each.name)).toEqual([])
    expect(named.filter((each) => !ids.has(each.operation ?? '')).map((each) => each.name)).toEqual([])
    expect(ids.size).toBe(operations.length)
  })

  test('every admin operation answers 401 without a valid operator token and 403 below its role', async () => {
    const { text, token } = await service.services.operators.issueToken('owner-1', { name: 'lost', expiresAt: null })
    await createActions(service.services).revokeOperatorToken(token.id)
    const before = (await log()).length
    for (const { method, path, requestBody, 'x-role': needed } of operations) {
      const at = toUnknownPath(path)
      const body = method === 'POST' ? (requestBody?.content['application/json'].example ?? {}) : undefined
      for (const credential of [null, service.token, text]) {
        const answer = await call(method, at, credential, body)
        expect([at, answer.status, answer.error.code]).toEqual([at, 401, 'invalid_token'])
      }
      for (const role of roles.slice(roles.indexOf(needed) + 1)) {
        const answer = await call(method, at, role, body)
        expect([at, answer.status, answer.error.details]).toEqual([at, 403, { needed, has: role }])
      }
    }
    expect((await log()).length).toBe(before)
  })

  test('support creates, finds, annotates, credits once per key, debits and blocks a customer', async () => {
    const { data: made } = await post('/customers', { name: 'Анна Иванова' }, 'support')
    await post(`/customers/${made.customer_id}/note`, { note: 'pays by invoice 17%' }, 'support')
    for (const search of ['Иванова', 'invoice', made.customer_id]) {
      const { items } = (await get(`/customers?search=${encodeURIComponent(search)}`, 'reader')).data
      expect(items.map((each: { customer_id: string }) => each.customer_id)).toEqual([made.customer_id])
    }
    expect((await get('/customers?search=%25%25', 'reader')).data.items).toEqual([])
    const key = { 'Idempotency-Key': `first-${engine}` }
    const credit = { amount_rub: 99.9, reference: 'INV-17' }
    const first = await post(`/customers/${made.customer_id}/credit`, credit, 'support', key)
    const again = await post(`/customers/${made.customer_id}/credit`, credit, 'support', key)
    expect([first.data.repeated, again.data.repeated, again.data.balance_rub]).toEqual([false, true, 99.9])
    expect(await actionsOn(made.customer_id)).toEqual(['creditCustomer', 'noteCustomer'])
    await post(`/customers/${made.customer_id}/debit`, { amount_rub: 9.9 }, 'support')
    const { items } = (await get(`/customers/${made.customer_id}/transactions`, 'reader')).data
    expect(items.map((each: { amount_rub: number }) => each.amount_rub)).toEqual([-9.9, 99.9])
    expect(items[1].reference).toBe('INV-17')
    const blocked = await post(`/customers/${made.customer_id}/block`, {}, 'support')
    expect(blocked.data.blocked_at).not.toBeNull()
    expect((await post(`/customers/${made.customer_id}/block`, { undo: true }, 'support')).data.blocked_at).toBeNull()
    expect((await get('/customers/cus_00000000000000000000000000')).status).toBe(404)
    expect((await post(`/customers/${made.customer_id}/credit`, { amount_rub: -1 })).status).toBe(400)
    expect((await post(`/customers/${made.customer_id}/credit`, { amount_rub: 0.001 })).status).toBe(400)
  })

  test('an owner exports a customer in pages and erases the customer only with confirm: true', async () => {
    const { data: made } = await post('/customers', { name: 'Вера Ильинична' }, 'support')
    const path = `/customers/${made.customer_id}`
    expect((await get(`${path}/export`, 'support')).status).toBe(403)
    const items: { table: string; row: { name?: string } }[] = []
    for (let cursor = ''; ; ) {
      const { data } = await get(`${path}/export?limit=2${cursor}`)
      items.push(...data.items)
      if (data.next_cursor === null) break
      cursor = `&cursor=${data.next_cursor}`
    }
    expect(items[0]).toMatchObject({ table: 'customers', row: { name: 'Вера Ильинична' } })
    expect(items.map((each) => each.table)).toContain('accounts')
    expect((await log())[0]).toMatchObject({ action: 'exportCustomer', request: { customer_id: made.customer_id } })
    expect((await get(`${path}/export?cursor=bm8`)).status).toBe(400)
    expect((await post(`${path}/erase`, { confirm: true }, 'support')).status).toBe(403)
    const refused = await post(`${path}/erase`, {})
    expect([refused.status, refused.error.details.balance_rub]).toEqual([409, 0])
    const erased = await post(`${path}/erase`, { confirm: true })
    expect(erased.data).toMatchObject({ customer_id: made.customer_id, entries: 1 })
    expect((await get(path)).data).toMatchObject({ name: 'deleted', note: null })
    expect((await log())[0]).toMatchObject({ action: 'eraseCustomer', request: { customer_id: made.customer_id } })
    expect(JSON.stringify(await log())).not.toContain('Ильинична')
    expect((await post(`${path}/block`, { undo: true })).status).toBe(404)
  })

  test('GET /orders/{id} shows request, charges, delivery and refunds of an order of each product', async () => {
    const bought = (await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 2, ipv: 4 })).data
    const [proxy] = bought.proxies
    const { data } = await get(`/orders/${bought.order_id}`, 'reader')
    expect(data.order).toMatchObject({ product: 'dedicated', price_rub: bought.price_rub })
    expect(data.transactions).toMatchObject([{ kind: 'charge', amount_rub: -bought.price_rub }])
    const sold = { proxy: proxy.id, address: proxy.ip, username: proxy.username, status: 'active' }
    expect(data).toMatchObject({ delivered: [sold, {}], delivered_count: 2 })
    const at = new Date(service.clock.nowMs).toISOString()
    const held = await get(`/addresses/${proxy.ip}/holders?from=${at}&reason=report-17`, 'support')
    expect(held.data.items).toMatchObject([{ proxy: proxy.id, order_id: bought.order_id, until: null }])
    const long = await get(`/addresses/${proxy.ip}/holders?from=2020-01-01&to=2020-02-01&reason=17`, 'support')
    expect(long.data.items).toEqual([])
    expect((await get(`/addresses/${proxy.ip}/holders?from=${at}`, 'support')).status).toBe(400)
    const request = { address: proxy.ip, reason: '17' }
    expect((await log())[0]).toMatchObject({ name: 'support-1', action: 'findHolders', request })
    const swapped = await post(`/proxies/${proxy.id}/replace`, {}, 'support')
    expect(swapped.data).toMatchObject({ proxy: proxy.id, from: proxy.ip })
    const ended = await post(`/proxies/${proxy.id}/end`, { note: 'abuse' }, 'support', {
      'Idempotency-Key': `e-${engine}`,
    })
    expect(ended.data.amount_rub).toBeGreaterThan(0)
    const refunded = await post(`/orders/${bought.order_id}/refund`, { amount_rub: 1, again: true }, 'support')
    expect(refunded.data.amount_rub).toBe(1)
    const story = (await get(`/orders/${bought.order_id}`)).data
    expect(story.transactions.map((each: { kind: string }) => each.kind)).toEqual(['charge', 'refund', 'refund'])
    expect((await get(`/proxies/${proxy.id}`, 'reader')).data).toMatchObject({ status: 'gone', addresses: [{}, {}] })
    const vpn = (await service.post('/vpn/buy', { period: 1 })).data
    expect((await get(`/orders/${vpn.order_id}`)).data.delivered).toMatchObject([{ uuid: vpn.uuid, name: null }])
    expect((await post(`/vpn/${vpn.uuid}/disable`, {}, 'support')).data).toEqual({ uuid: vpn.uuid, disabled: true })
    expect((await get(`/vpn/${vpn.uuid}`, 'reader')).data.status).toBe('DISABLED')
    await post(`/vpn/${vpn.uuid}/enable`, {}, 'support')
    const traffic = (await service.post('/premium/traffic/buy', { pool_type: 'residential', gb: 2 })).data
    expect((await get(`/orders/${traffic.order_id}`)).data.delivered).toMatchObject([{ bought_gb: 2, left_gb: 2 }])
    expect((await post(`/orders/${traffic.order_id}/refund-traffic`)).data).toMatchObject({ returned_gb: 2 })
    expect((await post(`/orders/${traffic.order_id}/refund`, { end: 'unused', again: true })).status).toBe(400)
  })

  test('mark-paid and refund act once per key; codes add a bonus until ended; reports count both', async () => {
    const set = { settings: { details: 'Account 42' }, methods: ['transfer'], fee_percent: { transfer: 1.5 } }
    const made = await post('/payment-providers/invoice', set)
    expect(made.data).toMatchObject({ state: 'enabled', methods: [{ method: 'transfer', fee_percent: 1.5 }] })
    const wrong = { settings: { colour: 'red' } }
    expect((await post('/payment-providers/invoice', wrong)).error.details[0].field).toBe('settings')
    expect((await post('/payment-providers/gold', set)).status).toBe(404)
    const added = await post('/codes', { name: 'spring', amount_rub: 50, least_rub: 500, uses: 2 }, 'support')
    expect(added.data).toEqual({ name: 'SPRING' })
    expect((await post('/codes', { name: 'Spring', percent: 5 }, 'support')).status).toBe(409)
    expect((await post('/codes', { name: 'both', percent: 5, amount_rub: 5 }, 'support')).status).toBe(400)
    expect((await post('/codes', { name: 'none', amount_rub: 0.0001 }, 'support')).status).toBe(400)

    const { token, customer } = await service.newCustomer()
    const topUp = { amount_rub: 1000, method: 'transfer', code: 'spring' }
    const { payment_id: id } = (await service.post('/payments', topUp, { token })).data
    const key = (name: string) => ({ 'Idempotency-Key': `${name}-${engine}` })
    for (const replayed of [undefined, true]) {
      const { data } = await post(`/payments/${id}/mark-paid`, { note: 'statement 17' }, 'support', key('paid'))
      expect(data).toMatchObject({ payment_id: id, status: 'paid', ...(replayed && { replayed }) })
    }
    for (const replayed of [undefined, true]) {
      const { data } = await post(`/payments/${id}/refund`, { amount_rub: 300 }, 'support', key('back'))
      expect(data).toMatchObject({ refunded_rub: 300, ...(replayed && { replayed }) })
    }
    expect((await post(`/payments/${id}/refund`, { amount_rub: 1 }, 'support', key('back'))).status).toBe(409)
    expect(await actionsOn(id)).toEqual(['refundPayment', 'markPaid'])
    expect((await post(`/payments/${id}/refund`, { amount_rub: 700.01 }, 'support')).status).toBe(409)
    expect((await get(`/customers/${customer}`, 'reader')).data.balance_rub).toBe(700)
    const { payment, steps } = (await get(`/payments/${id}`, 'reader')).data
    expect(payment).toMatchObject({ customer_id: customer, state: 'paid', fee_rub: 15, refunded_rub: 300 })
    expect(steps.map((each: { kind: string }) => each.kind)).toEqual([
      'opened',
      'sent',
      'credited',
      'bonus',
      'debited',
      'bonus_back',
    ])
    const { items } = (await get(`/payments?customer_id=${customer}&state=paid`, 'reader')).data
    expect(items.map((each: { payment_id: string }) => each.payment_id)).toEqual([id])
    expect((await get('/payments?customer_id=him', 'reader')).status).toBe(400)
    expect((await get('/payments/pay_00000000000000000000000000', 'reader')).status).toBe(404)

    expect((await post('/codes/spring/end', {}, 'support')).data).toEqual({ name: 'SPRING', ended: true })
    expect((await post('/codes/spring/end', {}, 'support')).status).toBe(404)
    const listed = (await get('/codes', 'reader')).data.items
    expect(listed).toMatchObject([{ name: 'SPRING', amount_rub: 50, percent: null, least_rub: 500, used: 1 }])
    expect((await log())[0]).toMatchObject({ name: 'support-1', action: 'endCode', request: { name: 'spring' } })

    const methods: { method: string; topped_up_rub: number; fees_rub: number }[] = (
      await get('/reports/methods', 'reader')
    ).data.items
    const today = methods.findLast(({ method }) => method === 'transfer')
    expect(today).toMatchObject({ method: 'transfer', topped_up_rub: 1000, taken_back_rub: 300, bonuses_rub: 0 })
    expect(today?.fees_rub).toBe(15)
    const days: { topped_up_rub: number }[] = (await get('/reports/days', 'reader')).data.items
    expect(days).toHaveLength(31)
    expect(methods.some(({ method, topped_up_rub }) => method === 'operator' && topped_up_rub > 0)).toBeTrue()
    const sumOf = (rows: readonly { topped_up_rub: number }[]) => rows.reduce((sum, row) => sum + row.topped_up_rub, 0)
    const bonuses = 50
    expect(sumOf(methods) + bonuses).toBe(sumOf(days))
    const sold = (await get('/reports/products', 'reader')).data.items
    expect(sold).toContainEqual(expect.objectContaining({ product: 'vpn', kind: 'charge', count: 1 }))
    expect((await get('/reports/days?from=2026-01-02&to=2026-01-02', 'reader')).error.details[0].field).toBe('to')

    expect((await post('/referrals/terms', { percent: 2.5 })).data).toEqual({ percent: 2.5, top_ups: 1 })
    expect((await post('/referrals', { customer_id: customer, referrer_id: customer }, 'support')).status).toBe(409)
    service.clock.advance(1000)
    const brought = { customer_id: (await service.newCustomer()).customer, referrer_id: customer }
    expect((await post('/referrals', brought, 'support')).data).toEqual(brought)
    expect((await get('/referrals', 'reader')).data).toMatchObject({ terms: { percent: 2.5 }, items: [brought] })
  })

  test('a provider’s secret is in no answer or audit entry; provider failures answer provider_error', async () => {
    const { side, method, secret } = await introduce(service.services, 'yookassa', { now: () => service.clock.nowMs })
    const again = { secret, settings: { shop_id: '100500', url: side.url }, min_rub: { card: 20 } }
    const set = await post('/payment-providers/yookassa', again)
    const shown = [set, await get('/payment-providers', 'reader'), await get('/payment-methods', 'reader'), await log()]
    expect(set.data).toMatchObject({ state: 'enabled', settings: { shop_id: '100500' }, wants_secret: true })
    expect(shown[3][0]).toMatchObject({ action: 'setProvider', request: { name: 'yookassa', secret: '[secret]' } })
    expect(JSON.stringify(shown)).not.toContain(secret)
    expect((await post('/payment-providers/yookassa', { secret: 'two words' })).error.details[0].field).toBe('secret')

    const { token } = await service.newCustomer()
    const { data: begun } = await service.post('/payments', { amount_rub: 100, method }, { token })
    const [bill] = [...side.bills.values()]
    side.pay(bill?.id ?? '')
    const days = { from: '2020-01-01', to: '2100-01-01', provider: 'yookassa' }
    expect((await post('/payment-reconciliation', { ...days, provider: 'gold' }, 'support')).status).toBe(404)
    expect((await post('/payment-reconciliation', { ...days, to: '2020-01-01' }, 'support')).status).toBe(400)
    expect((await post('/payment-reconciliation', {}, 'support')).data.state).toBe('running')
    expect(await untilTrue(async () => (await get('/payment-reconciliation')).data.state !== 'running')).toBe(true)
    const compared = async () => {
      expect((await post('/payment-reconciliation', days, 'support')).data.state).toBe('running')
      expect(await untilTrue(async () => (await get('/payment-reconciliation')).data.state !== 'running')).toBe(true)
      return (await get('/payment-reconciliation', 'reader')).data
    }
    const differences = [{ payment_id: begun.payment_id, problem: 'paid at the provider, pending here' }]
    expect(await compared()).toMatchObject({ state: 'done', compared: 1, differences })
    const inRussian = await call('GET', '/payment-reconciliation', 'reader', undefined, { 'Accept-Language': 'ru' })
    expect(inRussian.data.differences).toMatchObject([
      {
        problem: 'оплачен в платёжной системе, здесь: ожидает оплаты',
        reason: 'not_paid_here',
        params: { state: 'pending' },
      },
    ])
    expect((await post(`/payments/${begun.payment_id}/mark-paid`, {}, 'support')).status).toBe(409)
    expect((await post(`/payments/${begun.payment_id}/refund`, {}, 'support')).status).toBe(409)
    const { headers, body } = side.notificationOf(bill?.id ?? '')
    await fetch(`${service.url}/api/v1/payments/notify/yookassa`, { method: 'POST', headers, body })
    const key = { 'Idempotency-Key': `outside-${engine}` }
    const back = () => post(`/payments/${begun.payment_id}/refund`, { amount_rub: 40 }, 'support', key)
    side.faults.push('400')
    expect((await back()).error.code).toBe('provider_error')
    side.faults.push('500')
    expect((await back()).error.message).toContain('does not answer')
    for (const _ of [1, 2]) {
      expect((await back()).data).toMatchObject({ status: 'paid', refunded_rub: 40, replayed: true })
    }
    expect(bill?.backHundredths).toBe(4000)
    const health = async () => (await get('/payment-providers', 'reader')).data.items[1].health
    expect(await health()).toMatchObject({ failure: 'unavailable' })
    await side.stop()
    const silent = await post(`/payments/${begun.payment_id}/refund`, {}, 'support')
    expect([silent.status, silent.error.code]).toEqual([502, 'provider_error'])
    expect(await compared()).toMatchObject({ state: 'failed', problem: expect.stringContaining('does not answer') })
    expect((await post('/payment-providers/yookassa/disable')).data.state).toBe('disabled')
    expect((await post('/payment-providers/yookassa/enable', {}, 'support')).status).toBe(403)
  })

  test('GET /payment-notices lists an unexplained payment; an operator credits it to a customer once', async () => {
    const { side, method } = await introduce(service.services, 'crypto_pay', { now: () => service.clock.nowMs })
    const { token, customer } = await service.newCustomer()
    await service.post('/payments', { amount_rub: 100, method }, { token })
    const [bill] = [...side.bills.values()]
    Object.assign(bill ?? {}, { hundredths: 7000 })
    side.pay(bill?.id ?? '')
    const { headers, body } = side.notificationOf(bill?.id ?? '')
    await fetch(`${service.url}/api/v1/payments/notify/crypto_pay`, { method: 'POST', headers, body })
    const [notice] = (await get('/payment-notices', 'reader')).data.items
    expect(notice).toMatchObject({ reason: 'amount', amount: 70, currency: 'RUB', resolved_at: null })
    const at = `/payment-notices/${notice.notice_id}/resolve`
    expect((await post(at, { credit_to: 'him' }, 'support')).status).toBe(400)
    expect((await post(at, { credit_to: customer }, 'support')).data).toMatchObject({ credited_rub: 70 })
    expect((await post(at, { credit_to: customer }, 'support')).status).toBe(404)
    expect((await get(`/customers/${customer}`)).data.balance_rub).toBe(70)
    expect((await get('/payment-notices')).data.items).toEqual([])
    expect((await get('/payment-notices?all=true')).data.items).toMatchObject([{ resolution: 'top-up' }])
    await side.stop()
  })

  test('GET /overview?days=2 sums sales and refunds and counts services, stock and customers', async () => {
    service.clock.advance(11_000)
    const { data } = await get('/overview?days=2', 'reader')
    const today = data.days.at(-1)
    expect(data.days).toHaveLength(2)
    expect(today.revenue_rub).toBeCloseTo(today.sold_rub - today.refunded_rub, 2)
    expect(today.orders).toBeGreaterThanOrEqual(3)
    expect(data.active.vpn).toBe(1)
    expect(data.stock.map((each: { country: string }) => each.country)).toContain('DE')
    expect(data.customers).toBeGreaterThan(1)
  })

  test('GET /overview and GET /nodes show a VPN node as online for 30 s after its report, and then as offline', async () => {
    const { fleet, db } = service.services
    const quiet = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'quiet', location: 'local' }))
    await fleet.seen(quiet.id, { version: 'test' })
    const shown = async (days: number) => {
      type Shown = { name: string; state: string; last_seen_at: string | null }
      const { items } = (await get('/nodes', 'reader')).data as { items: Shown[] }
      // The overview does not count nodes that have never reported.
      const states = items.filter((each) => each.last_seen_at !== null).map((each) => each.state)
      const count = (state: string) => states.filter((each) => each === state).length
      // The overview of each number of days is cached on its own.
      const { nodes } = (await get(`/overview?days=${days}`, 'reader')).data
      expect(nodes).toEqual({ online: count('online'), offline: count('offline'), closed: count('closed') })
      return items.find((each) => each.name === 'quiet')?.state
    }
    service.clock.advance(30_000)
    expect(await shown(3)).toBe('online')
    service.clock.advance(1)
    expect(await shown(4)).toBe('offline')
    await fleet.close('quiet')
  })

  test('the API changes prices, nodes, stock and exits as the commands do', async () => {
    const { version, catalogue } = (await get('/catalogue', 'reader')).data
    const dearer = structuredClone(catalogue)
    dearer.vpn.months['1'] = 12_345
    dearer.dedicated.kinds['4'].countries.DE = { per_day: 60 }
    const { data: bought } = await service.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 2, ipv: 4 })
    await service.post('/dedicated/auto-renew', { ids: [bought.proxies[0].id], period: 30 })
    const { changes, effects } = (await post('/catalogue/diff', { catalogue: dearer }, 'reader')).data
    expect(changes).toHaveLength(2)
    expect(effects).toMatchObject([
      { product: 'dedicated', country: 'DE', ipv: 4, pool: null, renewals: 1, lost: 0 },
      { product: 'vpn', country: null, customers: 1, services: 1, renewals: 0, before_rub: 0, after_rub: 0 },
    ])
    expect([effects[0].services >= 2, effects[0].after_rub]).toEqual([true, effects[0].before_rub * 10])
    expect((await post('/catalogue/apply', { catalogue: { nonsense: true } })).status).toBe(400)
    expect((await post('/catalogue/apply', { catalogue: dearer })).data).toEqual({ version: version + 1, changes })
    expect((await post('/catalogue/apply', { catalogue: dearer })).data).toEqual({ version: null, changes: [] })
    expect((await get('/catalogue/versions', 'reader')).data.items).toHaveLength(version + 1)
    const { yaml } = (await post('/catalogue/convert', { text: JSON.stringify(dearer) }, 'reader')).data
    expect((await post('/catalogue/convert', { text: yaml }, 'reader')).data.catalogue).toEqual(dearer)
    const bomb = ['a: &a [1, 1, 1, 1, 1, 1, 1, 1]']
    for (const [one, next] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg']) {
      bomb.push(`${next}: &${next} [${Array.from({ length: 8 }, () => `*${one}`).join(', ')}]`)
    }
    for (const text of ['a: [1', '- 1', 'text', '['.repeat(50_000), bomb.join('\n'), 'a: &a { b: *a }', 'a: &a [*a]']) {
      expect((await post('/catalogue/convert', { text }, 'reader')).error.details[0].reason).toBe('not_yaml')
    }
    const twice = await post('/catalogue/convert', { text: 'vpn: { months: { 1: 5, 1: 6 } }' }, 'reader')
    expect(twice.error.details[0]).toMatchObject({ reason: 'key_twice', params: { key: '1' } })

    const added = await post('/nodes', { name: 'gate-9', country: 'de', link_mbit: 100 })
    expect(added.data.key).toStartWith('tpj_')
    expect((await post('/nodes', { name: 'gate-9' })).status).toBe(409)
    expect((await get('/nodes/gate-9', 'reader')).data.node).toMatchObject({ name: 'gate-9', country_code: 'DE' })
    for (const verb of ['close', 'open', 'drain', 'revoke'])
      expect((await post(`/nodes/gate-9/${verb}`)).status).toBe(200)
    expect((await post('/nodes/gate-9/forget-usage', { dry_run: true })).data).toMatchObject({ things: 0, bytes: 0 })
    expect((await get('/nodes', 'reader')).data.items.length).toBeGreaterThanOrEqual(2)

    const stock = { prefix: '127.77.0.0/30', country: 'FR', ipv: 4 }
    expect((await post('/stock/add', stock)).data).toEqual({ added: 4 })
    expect((await post('/stock/add', { ...stock, ipv: 6 })).status).toBe(400)
    expect((await post('/stock/addresses/127.77.0.1/quarantine', { days: 1 })).data.places).toBe(1)
    expect((await post('/stock/addresses/127.77.0.2/retire')).data.places).toBe(1)
    expect((await get('/stock/survey?prefix=127.77.0.0/30', 'reader')).data).toMatchObject({ proxies: [] })
    expect((await post('/stock/move', { prefix: '127.77.0.0/30', nodes: ['nobody'] })).status).toBe(404)
    expect((await post('/stock/retire', { prefix: '127.77.0.0/30', note: 'lost' })).data.places).toBeGreaterThan(0)
    expect((await get('/stock?country=FR&state=retired', 'reader')).data.items.length).toBeGreaterThan(0)
    for (const path of [
      '/stock/count',
      '/stock/blocks',
      '/stock/ranges',
      '/pools',
      '/usage/quarantine',
      '/proxies/interrupted',
    ]) {
      expect((await get(path, 'reader')).status).toBe(200)
    }
    const exit = {
      pool: 'mobile',
      upstream: 'http://127.0.0.9:8080',
      username: 'u',
      password: 's3cret-word',
      country: 'NL',
    }
    const made = await post('/exits', exit)
    expect((await post('/exits', { ...exit, local: '127.0.0.1' })).error.details[0].field).toBe('local')
    expect((await post(`/exits/${made.data.exit_id}/drain`)).data.drained).toBe(true)
    const { items } = (await get('/exits?pool=mobile', 'reader')).data
    expect(items.at(-1)).toMatchObject({ exit_id: made.data.exit_id, status: 'drained' })
    const entry = (await log()).find((each: { action: string }) => each.action === 'addExit')
    expect(entry.request).toMatchObject({ pool: 'mobile', password: '[secret]' })
    const compared = await post(`/exits/${made.data.exit_id}/compare`, {
      from: '2026-01-01',
      to: '2026-01-02',
      supplied_bytes: 5,
    })
    expect(compared.data).toMatchObject({ carried_bytes: 0, difference_bytes: 5 })
  })

  test('an operator signs in by link, then by password, changes role and is removed; one owner stays', async () => {
    const { data: added } = await post('/operators', { name: 'dora', role: 'support' })
    expect((await post('/operators', { name: 'dora', role: 'reader' })).status).toBe(409)
    expect((await post('/operators', { name: 'tool', role: 'reader' })).status).toBe(400)
    const page = await createBrowserSession(service.url)
    const link = added.link.split('#enter=')[1]
    expect((await page.post('/auth/v1/operator/sign-in/link', { link })).data).toMatchObject({
      name: 'dora',
      role: 'support',
    })
    await page.post('/auth/v1/operator/password', { password: 'correct horse battery' })
    await page.post('/auth/v1/operator/sign-out')
    const signedIn = await page.post('/auth/v1/operator/sign-in', { login: 'Dora', password: 'correct horse battery' })
    expect(signedIn.data).toMatchObject({ name: 'dora', has_password: true })
    expect((await page.get('/admin/v1/customers')).status).toBe(200)
    expect((await page.post('/admin/v1/customers', { name: 'by a session' })).status).toBe(200)
    expect((await log())[0]).toMatchObject({ name: 'dora', action: 'createCustomer', source: '127.0.0.1' })
    expect((await page.post('/admin/v1/operators', { name: 'eva', role: 'owner' })).status).toBe(403)
    await post('/operators/dora/role', { role: 'reader' })
    expect((await page.post('/admin/v1/customers', { name: 'no more' })).status).toBe(403)
    expect((await post('/operators/dora/remove')).data).toEqual({ name: 'dora', removed: true })
    expect((await page.get('/admin/v1/customers')).status).toBe(401)
    await post('/operators/sandbox/remove')
    expect((await post('/operators/owner-1/role', { role: 'reader' })).status).toBe(409)
    expect((await post('/operators/owner-1/remove')).status).toBe(409)
    const made = (await post('/operators/reader-1/tokens', { name: 'script' })).data
    expect((await get('/customers', made.token)).status).toBe(200)
    await post(`/operators/tokens/${made.token_id}/revoke`)
    expect((await get('/customers', made.token)).status).toBe(401)
    expect((await get('/operators/reader-1/tokens')).data.items).toHaveLength(2)
  })

  test('an operator’s view of a customer’s pages answers 403 to every change', async () => {
    const { customer } = await service.newCustomer(50n)
    const { data: added } = await post('/operators', { name: `looker-${engine}`, role: 'support' })
    const page = await createBrowserSession(service.url)
    await page.post('/auth/v1/operator/sign-in/link', { link: added.link.split('#enter=')[1] })
    expect((await page.post(`/admin/v1/customers/${customer}/view`)).status).toBe(200)
    expect((await page.get('/api/v1/balance')).data.balance_rub).toBe(50)
    expect((await page.get('/auth/v1/customer/session')).data.viewed_by).toBe(added.operator_id)
    expect(
      (await page.post('/api/v1/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })).status,
    ).toBe(403)
    expect((await page.post('/auth/v1/customer/password', { login: 'mine', password: 'correct horse' })).status).toBe(
      403,
    )
    expect((await page.post('/api/v1/tokens/create', {})).status).toBe(403)
    expect((await log())[0]).toMatchObject({ action: 'viewCustomer', request: { customer_id: customer } })
    await post(`/operators/looker-${engine}/remove`)
    expect((await page.get('/api/v1/balance')).status).toBe(401)
  })

  test('the audit log gets no entry for a refused request, and verify checks its sequence', async () => {
    const before = await log()
    await post('/operators/nobody/remove')
    await post('/customers/cus_00000000000000000000000000/credit', { amount_rub: 1 })
    expect(await log()).toEqual(before)
    expect(before.map((each: { seq: number }) => each.seq)).toEqual(
      Array.from({ length: before.length }, (_, index) => before.length - index),
    )
    expect((await post('/verify', {}, 'support')).data.state).toBe('running')
    expect(await untilTrue(async () => (await get('/verify', 'reader')).data.state === 'done')).toBe(true)
    const { data } = await get('/verify', 'reader')
    expect([data.ok, data.findings]).toEqual([true, []])
    expect(data.covered['entries of the audit log']).toBeGreaterThanOrEqual(before.length)
    expect((await post('/checkpoint')).status).toBe(200)
  })

  test('GET /verify names a changed balance in English, and in Russian for Accept-Language: ru', async () => {
    const { customer } = await service.newCustomer(10n)
    const edit = (by: number) =>
      service.services.db.transact((tx) =>
        tx.run('UPDATE accounts SET balance = balance + $1 WHERE customer_id = $2', [by, customer]),
      )
    await edit(1)
    // On SQLite a whole run may start once in 10 minutes.
    service.clock.advance(600_000)
    await post('/verify', {}, 'support')
    expect(await untilTrue(async () => (await get('/verify', 'reader')).data.state === 'done')).toBe(true)
    const findingIn = async (language: string) => {
      const { data, headers } = await call('GET', '/verify', 'reader', undefined, { 'Accept-Language': language })
      expect([headers.get('content-language'), headers.get('vary')]).toEqual([
        language,
        expect.stringContaining('Accept-Language'),
      ])
      return data.findings.find((each: { reason: string }) => each.reason === 'balance_differs')
    }
    const stable = { promise: 'balance', reason: 'balance_differs', params: { stored: '10.01', expected: '10.00' } }
    expect(await findingIn('en')).toEqual({
      ...stable,
      promise_name: 'Balance',
      where: `account of ${customer}`,
      problem: 'the balance is 10.01, its postings sum to 10.00',
      advice: expect.stringContaining('compare the row with a backup'),
    })
    expect(await findingIn('ru')).toEqual({
      ...stable,
      promise_name: 'Баланс',
      where: `счёт ${customer}`,
      problem: 'баланс 10,01, а сумма проводок 10,00',
      advice: expect.stringContaining('сравните строку с резервной копией'),
    })
    await edit(-1)
  })
})
