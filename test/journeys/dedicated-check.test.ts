import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createActions } from '../../src/app/shop/admin.ts'
import { enginesOf } from '../harness/database.ts'
import { endIn, openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { addStock, applyCatalogue, kindIn, shippedWith } from '../harness/proxies.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

describe.each([...enginesOf('sqlite')])('POST /dedicated/check on %s', (engine) => {
  let shop: ShopWithGateway
  /** Proxies whose end the tests changed in the database; `verify` reports exactly these. */
  const redated = new Set<string>()
  beforeAll(async () => {
    shop = await openShopWithGateway(engine)
  })
  afterAll(async () => {
    expect((await findingsOf(shop.services)).filter((each) => !redated.has(each.where))).toEqual([])
    await shop.stop()
  })

  const check = async (id: number) => (await shop.post('/dedicated/check', { id })).data

  test.each([3, 4, 6])(
    'POST /dedicated/check reports a new proxy of kind %d as working, over HTTP and SOCKS5',
    async (ipv) => {
      const [proxy] = await shop.buyProxies({ ipv })
      const id = proxy?.id ?? 0
      const works = await check(id)
      expect(works).toMatchObject({ id, works: true, problem: null })
      expect(works.took_ms).toBeGreaterThanOrEqual(0)
      await shop.post('/dedicated/protocol', { ids: [id], port_type: 'socks' })
      expect(await check(id)).toMatchObject({ id, works: true, problem: null })
    },
  )

  test('POST /proxies/{proxy}/check answers an operator as its customer, and 404 for a proxy that was ended', async () => {
    const [proxy] = await shop.buyProxies()
    const { operators } = shop.services
    await createActions(shop.services).addOperator('olga', 'support')
    const { text } = await operators.issueToken('olga', { name: 'test', expiresAt: null })
    const call = async (path: string) =>
      fetch(`${shop.url}/admin/v1/proxies/${proxy?.id}/${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${text}`, 'Content-Type': 'application/json' },
        body: '{}',
      })
    const answer = await (await call('check')).text()
    expect(JSON.parse(answer).data).toMatchObject({ proxy: proxy?.id, works: true, problem: null })
    expect(answer).not.toContain(proxy?.password ?? '')
    expect((await call('end')).status).toBe(200)
    expect((await call('check')).status).toBe(404)
  })

  test('POST /dedicated/check reports why an expired proxy fails, and that it works once prolonged', async () => {
    const [http, socks] = await shop.buyProxies({ count: 2 })
    if (!http || !socks) throw new Error('nothing was bought')
    await shop.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' })
    for (const proxy of [http, socks]) {
      await endIn(shop, proxy, -1000)
      redated.add(`proxy ${proxy.id}`)
    }
    const expired = { works: false, took_ms: null, problem: 'the gateway answered 402 (expired)' }
    expect(await untilTrue(async () => (await check(http.id)).works === false)).toBeTrue()
    expect(await check(http.id)).toMatchObject(expired)
    expect(await untilTrue(async () => (await check(socks.id)).works === false)).toBeTrue()
    expect(await check(socks.id)).toMatchObject({ problem: expect.stringContaining('reply 2') })
    await shop.post('/dedicated/prolong', { ids: [http.id, socks.id], period: 3 })
    for (const { id } of [http, socks]) expect(await check(id)).toMatchObject({ works: true })
  })

  test('POST /dedicated/buy sells 50 addresses to exactly 50 of 500 concurrent requests', async () => {
    await applyCatalogue(shop.services, shippedWith('AT'))
    for (const prefix of ['127.60.0.0/27', '127.60.0.32/28', '127.60.0.48/31']) {
      await addStock(shop.services, prefix, 'AT', 4)
    }
    expect(await untilTrue(async () => (await shop.services.stock.available(kindIn('AT', 4))) === 50)).toBeTrue()
    const buyers = await Promise.all(Array.from({ length: 25 }, () => shop.newCustomer(10_000n)))
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        shop.post(
          '/dedicated/buy',
          { country_code: 'AT', period: 7, count: 1, ipv: 4 },
          { token: buyers[index % buyers.length]?.token ?? '', key: `race-${index}` },
        ),
      ),
    )
    const sold = answers.filter((each) => each.status === 200)
    expect(sold).toHaveLength(50)
    expect(answers.filter((each) => each.error?.code === 'out_of_stock')).toHaveLength(450)
    expect(new Set(sold.map((each) => each.data.proxies[0].exit_ip)).size).toBe(50)
  })

  test('POST /dedicated/check answers that the gateway is not running while it is stopped', async () => {
    const [proxy] = await shop.buyProxies()
    await shop.stopGateway()
    const answer = await check(proxy?.id ?? 0)
    expect(answer).toMatchObject({ works: false, took_ms: null, problem: 'the gateway is not running' })
  })
})
