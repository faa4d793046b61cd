import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { clientAddress, curl } from '../harness/clients.ts'
import { enginesOf } from '../harness/database.ts'
import { openRoad, type Road, somePorts, startOrigin } from '../harness/gateway.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

const generate = '/premium/proxies/generate'

type Customer = { token: string; login: string; password: string; subuser: string }

describe.each([...enginesOf('sqlite')])('premium proxies on %s', (engine) => {
  let road: Road
  let echo: ReturnType<typeof startEcho>
  let origin: ReturnType<typeof startOrigin>
  beforeAll(async () => {
    road = await openRoad(engine, { shop: { TURNPIKE_PREMIUM_PORTS: somePorts() } })
    echo = startEcho()
    origin = startOrigin()
  })
  afterAll(async () => {
    echo.stop()
    await origin.stop()
    await road.stop()
  })

  const at = () => ({ host: '127.0.0.1', port: road.port })

  async function newCustomer(...pools: string[]): Promise<Customer> {
    const { token } = await road.newCustomer(10_000n)
    for (const pool of pools) await road.post('/premium/traffic/buy', { pool_type: pool, gb: 0.1 }, { token })
    const { login, password, subuser } = (await road.get('/premium/password', { token })).data
    return { token, login, password, subuser: subuser.subuser_id }
  }

  const as = ({ login, password }: Customer, parts = '') => ({ username: `${login}${parts}`, password })

  /** Where so many connections, one after another, left from. */
  async function exitsOf(customer: Customer, parts: string, count: number): Promise<string[]> {
    const before = echo.sources.length
    for (let index = 0; index < count; index += 1) {
      const tunnel = await openTunnel(index % 2 === 0 ? 'http' : 'socks', at(), as(customer, parts), echo.spot)
      await tunnel.echo('x')
      tunnel.close()
    }
    return echo.sources.slice(before)
  }

  const exitIdOf = async (host: string) => {
    const exits = await road.services.premium.exits.list('residential', '', 500)
    const found = exits.find((exit) => exit.host === host)
    if (!found) throw new Error(`${host} is no exit`)
    return found.id
  }

  test('a rotating login leaves from many exits, and all of them are where it asks for', async () => {
    const customer = await newCustomer('residential')
    const everywhere = await exitsOf(customer, '', 40)
    expect(new Set(everywhere).size).toBeGreaterThan(10)
    const german = await exitsOf(customer, '-country-de', 40)
    expect(new Set(german).size).toBeGreaterThan(3)
    for (const exit of german) expect(exit).toStartWith('127.100.0.')
  })

  test('city, state, zip and network are honoured or refused, never ignored', async () => {
    const customer = await newCustomer('residential')
    const places = ['-city-munchen', '-state-bayern-country-de', '-zip-80331', '-city-munchen-asn-3320']
    for (const parts of places) {
      for (const exit of await exitsOf(customer, parts, 4)) expect(exit).toMatch(/^127\.100\.0\.[26]$/)
    }
    for (const exit of await exitsOf(customer, '-country-de.fr-asn-31334.12322', 8)) {
      expect(exit).toMatch(/^127\.100\.[01]\.[5-8]$/)
    }
    for (const parts of [
      '-country-us-city-munchen',
      '-asn-64512',
      '-country-de-zip-10001',
      '-pool-space',
      '-city-atlantis',
    ]) {
      expect(await attempt('http', at(), as(customer, parts), echo.spot)).toMatchObject({ code: 'no_exit' })
      expect(await attempt('socks', at(), as(customer, parts), echo.spot)).toMatchObject({ status: 4 })
    }
    for (const parts of ['-country', '-planet-mars', '-country-de-country-fr', '-ttl-5', '-session-a-ttl-0']) {
      expect(await attempt('http', at(), as(customer, parts), echo.spot)).toMatchObject({ code: 'bad_credentials' })
    }
  })

  test('a session keeps its exit across connections and protocols, and says once when it has lost it', async () => {
    const customer = await newCustomer('residential')
    const parts = '-pool-residential-session-a8f3-ttl-30'
    const first = await exitsOf(customer, parts, 6)
    expect(new Set(first).size).toBe(1)
    const others = await Promise.all(
      Array.from({ length: 12 }, (_, index) => exitsOf(customer, `-session-other${index}`, 1)),
    )
    expect(new Set(others.flat()).size).toBeGreaterThan(3)
    const [held = ''] = first
    const id = await exitIdOf(held)
    await road.services.premium.exits.drain(id, true)
    const answers: (string | undefined)[] = []
    const isLost = async () => answers.push((await attempt('http', at(), as(customer, parts), echo.spot)).code) > 0
    expect(await untilTrue(async () => (await isLost()) && answers.at(-1) === 'session_lost')).toBeTrue()
    const after = await exitsOf(customer, parts, 6)
    expect(new Set(after).size).toBe(1)
    expect(after).not.toContain(held)
    await road.services.premium.exits.drain(id, false)
  })

  test('a session that only one exit fits is told that it is lost, then that there is none, then has it back', async () => {
    const customer = await newCustomer('residential')
    const speeches = ['http', 'socks'] as const
    const parts = (speech: string) => `-country-de-city-munchen-asn-3320-session-only${speech}`
    const told = (speech: 'http' | 'socks') => attempt(speech, at(), as(customer, parts(speech)), echo.spot)
    // An earlier test has drained an exit and put it back; the gateway may not know yet that it is back.
    const isBack = async () => (await attempt('http', at(), as(customer, parts('first')), echo.spot)).status === 200
    expect(await untilTrue(isBack)).toBeTrue()
    // The destination has noticed those attempts once it has noticed a tunnel after them.
    await exitsOf(customer, parts('first'), 1)
    for (const speech of speeches) expect(await exitsOf(customer, parts(speech), 1)).toEqual(['127.100.0.2'])
    const id = await exitIdOf('127.100.0.2')
    await road.services.premium.exits.drain(id, true)
    const isHeard = async () =>
      (await attempt('http', at(), as(customer, parts('other')), echo.spot)).code === 'no_exit'
    expect(await untilTrue(isHeard)).toBeTrue()
    expect(await Promise.all(speeches.map(told))).toMatchObject([{ status: 502, code: 'session_lost' }, { status: 1 }])
    expect(await Promise.all(speeches.map(told))).toMatchObject([{ status: 502, code: 'no_exit' }, { status: 4 }])
    await road.services.premium.exits.drain(id, false)
    expect(await untilTrue(async () => (await told('http')).status === 200)).toBeTrue()
    // A tunnel may be there before its destination has noticed; one that has carried something was noticed after it.
    await exitsOf(customer, parts('http'), 1)
    expect(await exitsOf(customer, parts('socks'), 2)).toEqual(['127.100.0.2', '127.100.0.2'])
  })

  test('a pool that is named carries and pays, and one that is left out is the only one with traffic', async () => {
    const customer = await newCustomer('mobile')
    for (const exit of await exitsOf(customer, '', 3)) expect(exit).toStartWith('127.102.')
    await road.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 0.1 }, { token: customer.token })
    for (const exit of await exitsOf(customer, '-pool-datacenter', 3)) expect(exit).toStartWith('127.101.')
    const codeOf = async () => (await attempt('http', at(), as(customer), echo.spot)).code
    expect(await untilTrue(async () => (await codeOf()) === 'pool_required')).toBeTrue()
  })

  test('who has used up all is told so, and goes on the moment a purchase is answered', async () => {
    const customer = await newCustomer('datacenter')
    const proxy = `http://${customer.login}:${customer.password}@127.0.0.1:${road.port}`
    const whole = await curl('-x', proxy, '-o', '/dev/null', `${origin.url}/?bytes=110000000`)
    expect(whole.exit).toBe(18)
    expect(await curl('-x', proxy, origin.url)).toMatchObject({ status: 402, error: 'traffic_exhausted' })
    await road.post('/premium/traffic/buy', { pool_type: 'datacenter', gb: 0.1 }, { token: customer.token })
    expect(await attempt('socks', at(), as(customer), echo.spot)).toMatchObject({ status: 0 })
    origin.seen.splice(0)
  })

  test('lines of generate are used as they are written', async () => {
    const { token } = await newCustomer('residential')
    const body = { pool_type: 'residential', countries: ['NL'], quantity: 1 }
    const lineOf = async (more: object) =>
      (await road.post(generate, { ...body, ...more }, { token })).data.proxies[0] as string
    const [host, port, login, password] = (await lineOf({ format_id: 1 })).split(':')
    const first = await curl('-x', `http://${host}:${port}`, '-U', `${login}:${password}`, origin.url)
    expect(first).toMatchObject({ exit: 0, status: 200 })
    const second = await lineOf({ format_id: 2, type: 'rotating' })
    expect(await curl('-x', second, origin.url)).toMatchObject({ exit: 0, status: 200 })
    for (const protocol of ['http', 'socks5']) {
      const fourth = await lineOf({ format_id: 4, protocol })
      expect(fourth).toStartWith(`${protocol}://`)
      expect(await curl('-x', fourth, origin.url)).toMatchObject({ exit: 0, status: 200 })
    }
    for (const { from } of origin.seen.splice(0)) expect(from).toStartWith('127.100.3.')
  })

  test('a whitelisted address gets through a port of its own without a login, within 2 s of the answer of generate', async () => {
    const { token } = await newCustomer('residential')
    await road.post('/premium/whitelist/add', { ip: clientAddress }, { token })
    for (const [protocol, scheme] of [
      ['http', 'http'],
      ['socks5', 'socks5h'],
    ] as const) {
      const wish = { pool_type: 'residential', country_code: 'GB', format_id: 3, protocol, quantity: 1 }
      const { data } = await road.post(generate, wish, { token })
      const stopwatch = startStopwatch(engine)
      const line = `${scheme}://${data.proxies[0]}`
      const isThrough = async () => (await curl('-x', line, origin.url)).status === 200
      expect(await untilTrue(isThrough)).toBeTrue()
      // The gateway was woken: by itself it asks every ten seconds.
      expect(stopwatch.elapsedMs()).toBeLessThan(2000)
      const exits = [await isThrough(), await isThrough(), await isThrough()]
      expect(exits).toEqual([true, true, true])
      const seen = origin.seen.splice(0)
      expect(new Set(seen.map((each) => each.from)).size).toBe(1)
      expect(seen[0]?.from).toStartWith('127.100.2.')
      const stranger = await curl('-x', line, '--interface', '127.9.9.8', origin.url)
      expect(protocol === 'http' ? stranger.status : stranger.exit).toBe(protocol === 'http' ? 407 : 97)
    }
    const lastUse = async () => (await road.get('/premium/whitelist', { token })).data.ips[0].last_used_at
    expect(await untilTrue(async () => (await lastUse()) !== null)).toBeTrue()
  })

  test('a sub-user has no more connections at once than its limit', async () => {
    const { token } = await newCustomer('residential')
    const { data } = await road.post('/premium/subusers', { name: 'small', tunnel_limit: 2 }, { token })
    const { subuser_id: id, login } = data.subuser
    const { password } = (await road.get(`/premium/password?subuser_id=${id}`, { token })).data
    await road.post('/premium/traffic/move', { pool_type: 'residential', gb: 0.1, to_subuser_id: id }, { token })
    const small = { username: login, password }
    const open = [await openTunnel('http', at(), small, echo.spot), await openTunnel('socks', at(), small, echo.spot)]
    expect(await attempt('http', at(), small, echo.spot)).toMatchObject({ status: 429, code: 'too_many_tunnels' })
    expect(await attempt('socks', at(), small, echo.spot)).toMatchObject({ status: 1 })
    open[0]?.close()
    expect(await untilTrue(async () => (await attempt('http', at(), small, echo.spot)).status === 200)).toBeTrue()
    open[1]?.close()
  })

  test('destinations are kept for who wants that, and for nobody else', async () => {
    const customer = await newCustomer('residential')
    const { token } = customer
    const hosts = async () =>
      (await road.get('/premium/usage?by=host', { token })).data.items.map(
        (each: { key: string }) => each.key,
      ) as string[]
    const line = `http://${customer.login}:${customer.password}@127.0.0.1:${road.port}`
    expect(await curl('-x', line, `http://kept.localhost:${origin.port}/?bytes=1000`)).toMatchObject({ status: 200 })
    expect(await untilTrue(async () => (await hosts()).includes('kept.localhost'))).toBeTrue()
    await road.post('/premium/subusers/update', { subuser_id: customer.subuser, keep_hosts: false }, { token })
    expect(await hosts()).toEqual([])
    const usedBefore = (await road.get('/premium/traffic/balance?pool_type=residential', { token })).data.used_gb
    expect(await curl('-x', line, `http://unkept.localhost:${origin.port}/?bytes=2000000`)).toMatchObject({
      status: 200,
    })
    const used = async () => (await road.get('/premium/traffic/balance?pool_type=residential', { token })).data.used_gb
    expect(await untilTrue(async () => (await used()) > usedBefore + 0.001)).toBeTrue()
    expect(await hosts()).toEqual([])
  })

  test('a reset of the password closes open tunnels within 2 s, and the new one is let in', async () => {
    const customer = await newCustomer('residential')
    const tunnel = await openTunnel('socks', at(), as(customer), echo.spot)
    const stopwatch = startStopwatch(engine)
    const { password } = (await road.post('/premium/password/reset', {}, { token: customer.token })).data
    await tunnel.closedAt
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
    expect(await attempt('socks', at(), as(customer), echo.spot)).toMatchObject({ status: 254 })
    expect(await attempt('socks', at(), as({ ...customer, password }), echo.spot)).toMatchObject({ status: 0 })
  })
})
