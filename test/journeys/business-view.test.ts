import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { createAnswerChecker } from '../harness/answers.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand, testDatabaseEnv } from '../harness/turnpike.ts'

const dayMs = 86_400_000

type Item = Readonly<Record<string, string | number | null>> & { readonly data: Readonly<Record<string, unknown>> }

describe.each([...engines])('what operators see of the business on %s', (engine) => {
  let shop: Service
  let checker: Awaited<ReturnType<typeof createAnswerChecker>>
  let operator: string
  beforeAll(async () => {
    shop = await startService(engine)
    checker = await createAnswerChecker(shop.url, '/admin/v1')
    await createActions(shop.services).addOperator('boss', 'owner')
    operator = (await shop.services.operators.issueToken('boss', { name: 't', expiresAt: null })).text
  })
  afterAll(() => shop.stop())

  async function call(path: string, body?: object) {
    const method = body === undefined ? 'GET' : 'POST'
    const response = await fetch(`${shop.url}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${operator}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return checker.read(method, path, response)
  }
  const ordersOf = async (query: string): Promise<Item[]> => (await call(`/orders?${query}`)).data.items
  const activityOf = async (query: string): Promise<Item[]> => (await call(`/activity?${query}`)).data.items
  const proxies = { country_code: 'DE', period: 7, count: 2, ipv: 4 }

  test('an operator finds orders of all customers by product, customer, price, day and state, and as CSV', async () => {
    const [anna, boris] = [await shop.newCustomer(5_000n), await shop.newCustomer(5_000n)]
    const first = (await shop.post('/dedicated/buy', proxies, { token: anna.token })).data
    shop.clock.advance(1)
    const vpn = (await shop.post('/vpn/buy', { period: 1 }, { token: boris.token })).data
    shop.clock.advance(dayMs)
    const second = (await shop.post('/dedicated/buy', { ...proxies, count: 1 }, { token: boris.token })).data
    await call(`/orders/${first.order_id}/refund`, { amount_rub: 3.33, note: '=1+1' })
    await call(`/orders/${vpn.order_id}/refund`, { note: 'slow' })
    const idsOf = async (query: string) => (await ordersOf(query)).map((each) => each['order_id'])
    const [a, b, c] = [first.order_id, vpn.order_id, second.order_id]
    const today = new Date(shop.clock.nowMs).toISOString().slice(0, 10)
    expect(await idsOf('limit=3')).toEqual([c, b, a])
    expect(await idsOf('sort=dearest')).toEqual([b, a, c])
    expect(await idsOf(`customer_id=${boris.customer}&product=dedicated`)).toEqual([c])
    expect(await idsOf(`from=${today}`)).toEqual([c])
    expect(await idsOf(`to=${today}&sort=oldest`)).toEqual([a, b])
    expect(await idsOf(`min_rub=${first.price_rub}&max_rub=${first.price_rub}`)).toEqual([a])
    expect(await idsOf('state=refunded')).toEqual([b])
    expect(await ordersOf('state=partly_refunded')).toMatchObject([
      { order_id: a, refunded_rub: 3.33, customer_name: 'another', state: 'partly_refunded' },
    ])
    for (const query of ['min_rub=-1', 'max_rub=1.234', 'customer_id=x', `from=${today}&to=${today}`, 'cursor=eA']) {
      expect([query, (await call(`/orders?${query}`)).error?.code]).toEqual([query, 'invalid_request'])
    }
    const csv = await runCommand(['order', 'search', '--sort', 'oldest', '--csv'], testDatabaseEnv(shop.testDatabase))
    const lines = csv.out.trim().split('\n')
    expect(lines[0]).toBe('order_id,created_at,customer_id,customer_name,product,action,price_rub,refunded_rub,state')
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual([a, b, c])
  })

  test('the feed has purchases, payments, refunds, customers, nodes and alerts in their order, on pages of 2', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const { data: paid } = await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })
    await fetch(paid.pay_url, { method: 'POST', redirect: 'manual' })
    await call('/nodes/stock-gateway/drain', { undo: false })
    await call('/nodes/stock-gateway/drain', { undo: true })
    await shop.services.alerts.settle(['stock.low'], [{ type: 'stock.low', subject: 'DE 4', data: { free: 1 } }])
    const all = await activityOf('limit=500')
    const paged: Item[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { data } = await call(`/activity?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      paged.push(...data.items)
      cursor = data.next_cursor
    }
    expect(paged).toEqual(all)
    const times = all.map((each) => String(each['at']))
    expect(times).toEqual(times.toSorted().toReversed())
    const types = new Set(all.map((each) => each['type']))
    expect(types).toEqual(
      new Set(['customer.created', 'drainNode', 'order.created', 'order.refunded', 'payment.paid', 'stock.low']),
    )
    for (const kind of ['order', 'payment', 'refund', 'registration', 'node', 'alert']) {
      const ofKind = await activityOf(`kind=${kind}&limit=500`)
      expect([kind, ofKind]).toEqual([kind, all.filter((each) => each['kind'] === kind)])
    }
  })

  test('a request that waits for the feed is answered by the next purchase, and at once if it has seen less', async () => {
    const { token } = await shop.newCustomer(1_000n)
    shop.clock.advance(1)
    const [head] = await activityOf('limit=1')
    const seen = encodeURIComponent(String(head?.['id']))
    expect((await activityOf('limit=1&wait=60&seen=')).length).toBe(1)
    const waiting = activityOf(`limit=1&wait=60&seen=${seen}`)
    const { data } = await shop.post('/dedicated/buy', { ...proxies, count: 1 }, { token })
    expect(await waiting).toMatchObject([{ kind: 'order', order_id: data.order_id, price_rub: data.price_rub }])
  })

  test('upcoming has renewals and ends by day, and stock that runs out at the rate of the last 24 hours', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const { data } = await shop.post('/dedicated/buy', proxies, { token })
    const ids = data.proxies.map((each: { readonly id: number }) => each.id)
    await shop.post('/dedicated/auto-renew', { ids: ids.slice(0, 1), period: 7 }, { token })
    shop.clock.advance(61_000)
    const { days, stock, certificates } = (await call('/upcoming?days=8')).data
    expect(days).toHaveLength(8)
    expect(days.at(-1)).toMatchObject({ day: data.proxies[0].expires_at.slice(0, 10), proxies_renew: 1 })
    const [german] = stock.filter((each: { readonly country: string }) => each.country === 'DE')
    const { free, sold_per_day, runs_out_at } = german
    expect(sold_per_day).toBeGreaterThanOrEqual(2)
    const leftDays = (Date.parse(runs_out_at) - shop.clock.nowMs) / dayMs
    expect(Math.abs(leftDays - free / sold_per_day)).toBeLessThan(0.01)
    expect(certificates).toEqual([])
  })

  test('an announcement is on the front, in the console and in VPN apps from its beginning until its end, escaped', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const link = (await shop.post('/vpn/buy', { period: 1 }, { token })).data.subscription_url
    const text = '<b>"Works" & more</b>'
    const from = new Date(shop.clock.nowMs + 60_000).toISOString()
    const until = new Date(shop.clock.nowMs + 120_000).toISOString()
    const { data } = await call('/announcement', { text_en: text, text_ru: 'Работы', from, until })
    expect(data).toMatchObject({ text_en: text, is_shown: false })
    const pages = async () => {
      const read = async (url: string, headers = {}) => (await fetch(url, { headers })).text()
      return [
        await read(`${shop.url}/account`),
        await read(link, { Accept: 'text/html' }),
        await read(link, { Accept: 'text/html', 'Accept-Language': 'ru' }),
      ]
    }
    expect((await pages()).map((page) => /Works|Работы/.test(page))).toEqual([false, false, false])
    shop.clock.advance(61_000)
    const [account = '', english = '', russian = ''] = await pages()
    const told = /<meta name="brand" content="([^"]*)">/.exec(account)?.[1] ?? ''
    const inPage = JSON.parse(
      told.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    )
    expect(inPage.announcement).toEqual({ en: text, ru: 'Работы' })
    expect(english).toContain('&#60;b&#62;&#34;Works&#34; &#38; more&#60;/b&#62;')
    for (const page of [account, english, russian]) expect(page).not.toContain('<b>')
    expect(russian).toContain('<p class="announced" role="status"><span>Работы</span></p>')
    shop.clock.advance(60_000)
    expect((await pages()).map((page) => /Works|Работы/.test(page))).toEqual([false, false, false])
    for (const bad of [{ text_en: 'a\nb' }, { text_en: 'x'.repeat(301) }, { text_ru: 'a', until: from }]) {
      expect((await call('/announcement', bad)).error?.code).toBe('invalid_request')
    }
    // A page in a language without a text says in which language the other one is.
    await call('/announcement', { text_en: 'Maintenance' })
    shop.clock.advance(60_000)
    const [, ofEnglish, ofRussian] = await pages()
    expect(ofEnglish).toContain('<p class="announced" role="status"><span>Maintenance</span></p>')
    expect(ofRussian).toContain('<span lang="en">Maintenance</span> <small>(на английском)</small></p>')
    expect((await call('/announcement', {})).data).toMatchObject({ text_en: null, text_ru: null, is_shown: false })
  })

  test('the live network has tunnels and Mbit/s of nodes, and the countries of customers with active proxies', async () => {
    const { nodes, countries } = (await call('/network')).data
    expect(nodes.map((each: { readonly name: string }) => each.name)).toContain('stock-gateway')
    const held = await shop.services.db.all<{ country: string; n: bigint }>(
      "SELECT country, COUNT(DISTINCT customer_id) AS n FROM proxies WHERE state = 'held' AND expires_at > $1 GROUP BY country",
      [shop.clock.nowMs],
    )
    const shown = countries.map((each: { readonly country: string; readonly customers: number }) => [
      each.country,
      each.customers,
    ])
    expect(new Map(shown)).toEqual(new Map(held.map(({ country, n }) => [country, Number(n)])))
    expect(shown.length).toBeGreaterThan(0)
  })

  test('the overview compares the last days with the same days before, with traffic from the first byte', async () => {
    const [node] = await shop.services.fleet.nodes('gateway')
    if (!node) throw new Error('the shop has no gateway')
    const figures = { tunnels: 0, lagMs: 0, totalBytes: 1_500_000, hopBytes: 0, isStopping: false }
    const health = { boot: 'boot-0001', ...figures, maxPorts: null, tls: null }
    await shop.services.fleet.seen(node.id, { version: '1', health })
    shop.clock.advance(60_000)
    const before = (await call('/overview?days=2')).data.compared
    expect([before.now.relayed_bytes, before.before.relayed_bytes]).toEqual([1_500_000, 0])
    shop.clock.advance(2 * dayMs)
    const { compared } = (await call('/overview?days=2')).data
    expect({ ...compared.before, relayed_bytes: 0 }).toEqual({ ...before.now, relayed_bytes: 0 })
    expect(compared.now).toMatchObject({ revenue_rub: 0, orders: 0, customers: 0 })
    const { token } = await shop.newCustomer(1_000n)
    const { data } = await shop.post('/dedicated/buy', proxies, { token })
    shop.clock.advance(60_000)
    const { now } = (await call('/overview?days=2')).data.compared
    expect(now).toMatchObject({ revenue_rub: data.price_rub, orders: 1, customers: 1 })
  })
})
