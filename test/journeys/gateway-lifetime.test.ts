import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { failureOf } from '../harness/failure.ts'
import { type BoughtProxy, endIn, openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { attempt, loginSocks, openTunnel, type ProxyProtocol, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

/** Largest delay of a cut: the gateway checks four times per second. */
const lateMs = 900

describe.each([...enginesOf('sqlite')])('tunnels of a proxy that ends or changes on %s', (engine) => {
  let shop: ShopWithGateway
  let echo: ReturnType<typeof startEcho>
  beforeAll(async () => {
    shop = await openShopWithGateway(engine)
    echo = startEcho()
  })
  afterAll(async () => {
    echo.stop()
    await shop.stop()
  })

  const at = () => ({ host: '127.0.0.1', port: shop.port })
  const tryConnect = (protocol: ProxyProtocol, proxy: BoughtProxy) => attempt(protocol, at(), proxy, echo.spot)

  async function buy(portType: 'http' | 'socks'): Promise<BoughtProxy> {
    const [proxy] = await shop.buyProxies()
    if (!proxy) throw new Error('nothing was bought')
    if (portType === 'socks') await shop.post('/dedicated/protocol', { ids: [proxy.id], port_type: 'socks' })
    return proxy
  }

  test.concurrent.each(['http', 'socks'] as const)(
    `expiry closes an %s tunnel not before its time, and at most ${lateMs} ms after it`,
    async (protocol) => {
      const proxy = await buy(protocol)
      const tunnel = await openTunnel(protocol, at(), proxy, echo.spot)
      const stopwatch = startStopwatch(engine)
      const startedAt = Date.now()
      const endsAt = await endIn(shop, proxy, 1000)
      const { status } = await tryConnect(protocol, proxy)
      // Refused only if this machine needed a whole second for the attempt.
      expect(status === (protocol === 'http' ? 200 : 0) || Date.now() >= endsAt).toBeTrue()
      const closedAt = await tunnel.closedAt
      expect(stopwatch.elapsedMs()).toBeLessThan(endsAt - startedAt + lateMs)
      expect(closedAt).toBeGreaterThanOrEqual(endsAt)
      const refused = protocol === 'http' ? { status: 402, code: 'expired' } : { status: 2 }
      expect(await tryConnect(protocol, proxy)).toMatchObject(refused)
    },
  )

  test.concurrent('POST /dedicated/prolong keeps a tunnel open past its earlier end', async () => {
    // A slow machine gets more time in the next round.
    for (const ms of [1000, 4000, 16_000, 64_000]) {
      const [proxy, control] = [await buy('http'), await buy('http')]
      const tunnel = await openTunnel('http', at(), proxy, echo.spot)
      const other = await openTunnel('http', at(), control, echo.spot)
      const endsAt = await endIn(shop, proxy, ms)
      await endIn(shop, control, endsAt - Date.now())
      await shop.post('/dedicated/prolong', { ids: [proxy.id], period: 7 })
      if (Date.now() >= endsAt) continue
      // The control tunnel ends no earlier; once it is closed, the moment has passed.
      await other.closedAt
      expect(await tunnel.echo('and on')).toBe('and on')
      expect(await tryConnect('http', proxy)).toMatchObject({ status: 200 })
      tunnel.close()
      return
    }
    throw new Error('no prolonging was answered in time')
  })

  test.concurrent('an expired proxy works as soon as POST /dedicated/prolong is answered', async () => {
    const proxy = await buy('http')
    await endIn(shop, proxy, -1000)
    // A gateway sends at most 100 lookups per second and source to the shop; the other tests share that limit.
    expect(await untilTrue(async () => (await tryConnect('http', proxy)).code === 'expired', 200)).toBeTrue()
    expect((await shop.post('/dedicated/prolong', { ids: [proxy.id], period: 7 })).status).toBe(200)
    expect(await tryConnect('http', proxy)).toMatchObject({ status: 200 })
  })

  test.concurrent('a proxy that ended 29 days ago is refused as expired, and after 31 days as bad_credentials', async () => {
    const proxy = await buy('http')
    const dayMs = 86_400_000
    for (const [days, code] of [
      [29, 'expired'],
      [31, 'bad_credentials'],
    ] as const) {
      await endIn(shop, proxy, -days * dayMs)
      expect(await untilTrue(async () => (await tryConnect('http', proxy)).code === code, 200)).toBeTrue()
    }
  })

  test.concurrent('a change of protocol closes the tunnels of the old one within 1.5 s, and no others', async () => {
    const [changed, other] = [await buy('http'), await buy('http')]
    const tunnel = await openTunnel('http', at(), changed, echo.spot)
    const neighbour = await openTunnel('http', at(), other, echo.spot)
    const stopwatch = startStopwatch(engine)
    await shop.post('/dedicated/protocol', { ids: [changed.id], port_type: 'socks' })
    await tunnel.closedAt
    expect(stopwatch.elapsedMs()).toBeLessThan(1500)
    expect(await neighbour.echo('quiet here')).toBe('quiet here')
    neighbour.close()
  })

  test.concurrent('POST /dedicated/replace closes the tunnel; the next one leaves from the new address', async () => {
    const proxy = await buy('http')
    const tunnel = await openTunnel('http', at(), proxy, echo.spot)
    const replaced = await shop.post('/dedicated/replace', { id: proxy.id })
    expect(replaced.status).toBe(200)
    await tunnel.closedAt
    const again = await openTunnel('http', at(), replaced.data, echo.spot)
    expect(await again.echo('hello')).toBe('hello')
    expect(echo.sources).toContain(replaced.data.exit_ip)
    expect(replaced.data.exit_ip).not.toBe(proxy.exit_ip)
    again.close()
  })

  test.concurrent('blocking a customer closes tunnels within 2 s and answers blocked; unblocking undoes it', async () => {
    const { customer, token } = await shop.newCustomer(10_000n)
    const order = { country_code: 'DE', period: 7, count: 2, ipv: 4 }
    const { data } = await shop.post('/dedicated/buy', order, { token })
    const [http, socks] = data.proxies as [BoughtProxy, BoughtProxy]
    await shop.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' }, { token })
    const tunnel = await openTunnel('http', at(), http, echo.spot)
    const stopwatch = startStopwatch(engine)
    await shop.services.setBlocked(customer, true)
    await tunnel.closedAt
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
    expect(await tryConnect('http', http)).toMatchObject({ status: 403, code: 'blocked' })
    expect(await tryConnect('socks', socks)).toMatchObject({ status: 2 })
    await shop.services.setBlocked(customer, false)
    expect(await tryConnect('http', http)).toMatchObject({ status: 200 })
  })

  test('a stopping gateway refuses a logged-in SOCKS5 client and keeps open tunnels until they close', async () => {
    const [http, socks] = [await buy('http'), await buy('socks')]
    const tunnel = await openTunnel('http', at(), http, echo.spot)
    const client = await loginSocks(at(), socks)
    const stopped = shop.stopGateway()
    expect(await client.ask(echo.spot)).toBe(1)
    expect(await tunnel.echo('to the end')).toBe('to the end')
    tunnel.close()
    await stopped
    expect(await failureOf(tryConnect('http', http))).toBeInstanceOf(Error)
  })
})
