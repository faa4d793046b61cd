import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { curl, expectNoTrace } from '../harness/clients.ts'
import { type BoughtProxy, openShopWithGateway, type ShopWithGateway, startOrigin } from '../harness/gateway.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { runCommand, untilTrue } from '../harness/turnpike.ts'

const anywhere = { countries: [], states: [], cities: [], zips: [], asns: [] }

/** The supplier is a second shop with its own gateway; the first gateway uses its proxies as exits. */
describe('exits through a supplier’s proxies', () => {
  let shop: ShopWithGateway
  let supplier: ShopWithGateway
  let echo: ReturnType<typeof startEcho>
  let plain: ReturnType<typeof startOrigin>
  let secure: ReturnType<typeof startOrigin>
  let login: string
  let password: string
  beforeAll(async () => {
    ;[shop, supplier] = await Promise.all([openShopWithGateway('sqlite'), openShopWithGateway('sqlite')])
    echo = startEcho()
    plain = startOrigin()
    secure = startOrigin('127.0.0.1', { tls: selfSigned })
    ;({ login, password } = await shop.buyTraffic(1, 'datacenter'))
  })
  afterAll(async () => {
    echo.stop()
    await Promise.all([secure.stop(), plain.stop()])
    await Promise.all([shop.stop(), supplier.stop()])
  })

  const at = () => ({ host: '127.0.0.1', port: shop.port })
  const as = (city: string) => ({ username: `${login}-pool-datacenter-city-${city}`, password })

  async function buyAtSupplier(portType: 'http' | 'socks'): Promise<BoughtProxy> {
    const [proxy] = await supplier.buyProxies({ country_code: 'NL' })
    if (!proxy) throw new Error('nothing was bought')
    await supplier.post('/dedicated/protocol', { ids: [proxy.id], port_type: portType })
    return proxy
  }

  /** Adds an exit and waits until the gateway uses it. */
  async function addExit(
    city: string,
    kind: 'http' | 'socks5',
    proxy: Omit<BoughtProxy, 'id' | 'expires_at' | 'exit_ip'>,
    isGood = true,
  ) {
    const exit = await shop.services.premium.exits.addOne({
      pool: 'datacenter',
      kind,
      host: proxy.ip,
      port: proxy.port,
      credentials: { username: proxy.username, password: proxy.password },
      country: 'NL',
      state: 'Utrecht',
      city,
      zip: '3511',
      asn: null,
    })
    if (!isGood) return exit
    const isKnown = async () => (await attempt('http', at(), as(city.toLowerCase()), echo.spot)).code !== 'no_exit'
    expect(await untilTrue(isKnown)).toBeTrue()
    return exit
  }

  test.each(['http', 'socks5'] as const)(
    'an exit through an upstream %s proxy relays HTTP and SOCKS5 clients with the upstream’s login',
    async (kind) => {
      const proxy = await buyAtSupplier(kind === 'http' ? 'http' : 'socks')
      const city = `Via${kind}`
      await addExit(city, kind, proxy)
      for (const protocol of ['http', 'socks'] as const) {
        const tunnel = await openTunnel(protocol, at(), as(city.toLowerCase()), echo.spot)
        expect(await tunnel.echo('x'.repeat(5000))).toHaveLength(5000)
        expect(echo.sources.at(-1)).toBe(proxy.exit_ip)
        tunnel.close()
      }
      const { username } = as(city.toLowerCase())
      const line = `http://${username}:${password}@127.0.0.1:${shop.port}`
      expect(await curl('-x', line, `${secure.url}/?bytes=3000000`)).toMatchObject({
        exit: 0,
        status: 200,
        connect: 200,
      })
      expect(await curl('-x', line, plain.url)).toMatchObject({ exit: 0, status: 200, connect: 0 })
      for (const origin of [secure, plain]) {
        expect(origin.seen.at(-1)?.from).toBe(proxy.exit_ip)
        expectNoTrace(origin.seen.at(-1)?.headers ?? {})
      }
    },
  )

  test('an upstream that refuses the login is reported down once, listed with the reason and not offered', async () => {
    const proxy = await buyAtSupplier('http')
    const forgotten = await addExit('Forgotten', 'http', { ...proxy, password: 'changed' }, false)
    const { premium } = shop.services
    expect(await untilTrue(async () => (await premium.exits.reports([forgotten.id])).length > 0)).toBeTrue()
    expect(await premium.exits.reports([forgotten.id])).toMatchObject([{ isUp: false }])
    expect(await attempt('http', at(), as('forgotten'), echo.spot)).toMatchObject({ status: 502, code: 'no_exit' })
    expect(await attempt('socks', at(), as('forgotten'), echo.spot)).toMatchObject({ status: 4 })
    expect(shop.gatewayLog.filter((line) => line.includes('exit down') && line.includes(forgotten.id))).toHaveLength(1)
    const cities = async () =>
      (await premium.exits.locations('datacenter', 'cities', anywhere)).map((location) => location.name)
    expect(await untilTrue(async () => !(await cities()).includes('Forgotten'))).toBeTrue()
    const listed = await runCommand(['exit', 'list', '--limit', '10000', '--json'], {
      TURNPIKE_DATA: shop.testDatabase.folder,
    })
    const shown = JSON.parse(listed.out).items.find((each: { exit_id: string }) => each.exit_id === forgotten.id)
    expect(shown).toMatchObject({ status: 'down', said: [{ up: false, reason: 'it does not take our login (407)' }] })
  })

  test('bytes that an upstream sends with its 200, and its close, reach the client', async () => {
    const upstream = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nhello and goodbye') },
    })
    const { port } = upstream
    await addExit('Early', 'http', { ip: '127.0.0.1', port, username: 'a', password: 'b' })
    for (const protocol of ['http', 'socks'] as const) {
      const tunnel = await openTunnel(protocol, at(), as('early'), echo.spot)
      expect((await tunnel.read(17)).toString()).toBe('hello and goodbye')
      await tunnel.closedAt
    }
    upstream.stop(true)
  })

  test('a gateway stops using an exit within 2 s of exit drain', async () => {
    const env = { TURNPIKE_DATA: shop.testDatabase.folder }
    const run = async (...args: string[]) => {
      const ended = await runCommand([...args, '--json'], env)
      expect(ended).toMatchObject({ exit: 0 })
      return ended.out
    }
    await run('exit', 'add', 'datacenter', '--local', '127.222.0.1', '--country', 'NL', '--city', 'Lonely')
    expect(
      await untilTrue(async () => (await attempt('http', at(), as('lonely'), echo.spot)).status === 200),
    ).toBeTrue()
    // The client may see the tunnel before the destination has recorded it.
    expect(await untilTrue(async () => echo.sources.at(-1) === '127.222.0.1')).toBeTrue()
    const [exit] = (await shop.services.premium.exits.list('datacenter', '', 500)).filter(
      (each) => each.city === 'Lonely',
    )
    await run('exit', 'drain', exit?.id ?? '')
    const stopwatch = startStopwatch()
    const isGone = async () => (await attempt('http', at(), as('lonely'), echo.spot)).code === 'no_exit'
    expect(await untilTrue(isGone)).toBeTrue()
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
  })
})
