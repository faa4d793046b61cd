import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { clientAddress, curl } from '../harness/clients.ts'
import { enginesOf } from '../harness/database.ts'
import {
  type BoughtProxy,
  openShopWithGateway,
  type ShopWithGateway,
  somePorts,
  startOrigin,
} from '../harness/gateway.ts'
import { attempt, openTunnel, type Spot, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

type Shown = BoughtProxy & {
  port_type: string
  comment: string
  whitelist: string[]
  whitelist_port: number | null
  traffic: { rx_bytes: number; tx_bytes: number }
}

describe.each([...enginesOf('sqlite')])('access to a dedicated proxy on %s', (engine) => {
  let shop: ShopWithGateway
  let origin: ReturnType<typeof startOrigin>
  let echo: ReturnType<typeof startEcho>
  let far: ReturnType<typeof startEcho>
  beforeAll(async () => {
    shop = await openShopWithGateway(engine, { shop: { TURNPIKE_PREMIUM_PORTS: somePorts() } })
    origin = startOrigin()
    echo = startEcho()
    far = startEcho('::1')
  })
  afterAll(async () => {
    echo.stop()
    far.stop()
    await origin.stop()
    expect(await findingsOf(shop.services)).toEqual([])
    await shop.stop()
  })

  async function buy(token: string, order: object = {}): Promise<Shown[]> {
    const body = { country_code: 'DE', period: 7, count: 1, ipv: 4, ...order }
    return (await shop.post('/dedicated/buy', body, { token })).data.proxies
  }
  const allow = async (token: string, ids: readonly number[], ip = clientAddress): Promise<Shown[]> =>
    (await shop.post('/dedicated/whitelist/add', { ids, ip }, { token })).data.proxies
  const list = async (token: string): Promise<Shown[]> => (await shop.get('/dedicated/list', { token })).data.proxies
  const through = async (line: string, ...more: string[]) => (await curl('-x', line, ...more, origin.url)).status
  /** Retries until the gateway has read the new port from the shop and opened it. */
  const isThrough = (entrance: Spot, target: Spot) =>
    untilTrue(() =>
      attempt('http', entrance, undefined, target).then(
        (each) => each.status === 200,
        () => false,
      ),
    )
  const spotOf = (proxy: Shown) => ({ host: proxy.ip, port: proxy.port })

  test.each([3, 4])('ipv %d: a whitelisted address needs no password, and any other address does', async (ipv) => {
    const { token } = await shop.newCustomer(1_000n)
    const [bought] = await buy(token, { ipv })
    const [proxy] = await allow(token, [bought?.id ?? 0])
    if (!proxy || proxy.whitelist_port === null) throw new Error('it has no port')
    expect(proxy.whitelist).toEqual([clientAddress])
    expect(proxy.whitelist_port).not.toBe(shop.port)
    const line = `http://${proxy.ip}:${proxy.whitelist_port}`
    expect(await untilTrue(async () => (await through(line)) === 200)).toBeTrue()
    expect(await through(line, '--interface', '127.9.9.8')).toBe(407)
    const { username, password } = proxy
    expect(await through(`http://${username}:${password}@${proxy.ip}:${proxy.port}`)).toBe(200)
  })

  test('a whitelisted client of an IPv6 proxy enters through its port on the shared gateway address', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const [first, second] = await buy(token, { ipv: 6, count: 2 })
    const [proxy] = await allow(token, [second?.id ?? 0], '127.0.0.1')
    expect(proxy?.ip).toBe(first?.ip as never)
    expect(await isThrough({ host: '127.0.0.1', port: proxy?.whitelist_port ?? 0 }, far.spot)).toBeTrue()
  })

  test('the gateway identifies two customers who share one client address by their whitelist ports', async () => {
    const [anna, boris] = [await shop.newCustomer(1_000n), await shop.newCustomer(1_000n)]
    const [annasProxy] = await allow(anna.token, [(await buy(anna.token))[0]?.id ?? 0])
    const [borisProxy] = await allow(boris.token, [(await buy(boris.token))[0]?.id ?? 0])
    expect(annasProxy?.whitelist_port).not.toBe(borisProxy?.whitelist_port as never)
    for (const proxy of [annasProxy, borisProxy]) {
      const line = `http://127.0.0.1:${proxy?.whitelist_port}`
      expect(await untilTrue(async () => (await through(line)) === 200)).toBeTrue()
      expect(origin.seen.at(-1)?.from).toBe(proxy?.exit_ip as never)
    }
  })

  test('removing a whitelisted address closes its open tunnel, and the proxy keeps its port', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const [bought] = await buy(token)
    const id = bought?.id ?? 0
    await allow(token, [id], '127.0.0.1')
    const [proxy] = await allow(token, [id], '127.0.0.1')
    expect(proxy?.whitelist).toEqual(['127.0.0.1'])
    const entrance = { host: '127.0.0.1', port: proxy?.whitelist_port ?? 0 }
    expect(await isThrough(entrance, echo.spot)).toBeTrue()
    const tunnel = await openTunnel('http', entrance, undefined, echo.spot)
    await tunnel.echo('x')
    const { data } = await shop.post('/dedicated/whitelist/remove', { ids: [id], ip: '127.0.0.1' }, { token })
    expect(data.proxies[0]).toMatchObject({ whitelist: [], whitelist_port: null })
    await tunnel.closedAt
    // Adding the address again reuses the port.
    const [again] = await allow(token, [id], '127.0.0.1')
    expect(again?.whitelist_port).toBe(entrance.port)
  })

  test.each([
    ['nonsense', 400],
    ['127.0.0.0/8', 400],
    ['0.0.0.0', 400],
    ['', 400],
  ])('POST /dedicated/whitelist/add refuses %p as an address', async (ip, status) => {
    const { token } = await shop.newCustomer(1_000n)
    const [bought] = await buy(token)
    const answer = await shop.post('/dedicated/whitelist/add', { ids: [bought?.id], ip }, { token })
    expect(answer.status).toBe(status)
    expect((await list(token))[0]?.whitelist).toEqual([])
  })

  test('a request that names another customer’s proxy answers 404 and changes no proxy', async () => {
    const [anna, boris] = [await shop.newCustomer(1_000n), await shop.newCustomer(1_000n)]
    const [annasProxy] = await buy(anna.token)
    const [borisProxy] = await buy(boris.token)
    for (const [path, body] of [
      ['/dedicated/whitelist/add', { ip: clientAddress }],
      ['/dedicated/whitelist/remove', { ip: clientAddress }],
      ['/dedicated/password/reset', {}],
    ] as const) {
      const answer = await shop.post(path, { ids: [borisProxy?.id, annasProxy?.id], ...body }, { token: boris.token })
      expect(answer).toMatchObject({ status: 404, error: { details: { ids: [annasProxy?.id] } } })
    }
    expect((await list(boris.token))[0]).toMatchObject({ password: borisProxy?.password, whitelist: [] })
    expect((await list(anna.token))[0]).toMatchObject({ password: annasProxy?.password, whitelist: [] })
    expect((await shop.get(`/dedicated/export?ids=${annasProxy?.id}`, { token: boris.token })).status).toBe(404)
  })

  test('POST /dedicated/whitelist/add refuses an eleventh address with 409', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const [bought] = await buy(token)
    const ids = [bought?.id ?? 0]
    for (let index = 1; index <= 10; index += 1) await allow(token, ids, `127.9.8.${index}`)
    const answer = await shop.post('/dedicated/whitelist/add', { ids, ip: '127.9.8.11' }, { token })
    expect(answer).toMatchObject({ status: 409, error: { code: 'conflict', details: { limit: 10, ids } } })
    expect((await list(token))[0]?.whitelist).toHaveLength(10)
  })

  test('a password reset admits the new password, refuses the old one and closes its tunnels', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const [before] = await buy(token)
    if (!before) throw new Error('nothing was bought')
    const tunnel = await openTunnel('http', spotOf(before), before, echo.spot)
    await tunnel.echo('x')
    const { data } = await shop.post('/dedicated/password/reset', { ids: [before.id] }, { token })
    const [after] = data.proxies as Shown[]
    if (!after) throw new Error('nothing was answered')
    expect(after).toMatchObject({ id: before.id, username: before.username, exit_ip: before.exit_ip })
    expect(after.password).toMatch(/^[0-9a-hjkmnp-tv-z]{27}$/)
    expect(after.password).not.toBe(before.password)
    expect((await attempt('http', spotOf(after), after, echo.spot)).status).toBe(200)
    expect((await attempt('http', spotOf(after), before, echo.spot)).status).toBe(407)
    await tunnel.closedAt
  })

  test('port_type=both accepts HTTP and SOCKS5; port_type=socks then refuses HTTP with 403', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const [proxy] = await buy(token)
    if (!proxy) throw new Error('nothing was bought')
    const set = (type: string) => shop.post('/dedicated/protocol', { ids: [proxy.id], port_type: type }, { token })
    expect((await set('both')).data).toEqual({ port_type: 'both', updated: [proxy.id] })
    expect((await list(token))[0]?.port_type).toBe('both')
    expect((await attempt('socks', spotOf(proxy), proxy, echo.spot)).status).toBe(0)
    expect((await attempt('http', spotOf(proxy), proxy, echo.spot)).status).toBe(200)
    expect((await shop.post('/dedicated/check', { id: proxy.id }, { token })).data).toMatchObject({ works: true })
    await set('socks')
    const status = async () => (await attempt('http', spotOf(proxy), proxy, echo.spot)).status
    expect(await untilTrue(async () => (await status()) === 403)).toBeTrue()
    expect((await attempt('socks', spotOf(proxy), proxy, echo.spot)).status).toBe(0)
  })

  test('GET /dedicated/list shows the bytes relayed: 5 received and 5 sent', async () => {
    const { token } = await shop.newCustomer(1_000n)
    const [proxy] = await buy(token)
    if (!proxy) throw new Error('nothing was bought')
    expect(proxy.traffic).toEqual({ rx_bytes: 0, tx_bytes: 0 })
    const tunnel = await openTunnel('http', spotOf(proxy), proxy, echo.spot)
    await tunnel.echo('hello')
    tunnel.close()
    const readTraffic = async () => (await list(token))[0]?.traffic
    expect(await untilTrue(async () => (await readTraffic())?.rx_bytes === 5)).toBeTrue()
    expect(await readTraffic()).toEqual({ rx_bytes: 5, tx_bytes: 5 })
  })

  test('GET /dedicated/export answers lines in each format, CSV or JSON, and 400 for unknown formats', async () => {
    const { token } = await shop.newCustomer(1_000n)
    await buy(token, { count: 2 })
    await buy(token, { ipv: 6 })
    const proxies = await list(token)
    await shop.post('/dedicated/comment', { ids: [proxies[0]?.id], comment: '=1+1,"x"' }, { token })
    const file = async (query: string) => {
      const answer = await fetch(`${shop.url}/api/v1/dedicated/export?${query}`, {
        headers: { Authorization: `Bearer ${token}` },
      })
      return { status: answer.status, type: answer.headers.get('Content-Type'), text: await answer.text() }
    }
    const nameOf = async (query: string) =>
      (
        await fetch(`${shop.url}/api/v1/dedicated/export?${query}`, { headers: { Authorization: `Bearer ${token}` } })
      ).headers.get('Content-Disposition')
    const lines = (write: (each: Shown) => string) => proxies.map((each) => `${write(each)}\n`).join('')
    expect(await file('')).toEqual({
      status: 200,
      type: 'text/plain; charset=utf-8',
      text: lines((each) => `${each.ip}:${each.port}:${each.username}:${each.password}`),
    })
    const fourth = lines((each) => `http://${each.username}:${each.password}@${each.ip}:${each.port}`)
    expect((await file('format_id=4')).text).toBe(fourth)
    const template = encodeURIComponent('{protocol}://{host}:{port} {login}')
    expect((await file(`template=${template}`)).text).toBe(
      lines((each) => `http://${each.ip}:${each.port} ${each.username}`),
    )
    const table = await file('format=csv')
    expect(table.type).toBe('text/csv; charset=utf-8')
    expect(await Promise.all(['', 'format=csv', 'format=json'].map(nameOf))).toEqual([
      'attachment; filename="proxies.txt"',
      'attachment; filename="proxies.csv"',
      null,
    ])
    expect(table.text.split('\r\n')).toHaveLength(5)
    expect(table.text).toContain(`"'=1+1,""x"""`)
    expect(JSON.parse((await file('format=json')).text)).toMatchObject({ ok: true, data: { count: 3 } })
    const one = proxies[1]
    expect((await file(`format_id=2&ids=${one?.id}`)).text).toBe(
      `${one?.username}:${one?.password}@${one?.ip}:${one?.port}\n`,
    )
    expect(await file('format_id=3')).toMatchObject({ status: 409 })
    const listed = await allow(
      token,
      proxies.map((each) => each.id),
    )
    const ports = new Map(listed.map((each) => [each.id, each.whitelist_port]))
    expect((await file('format_id=3')).text).toBe(lines((each) => `${each.ip}:${ports.get(each.id)}`))
    const [head = '', ...rows] = (await file('format=csv')).text.trimEnd().split('\r\n')
    const column = head.split(',').indexOf('whitelist_port') - head.split(',').length
    expect(rows.map((row) => Number(row.split(',').at(column)))).toEqual(proxies.map((each) => ports.get(each.id) ?? 0))
    for (const wrong of ['format=xml', 'format_id=5', 'template={nobody}', 'format=csv&format_id=1', 'ids=x']) {
      expect((await file(wrong)).status).toBe(400)
    }
  })
})
