import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { kopecks } from '../../src/core/money.ts'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

const keysOf = (count: number, value = '1') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key ${index}`, value]))

describe.each([...engines])('metadata on %s', (engine) => {
  let service: Service
  let token: string
  let customer: Awaited<ReturnType<Service['newCustomer']>>['customer']
  beforeAll(async () => {
    service = await startService(engine)
    ;({ token, customer } = await service.newCustomer(100_000n))
  })
  afterAll(() => service.stop())

  const get = async (path: string) => (await service.get(path, { token })).data
  const post = async (path: string, body: object, key?: string) =>
    service.post(path, body, { token, ...(key !== undefined && { key }) })
  const buyProxies = async (count: number, metadata?: object, key?: string) =>
    post('/dedicated/buy', { country_code: 'DE', period: 30, count, ipv: 4, ...(metadata && { metadata }) }, key)
  const set = async (kind: string, id: string | number, metadata: unknown) => post('/metadata', { kind, id, metadata })
  const newEvents = async (type: string) => (await get(`/events?type=${type}&limit=500`)).events

  test('a purchase writes its metadata on the order and on each proxy, and GET /events has it', async () => {
    const metadata = { client: '4711', 'заказ №': 'A-1' }
    const { data } = await buyProxies(2, metadata)
    expect(data.proxies.map((each: { metadata: object }) => each.metadata)).toEqual([metadata, metadata])
    expect((await get(`/orders/${data.order_id}`)).metadata).toEqual(metadata)
    expect((await get('/orders')).orders[0]).toMatchObject({ order_id: data.order_id, metadata })
    expect((await get(`/dedicated/${data.proxies[0].id}`)).metadata).toEqual(metadata)
    const created = (await newEvents('order.created')).at(-1)
    expect(created).toMatchObject({ order_id: data.order_id, data: { metadata } })
    const plain = (await buyProxies(1)).data
    expect(plain.proxies[0].metadata).toEqual({})
    expect((await newEvents('order.created')).at(-1).data).not.toHaveProperty('metadata')
  })

  test('metadata is part of the request under an Idempotency-Key: the same replays, another is refused with 422', async () => {
    const first = await buyProxies(1, { client: '1', shop: 'x' }, 'paired')
    const again = await buyProxies(1, { shop: 'x', client: '1' }, 'paired')
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    for (const other of [{ client: '2', shop: 'x' }, { client: '1' }, undefined]) {
      expect((await buyProxies(1, other, 'paired')).status).toBe(422)
    }
    const plain = await buyProxies(1, undefined, 'unpaired')
    expect((await buyProxies(1, {}, 'unpaired')).text).toBe(plain.text)
  })

  test('POST /metadata merges: it sets the named keys, removes those that are null, and keeps the others', async () => {
    const { id } = (await buyProxies(1, { a: '1', b: '2' })).data.proxies[0]
    const { data } = await set('proxy', id, { b: null, c: '3', d: null })
    expect(data).toEqual({ kind: 'proxy', id: String(id), metadata: { a: '1', c: '3' } })
    expect((await set('proxy', String(id), { a: '' })).data.metadata).toEqual({ a: '', c: '3' })
    expect((await get(`/dedicated/${id}`)).metadata).toEqual({ a: '', c: '3' })
  })

  test('?metadata[KEY]=VALUE finds orders, proxies, sub-users and subscriptions, several pairs all together', async () => {
    const pairs = { client: 'found', city: 'Köln & Bonn' }
    const { data: bought } = await buyProxies(3, pairs)
    const [one, two, three] = bought.proxies.map(({ id }: { id: number }) => id)
    await set('proxy', one, { city: 'Paris' })
    const named = await service.get('/dedicated/list?metadata[__proto__]=found')
    expect([named.status, named.error.details[0].field]).toEqual([400, 'metadata[__proto__]'])
    const search = 'metadata[client]=found&metadata[city]=K%C3%B6ln%20%26%20Bonn'
    const listed = async (query: string) =>
      (await get(`/dedicated/list?${query}`)).proxies.map(({ id }: { id: number }) => id)
    expect(await listed(search)).toEqual([three, two])
    expect(await listed('metadata[client]=found')).toEqual([three, two, one])
    expect(await listed('metadata%5Bclient%5D=found&country_code=FR')).toEqual([])
    const first = await get('/dedicated/list?metadata[client]=found&limit=2')
    const rest = await get(`/dedicated/list?metadata[client]=found&limit=2&cursor=${first.next_cursor}`)
    expect(rest.proxies.map(({ id }: { id: number }) => id)).toEqual([one])
    expect((await get(`/orders?${search}`)).orders).toMatchObject([{ order_id: bought.order_id, metadata: pairs }])

    const { subuser } = (await post('/premium/subusers', { name: 'Alice', metadata: pairs })).data
    expect(subuser.metadata).toEqual(pairs)
    const found = (await get(`/premium/subusers?${search}`)).subusers
    expect(found).toMatchObject([{ subuser_id: subuser.subuser_id, metadata: pairs }])
    const renamed = await post('/premium/subusers/update', { subuser_id: subuser.subuser_id, name: 'Anna' })
    expect(renamed.data.subuser).toMatchObject({ name: 'Anna', metadata: pairs })

    const { uuid } = (await post('/vpn/buy', { period: 1, metadata: pairs })).data
    expect((await get(`/vpn/info?${search}`)).items).toMatchObject([{ uuid, metadata: pairs }])
    expect((await post('/vpn/name', { uuid, name: 'Office' })).data.metadata).toEqual(pairs)
    expect(await get('/vpn/info?metadata[client]=other')).toMatchObject({ status: 'NONE', items: [] })
    expect((await set('vpn', uuid.toUpperCase(), { client: 'x' })).data).toMatchObject({
      id: uuid,
      metadata: { client: 'x' },
    })
  })

  test('an event has the metadata of its proxy at that moment, and keeps it after a change', async () => {
    const { id } = (await buyProxies(1, { client: 'before' })).data.proxies[0]
    const prolong = async () => post('/dedicated/prolong', { ids: [id], period: 30, metadata: { of: 'order' } })
    const renewed = (await prolong()).data.order_id
    await set('proxy', id, { client: 'after' })
    await prolong()
    const events = (await newEvents('proxy.renewed')).map(({ data }: { data: { metadata?: object } }) => data.metadata)
    expect(events.slice(-2)).toEqual([{ client: 'before' }, { client: 'after' }])
    expect((await get(`/orders/${renewed}`)).metadata).toEqual({ of: 'order' })
    const verified = await service.services.verifiers.find(({ name }) => name === 'events')?.verify()
    expect(verified?.findings).toEqual([])
  })

  test('20 keys of 40 characters and values of 500 are accepted; more and control characters are refused with 400', async () => {
    const { id } = (await buyProxies(1, keysOf(20, 'я'.repeat(80)))).data.proxies[0]
    const long = 'k'.repeat(40)
    for (const metadata of [
      keysOf(21),
      { [`${long}k`]: '1' },
      { a: 'v'.repeat(501) },
      { a: '\u0001' },
      { a: 'two\nlines' },
      { 'key\t': '1' },
      { 'a[b]': '1' },
      { a: 1 },
      { a: ['1'] },
      { '': '1' },
      ['a'],
      'a',
    ]) {
      const refused = await set('proxy', id, metadata)
      expect([refused.status, refused.error.code]).toEqual([400, 'invalid_request'])
    }
    expect((await set('proxy', id, { one: 'more' })).error.details[0]).toMatchObject({ reason: 'max_items' })
    expect((await set('proxy', id, { 'key 0': null, [long]: 'v' })).status).toBe(200)
    expect((await set('proxy', id, { 'key 1': 'v'.repeat(500), 'key 2': '' })).status).toBe(200)
    const largest = Object.fromEntries([...Array(18).keys()].map((at) => [`key ${at + 1}`, 'я'.repeat(500)]))
    expect((await set('proxy', id, largest)).status).toBe(200)
    expect(Object.keys((await get(`/dedicated/${id}`)).metadata)).toHaveLength(20)
    const search = await service.get('/dedicated/list?metadata[a]=1&metadata[a]=2', { token })
    expect(search.status).toBe(400)
  })

  test('metadata that a purchase or its payment would copy beyond 256 KiB is refused with its limit, and nothing is charged', async () => {
    const balance = async () => (await get('/balance')).balance_rub
    const before = await balance()
    const order = { country_code: 'DE', period: 30, count: 1000, ipv: 6 }
    const limit = { reason: 'max_json_bytes', params: { max: 261, things: 1001 } }
    const inJson = (bytes: number) => ({ a: 'v'.repeat(bytes - '{"a":""}'.length) })
    const refused = await post('/dedicated/buy', { ...order, metadata: inJson(262) })
    expect([refused.status, refused.error.charged]).toEqual([400, false])
    expect(refused.error.details).toMatchObject([{ field: 'metadata', ...limit }])
    const purchase = { product: 'dedicated', ...order, metadata: inJson(262) }
    const unpaid = await post('/payments', { amount_rub: 50_000, method: 'sandbox', purchase })
    expect(unpaid.error.details).toMatchObject([{ field: 'purchase.metadata', ...limit }])
    const sold = service.services.orders.sell(
      { by: { customer, token: null }, key: undefined, metadata: keysOf(8, 'v'.repeat(499)) },
      { product: 'dedicated', action: 'buy', input: {} },
      async (sale) => {
        await sale.charge({ price: kopecks(1n), calculation: {}, note: 'one' })
        sale.attachMetadata('proxy', [...Array(64).keys()])
      },
    )
    expect(await sold.catch(String)).toContain('4032 bytes')
    expect(await balance()).toBe(before)
    const bought = await post('/dedicated/buy', { ...order, metadata: inJson(261) })
    expect(bought.data.proxies).toHaveLength(1000)
    const plainBytes = JSON.stringify({ ...bought.data.proxies[0], metadata: {} }).length * 1000
    expect(bought.text.length - plainBytes).toBeLessThan(280 * 1024)
  })

  test('50 requests at once never give a proxy more than 20 keys', async () => {
    const { id } = (await buyProxies(1)).data.proxies[0]
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => set('proxy', id, { [`k${index}`]: '1' })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(Object.keys((await get(`/dedicated/${id}`)).metadata)).toHaveLength(20)
  })

  test("another customer's things are not found, and searches find only the customer's own", async () => {
    const { data } = await buyProxies(1, { client: 'mine' })
    const { subuser } = (await post('/premium/subusers', {})).data
    const other = (await service.newCustomer(100n)).token
    const things = [
      ['order', data.order_id],
      ['proxy', data.proxies[0].id],
      ['subuser', subuser.subuser_id],
      ['vpn', (await post('/vpn/buy', { period: 1 })).data.uuid],
      ['vpn', 'x'],
      ['order', 'x'],
      ['proxy', '1e3'],
    ] as const
    for (const [kind, id] of things) {
      const refused = await service.post('/metadata', { kind, id, metadata: { a: '1' } }, { token: other })
      expect([kind, refused.status]).toEqual([kind, 404])
    }
    const found = await service.get('/dedicated/list?metadata[client]=mine', { token: other })
    expect(found.data.proxies).toEqual([])
  })

  test('a payment buys with the metadata of its purchase, and a deleted sub-user and an erased customer lose theirs', async () => {
    const purchase = {
      product: 'dedicated',
      country_code: 'DE',
      period: 30,
      count: 1,
      ipv: 4,
      metadata: { paid: 'yes' },
    }
    const { data } = await post('/payments', { amount_rub: 500, method: 'sandbox', purchase })
    await fetch(data.pay_url, { method: 'POST' })
    const paid = (await get('/dedicated/list?metadata[paid]=yes')).proxies
    expect(paid).toHaveLength(1)

    const { subuser } = (await post('/premium/subusers', { metadata: { gone: '1' } })).data
    await post('/premium/subusers/delete', { subuser_id: subuser.subuser_id })
    const rows = (kind: string) =>
      service.services.db.all<{ subject: string }>('SELECT * FROM metadata WHERE customer_id = $1 AND kind = $2', [
        customer,
        kind,
      ])
    expect((await rows('subuser')).filter((row) => row.subject === subuser.subuser_id)).toEqual([])
    const page = await service.services.exporting.page(customer, 'customer', undefined, 500)
    expect(page.items.some(({ table, row }) => table === 'metadata' && row['value'] === 'found')).toBe(true)
    await service.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true })
    for (const kind of ['order', 'proxy', 'subuser', 'vpn']) expect(await rows(kind)).toEqual([])
    const inPayments = await service.services.db.all(
      'SELECT purchase_input FROM payments WHERE customer_id = $1 AND purchase_input LIKE $2',
      [customer, '%yes%'],
    )
    expect(inPayments).toEqual([])
  })
})
