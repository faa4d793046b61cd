import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { curl } from '../harness/clients.ts'
import { Detour } from '../harness/detour.ts'
import { loginLine } from '../harness/engine.ts'
import { type BoughtProxy, freePort, openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { urlOf } from '../harness/library-clients.ts'
import { addStock, applyCatalogue, shippedWith } from '../harness/proxies.ts'
import { RawClient, readAnswers } from '../harness/raw-client.ts'
import { serveAllStock } from '../harness/stock-gateway.ts'
import { attempt, type Login, openTunnel, type Spot, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

/** Limits so low that each test reaches one; they count per customer. */
const tight = {
  TURNPIKE_GATEWAY_TUNNELS: '3',
  TURNPIKE_GATEWAY_NEW: '20',
  TURNPIKE_GATEWAY_NAMES: '1',
  TURNPIKE_GATEWAY_CONNECT: '1',
  TURNPIKE_GATEWAY_CONNECTIONS: '30',
  TURNPIKE_GATEWAY_DENY_NAMES: 'denied.localhost',
  TURNPIKE_GATEWAY_DENY_PREFIXES: '127.66.0.0/16',
}

type Pair = { readonly token: string; readonly http: BoughtProxy; readonly socks: BoughtProxy }

describe('refusals of the gateway in HTTP and SOCKS5', () => {
  let shop: ShopWithGateway
  /** Forwards the gateway’s requests to the shop, and can be closed. */
  let detour: Detour
  let echo: ReturnType<typeof startEcho>
  beforeAll(async () => {
    const shopPort = freePort()
    detour = new Detour(freePort(), shopPort)
    await detour.open()
    shop = await openShopWithGateway('sqlite', {
      shop: { TURNPIKE_PORT: String(shopPort) },
      gateway: { ...tight, TURNPIKE_SHOP_URL: `http://127.0.0.1:${detour.port}` },
    })
    echo = startEcho()
  })
  afterAll(async () => {
    echo.stop()
    await shop.stop()
    await detour.close()
  })

  const at = () => ({ host: '127.0.0.1', port: shop.port })
  const closedPort = (): Spot => ({ host: '127.0.0.1', port: freePort() })

  /** A new customer, so with unused limits, with one HTTP and one SOCKS5 proxy. */
  async function newPair(order: Record<string, unknown> = {}): Promise<Pair> {
    const { token } = await shop.newCustomer(10_000n)
    const body = { country_code: 'DE', period: 7, count: 2, ipv: 4, ...order }
    const { data, error } = await shop.post('/dedicated/buy', body, { token })
    expect(error).toBeUndefined()
    const [http, socks] = data.proxies as [BoughtProxy, BoughtProxy]
    await shop.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' }, { token })
    return { token, http, socks }
  }

  /** A sub-user with 0.1 GB in each of these pools. */
  async function newSubuser(...pools: string[]) {
    const { token } = await shop.newCustomer(10_000n)
    for (const pool of pools) await shop.post('/premium/traffic/buy', { pool_type: pool, gb: 0.1 }, { token })
    const { login, password } = (await shop.get('/premium/password', { token })).data
    return { token, as: (parts = ''): Login => ({ username: `${login}${parts}`, password }) }
  }

  /** Expects the same refusal in both protocols: error code and status in HTTP, reply in SOCKS5. */
  async function expectRefusal(
    of: { http: Login; socks: Login },
    target: Spot,
    code: string,
    status: number,
    reply: number,
  ) {
    const tries = [attempt('http', at(), of.http, target), attempt('socks', at(), of.socks, target)]
    expect(await Promise.all(tries)).toMatchObject([{ status, code }, { status: reply }])
  }

  const both = (login: Login) => ({ http: login, socks: login })

  test('the gateway refuses missing and wrong credentials after at least 245 ms', async () => {
    const pair = await newPair()
    expect(await attempt('http', at(), undefined, echo.spot)).toMatchObject({
      status: 407,
      code: 'credentials_required',
      head: expect.stringContaining('Proxy-Authenticate: Basic'),
    })
    expect(await attempt('socks', at(), undefined, echo.spot)).toMatchObject({ status: 255 })
    const wrong = { http: { ...pair.http, password: 'x' }, socks: { ...pair.socks, password: 'x' } }
    await expectRefusal(wrong, echo.spot, 'bad_credentials', 407, 254)
    await expectRefusal(both({ username: 'nobody', password: 'x' }), echo.spot, 'bad_credentials', 407, 254)
    // The delay of refusals hides whether the username exists. Load only makes it longer.
    const took = [wrong.http, { username: 'nobody2', password: 'x' }].map(async (login) => {
      const startedMs = performance.now()
      await attempt('http', at(), login, echo.spot)
      return performance.now() - startedMs
    })
    for (const ms of await Promise.all(took)) expect(ms).toBeGreaterThan(245)
  })

  test('the gateway refuses an HTTP proxy used over SOCKS5, and the reverse, as wrong_protocol', async () => {
    const { http, socks } = await newPair()
    // The gateway may admit the old protocol until it has read the change.
    expect(await untilTrue(async () => (await attempt('http', at(), socks, echo.spot)).status === 403)).toBeTrue()
    await expectRefusal({ http: socks, socks: http }, echo.spot, 'wrong_protocol', 403, 2)
  })

  test('the gateway answers pool_required, traffic_exhausted and no_exit to a premium login', async () => {
    const two = await newSubuser('residential', 'mobile')
    // One pool counts until the gateway has read the second purchase.
    expect(await untilTrue(async () => (await attempt('http', at(), two.as(), echo.spot)).status === 403)).toBeTrue()
    await expectRefusal(both(two.as()), echo.spot, 'pool_required', 403, 2)
    await expectRefusal(both(two.as('-pool-datacenter')), echo.spot, 'traffic_exhausted', 402, 2)
    await expectRefusal(both(two.as('-pool-mobile-country-br')), echo.spot, 'no_exit', 502, 4)
    const none = await newSubuser()
    await expectRefusal(both(none.as()), echo.spot, 'traffic_exhausted', 402, 2)
  })

  test('the gateway refuses a fourth concurrent connection at a limit of 3', async () => {
    const { http, socks } = await newPair()
    const open = await Promise.all([1, 2, 3].map(() => openTunnel('http', at(), http, echo.spot)))
    await expectRefusal({ http, socks }, echo.spot, 'too_many_tunnels', 429, 1)
    for (const tunnel of open) tunnel.close()
    expect(await untilTrue(async () => (await attempt('socks', at(), socks, echo.spot)).status === 0)).toBeTrue()
  })

  test('the gateway refuses new connections above 20 per second after a burst of 40', async () => {
    const { http, socks } = await newPair()
    const refused = closedPort()
    const line = `CONNECT ${refused.host}:${refused.port} HTTP/1.1\r\n${loginLine(http.username, http.password)}\r\n`
    const codes: string[] = []
    /** Sends 15 requests on one connection. The gateway closes a connection after 20 refusals. */
    const exhaust = async (): Promise<boolean> => {
      const client = await RawClient.open(shop.port)
      client.send(line.repeat(15))
      await client.readUntil((text) => readAnswers(text).answers.length === 15)
      codes.push(...readAnswers(client.text).answers.map(({ code }) => code))
      client.reset()
      return codes.at(-1) === 'too_many_new'
    }
    expect(await untilTrue(exhaust)).toBeTrue()
    // The burst is twice the rate.
    expect(codes.slice(0, 40)).toEqual(Array.from({ length: 40 }, () => 'connect_refused'))
    const isMet = async () => (await exhaust()) && (await attempt('socks', at(), socks, refused)).status === 1
    expect(await untilTrue(isMet)).toBeTrue()
  })

  test('the gateway refuses name lookups above 1 per second', async () => {
    const { http, socks } = await newPair()
    const ask = (protocol: 'http' | 'socks', index: number) =>
      attempt(protocol, at(), protocol === 'http' ? http : socks, { host: `n${index}.${protocol}.example`, port: 80 })
    let requests = 0
    const isMet = async (protocol: 'http' | 'socks') => {
      const answers = await Promise.all([1, 2, 3].map(() => ask(protocol, (requests += 1))))
      return answers.some(({ status, code }) => (protocol === 'http' ? code === 'too_many_names' : status === 1))
    }
    expect(await untilTrue(() => isMet('http'))).toBeTrue()
    expect(await untilTrue(() => isMet('socks'))).toBeTrue()
  })

  test('the gateway names why a destination cannot be reached: refused, family, name or route', async () => {
    const pair = await newPair()
    await expectRefusal(pair, closedPort(), 'connect_refused', 502, 5)
    await expectRefusal(pair, { host: '::1', port: 8080 }, 'no_such_family', 502, 4)
    await expectRefusal(pair, { host: 'nowhere.invalid', port: 80 }, 'name_not_found', 502, 4)
    // The system has no route from a loopback address out of this machine.
    await expectRefusal(pair, { host: '8.8.8.8', port: 443 }, 'unreachable', 502, 4)
  })

  test('the gateway refuses mail, private addresses and the operator’s denied prefixes and names', async () => {
    const pair = await newPair()
    await expectRefusal(pair, { host: '127.0.0.1', port: 25 }, 'port_denied', 403, 2)
    await expectRefusal(pair, { host: '10.0.0.1', port: 80 }, 'destination_not_public', 403, 2)
    await expectRefusal(pair, { host: '127.66.1.2', port: echo.spot.port }, 'destination_denied', 403, 2)
    await expectRefusal(pair, { host: 'a.denied.localhost', port: echo.spot.port }, 'destination_denied', 403, 2)
  })

  test('the gateway answers address_unavailable when its machine lacks the proxy’s address', async () => {
    await applyCatalogue(shop.services, shippedWith('AT'))
    await addStock(shop.services, '198.51.100.0/24', 'AT', 4)
    // The node reported the address and lost it. The shop’s cached prices and nodes are up to 0.5 s old.
    await serveAllStock(shop.services)
    const { token } = await shop.newCustomer(0n)
    const quote = '/dedicated/quote?country_code=AT&ipv=4&period=7&count=2'
    const isOnSale = async () => ((await shop.get(quote, { token })).data?.available ?? 0) >= 2
    expect(await untilTrue(isOnSale)).toBe(true)
    await expectRefusal(await newPair({ country_code: 'AT' }), echo.spot, 'address_unavailable', 502, 1)
  })

  test('the gateway answers origin_failed when the origin’s answer is not HTTP', async () => {
    const { http } = await newPair()
    const mailServer = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.end('220 mail.example ESMTP\r\n') },
    })
    const answer = await curl('-x', urlOf('http', http), `http://127.0.0.1:${mailServer.port}/`)
    expect(answer).toMatchObject({ status: 502, error: 'origin_failed' })
    mailServer.stop(true)
  })

  test('the gateway answers no_exit for a dead upstream and connect_timeout for one that never answers', async () => {
    const { as } = await newSubuser('mobile')
    const location = { country: 'AT', state: 'Wien', city: 'Wien', zip: '1010', asn: null, credentials: null }
    const mute = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const add = (kind: 'http' | 'socks5', city: string, port: number) =>
      shop.services.premium.exits.addOne({ ...location, city, pool: 'mobile', kind, host: '127.0.0.1', port })
    await add('http', 'Dead', freePort())
    await add('socks5', 'Mute', mute.port)
    const [dead, silent] = [as('-pool-mobile-city-dead'), as('-pool-mobile-city-mute')]
    const isKnown = async (login: Login) => (await attempt('http', at(), login, echo.spot)).code !== 'no_exit'
    expect(await untilTrue(() => isKnown(silent))).toBeTrue()
    // The gateway tried it as soon as it read it, and has skipped it since.
    await expectRefusal(both(dead), echo.spot, 'no_exit', 502, 4)
    await expectRefusal(both(silent), echo.spot, 'connect_timeout', 504, 6)
    mute.stop(true)
  })

  test('the gateway admits customers beside idle connections and answers gateway_full at 30 tunnels', async () => {
    const pair = await newPair()
    // The gateway may close connections above its limit before the client sees them open.
    const idle = await Promise.allSettled(Array.from({ length: 30 }, () => idleAt(shop.port)))
    // An idle connection does not take the slot of a customer.
    expect(await attempt('http', at(), pair.http, echo.spot)).toMatchObject({ status: 200 })
    for (const each of idle) if (each.status === 'fulfilled') each.value.terminate()
    const tunnels: Awaited<ReturnType<typeof openTunnel>>[] = []
    for (let customers = 0; customers < 10; customers += 1) {
      const { http } = await newPair()
      for (let count = 0; count < 3; count += 1) tunnels.push(await openTunnel('http', at(), http, echo.spot))
    }
    await expectRefusal(pair, echo.spot, 'gateway_full', 503, 1)
    for (const tunnel of tunnels) tunnel.close()
    expect(await untilTrue(async () => (await attempt('http', at(), pair.http, echo.spot)).status === 200)).toBeTrue()
  })

  test('the gateway serves known logins while the shop is down and answers shop_unreachable to others', async () => {
    const { http, socks } = await newPair()
    const { as } = await newSubuser('residential', 'mobile')
    const known = [http, as('-pool-residential')]
    for (const login of known) expect(await attempt('http', at(), login, echo.spot)).toMatchObject({ status: 200 })
    const tunnel = await openTunnel('socks', at(), socks, echo.spot)
    await detour.close()
    const late = await newPair()
    await expectRefusal(late, echo.spot, 'shop_unreachable', 503, 1)
    await expectRefusal(both(as('-pool-mobile')), echo.spot, 'shop_unreachable', 503, 1)
    expect(await tunnel.echo('still relayed')).toBe('still relayed')
    for (const login of known) expect(await attempt('http', at(), login, echo.spot)).toMatchObject({ status: 200 })
    tunnel.close()
    await detour.open()
    expect(await attempt('http', at(), late.http, echo.spot)).toMatchObject({ status: 200 })
  })
})

const idleAt = (port: number) => Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })
