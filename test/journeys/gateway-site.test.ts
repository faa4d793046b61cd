import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { readPrefix } from '../../src/core/address.ts'
import { createCaller } from '../harness/caller.ts'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import { enginesOf, makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import {
  type BoughtProxy,
  endIn,
  freePort,
  openShopWithGateway,
  type ShopWithGateway,
  startOrigin,
} from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { scaled } from '../harness/scale.ts'
import { addUsers, type User } from '../harness/traffic.ts'
import { endStarted, runCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'

type Login = { readonly username: string; readonly password: string }

let made: Made
let files: ReturnType<typeof putCertificate>
let origin: ReturnType<typeof startOrigin>
beforeAll(async () => {
  made = await makeCertificate('site')
  files = putCertificate(made)
  origin = startOrigin()
})
afterAll(async () => {
  await origin.stop()
  files.remove()
})

const siteEnv = (tlsPort: number) => ({
  ...files.env,
  TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
  TURNPIKE_GATEWAY_SITE: 'builtin',
})

/** Opens a TLS connection first, so that a CONNECT with the credentials leaves within a millisecond of the purchase. */
async function openLine(tlsPort: number): Promise<TLSSocket> {
  const line = connect({ host: '127.0.0.1', port: tlsPort, ca: made.cert, checkServerIdentity: () => undefined })
  await once(line, 'secureConnect')
  return line
}

type Answer = { readonly status: number; readonly error: string | undefined }

const basicOf = ({ username, password }: Login): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** The answer to a CONNECT on an open line, which stays open. */
async function connectOn(line: Socket, login: Login): Promise<Answer> {
  const { host } = new URL(origin.url)
  line.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: ${basicOf(login)}\r\n\r\n`)
  const [bytes] = (await once(line, 'data')) as [Buffer]
  const head = bytes.toString('latin1')
  return { status: Number(head.split(' ')[1]), error: /^x-turnpike-error: (\S+)/im.exec(head)?.[1] }
}

async function answerOn(line: Socket, login: Login): Promise<Answer> {
  const answer = await connectOn(line, login)
  line.destroy()
  return answer
}

const statusOn = async (line: TLSSocket, login: Login): Promise<number> => (await answerOn(line, login)).status

/** The answer to a CONNECT over HTTP/2. */
async function answerOverHttp2(tlsPort: number, login: Login): Promise<Answer> {
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca: made.cert, checkServerIdentity: () => undefined })
  const { host } = new URL(origin.url)
  const fields = { ':method': 'CONNECT', ':authority': host, 'proxy-authorization': basicOf(login) }
  const [answer] = (await once(session.request(fields), 'response')) as [Record<string, unknown>]
  session.destroy()
  const error = answer['x-turnpike-error']
  return { status: Number(answer[':status']), error: typeof error === 'string' ? error : undefined }
}

describe.each([...enginesOf('sqlite')])('a gateway with a site, on %s', (engine) => {
  const tlsPort = freePort()
  let shop: ShopWithGateway
  beforeAll(async () => {
    shop = await openShopWithGateway(engine, { gateway: siteEnv(tlsPort) })
  })
  afterAll(() => shop.stop())

  test('each bought proxy works at its first use, and so does each new sub-user', async () => {
    for (let count = 0; count < scaled(20); count += 1) {
      const line = await openLine(tlsPort)
      const [proxy] = (await shop.buyProxies()) as [BoughtProxy]
      expect(await statusOn(line, proxy)).toBe(200)
    }
    for (let count = 0; count < 3; count += 1) {
      const line = await openLine(tlsPort)
      const [user] = (await addUsers(shop, 1, 1)) as [User]
      expect(await statusOn(line, user)).toBe(200)
    }
  })

  test('ten proxies bought at the same time work at their first use', async () => {
    const buyAndUse = async () => {
      const line = await openLine(tlsPort)
      const [proxy] = (await shop.buyProxies()) as [BoughtProxy]
      return statusOn(line, proxy)
    }
    expect(await Promise.all(Array.from({ length: 10 }, buyAndUse))).toEqual(Array.from({ length: 10 }, () => 200))
  })

  test.each(['HTTP/1.1', 'HTTP/2'])(
    'over TLS with %s an expired proxy, an ended one and a sub-user without traffic get the refusals of the plain port',
    async (protocol) => {
      const askTls = async (login: Login) =>
        protocol === 'HTTP/2' ? answerOverHttp2(tlsPort, login) : answerOn(await openLine(tlsPort), login)
      const askPlain = (login: Login) => answerOn(connectPlain(shop.port, '127.0.0.1'), login)
      const dayMs = 86_400_000
      for (const agoMs of [1000, 29 * dayMs]) {
        const [proxy] = (await shop.buyProxies()) as [BoughtProxy]
        const tunnel = await openLine(tlsPort)
        expect((await connectOn(tunnel, proxy)).status).toBe(200)
        const isCut = new Promise((resolve) =>
          tunnel
            .on('error', () => {})
            .on('close', resolve)
            .resume(),
        )
        await endIn(shop, proxy, -agoMs)
        // The gateway knows of the end then.
        await isCut
        expect(await askTls(proxy)).toEqual({ status: 402, error: 'expired' })
        expect(await askPlain(proxy)).toEqual({ status: 402, error: 'expired' })
        expect(await askTls({ ...proxy, password: 'wrong' })).toEqual({ status: 405, error: undefined })
      }
      const [user] = (await addUsers(shop, 1, 0)) as [User]
      expect(await askTls(user)).toEqual({ status: 402, error: 'traffic_exhausted' })
      expect(await askPlain(user)).toEqual({ status: 402, error: 'traffic_exhausted' })
    },
  )

  test('a wrong part of a login is named over TLS with the right password, and a site is shown with a wrong one', async () => {
    const [user] = (await addUsers(shop, 1, 0)) as [User]
    const malformed = { username: `${user.login}-country-usa`, password: user.password }
    const named = { status: 403, error: 'login_country' }
    expect(await answerOn(connectPlain(shop.port, '127.0.0.1'), malformed)).toEqual(named)
    expect(await answerOn(await openLine(tlsPort), malformed)).toEqual(named)
    expect(await answerOverHttp2(tlsPort, malformed)).toEqual(named)
    const wrong = { ...malformed, password: 'wrong' }
    expect(await answerOn(await openLine(tlsPort), wrong)).toEqual({ status: 405, error: undefined })
    expect(await answerOverHttp2(tlsPort, wrong)).toEqual({ status: 405, error: undefined })
  })

  test('purchases are answered while the gateway is stopped', async () => {
    await shop.stopGateway()
    expect((await shop.post('/premium/subusers', {})).status).toBe(200)
  })
})

describe.each([...enginesOf('sqlite')])('a gateway with a challenge host and one without, on %s', (engine) => {
  const [tlsPort, otherTlsPort] = [freePort(), freePort()]
  let shop: ShopWithGateway
  let other: GatewayProcess
  beforeAll(async () => {
    const gateway = { ...siteEnv(tlsPort), TURNPIKE_GATEWAY_CHALLENGE_HOST: 'localhost' }
    shop = await openShopWithGateway(engine, { gateway })
    other = await makeGatewayProcess(shop, freePort(), siteEnv(otherTlsPort))
    await other.start()
    const { fleet, stock } = shop.services
    const first = `gateway-${shop.port}`
    for (const [range, name] of [
      ['127.10.0.0/22', first],
      ['127.11.0.0/22', other.name],
    ] as const) {
      const [prefix, node] = [readPrefix(range), await fleet.findByName(name)]
      if (!prefix || !node) throw new Error(`no range ${range} or no node ${name}`)
      await stock.ranges.assign(prefix, [node.id])
    }
    // A gateway on another machine than the shop names only hosts at or below its endpoint.
    await fleet.setEndpoint(first, { host: 'localhost', port: shop.port })
  })
  afterAll(async () => {
    await other.kill()
    other.remove()
    await shop.stop()
  })

  const tlsFieldsOf = ({ https_host, https_port, browser_host }: Record<string, unknown>) => ({
    https_host,
    https_port,
    browser_host,
  })
  const buyIn = async (country_code: string) => {
    const bought: { id: number }[] = []
    const buys = async () => {
      bought.push(...(await shop.buyProxies({ country_code }).catch(() => [])))
      return bought.length > 0
    }
    expect(await untilTrue(buys)).toBeTrue()
    return async () => {
      const { proxies } = (await shop.get('/dedicated/list')).data
      return tlsFieldsOf(proxies.find((each: { id: number }) => each.id === bought[0]?.id))
    }
  }

  test('the list, the CSV export and generated lines name the challenge host for browsers, and null without one', async () => {
    const [listed, listedOther] = [await buyIn('DE'), await buyIn('FR')]
    expect(await untilTrue(async () => (await listed()).browser_host !== null)).toBeTrue()
    expect(await listed()).toEqual({ https_host: '127.0.0.1', https_port: tlsPort, browser_host: 'localhost' })
    expect(await untilTrue(async () => (await listedOther()).https_port !== null)).toBeTrue()
    expect(await listedOther()).toEqual({ https_host: '127.0.0.1', https_port: otherTlsPort, browser_host: null })

    const headers = { Authorization: `Bearer ${shop.token}` }
    const csv = await (await fetch(`${shop.url}/api/v1/dedicated/export?format=csv`, { headers })).text()
    const ends = csv.split('\r\n').map((line) => line.split(',').slice(-3).join(','))
    expect(ends).toContainValues([
      'https_host,https_port,browser_host',
      `127.0.0.1,${tlsPort},localhost`,
      `127.0.0.1,${otherTlsPort},`,
    ])

    const generated = async (protocol: string) =>
      (await shop.post('/premium/proxies/generate', { pool_type: 'residential', protocol, format_id: 4 })).data
    await shop.buyTraffic(0.1)
    expect((await generated('http')).browser_host).toBeNull()
    const { proxies, browser_host } = await generated('https')
    expect([new URL(proxies[0]).port, browser_host]).toEqual([String(tlsPort), 'localhost'])
  })

  test('a client that resumes a TLS 1.2 session of the other name gets the 404 of the site or the 407 of the name that it asks for', async () => {
    const ask = async (servername: string, session?: Buffer) => {
      const line = connect({
        host: '127.0.0.1',
        port: tlsPort,
        rejectUnauthorized: false,
        maxVersion: 'TLSv1.2',
        servername,
        ...(session && { session }),
      })
      const given = session ? [session] : once(line, 'session')
      line.write(`GET ${origin.url}/ HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      const [bytes] = (await once(line, 'data')) as [Buffer]
      line.destroy()
      return { status: Number(bytes.toString('latin1').split(' ')[1]), session: (await given)[0] as Buffer }
    }
    const [site, proxy] = [await ask('site.test'), await ask('localhost')]
    expect([site.status, proxy.status]).toEqual([404, 407])
    expect((await ask('site.test', proxy.session)).status).toBe(404)
    expect((await ask('localhost', site.session)).status).toBe(407)
  })

  test('the TLS host is also the one for browsers with TURNPIKE_GATEWAY_SITE=off', async () => {
    const listed = await buyIn('FR')
    await other.takeOver(undefined, { TURNPIKE_GATEWAY_SITE: 'off' })
    expect(await untilTrue(async () => (await listed()).browser_host !== null)).toBeTrue()
    expect(await listed()).toMatchObject({ https_host: '127.0.0.1', browser_host: '127.0.0.1' })
  })
})

describe('a gateway with a site and two shops on postgres', () => {
  const token = 'sandbox-token-of-a-site'
  const [tlsPort, gatewayPort] = [freePort(), freePort()]
  let testDatabase: TestDatabase
  let ports: number[]
  beforeAll(async () => {
    testDatabase = await makePreparedTestDatabase('postgres', 'stocked')
    ports = [freePort(), freePort()]
    const shared = {
      TURNPIKE_DATABASE_URL: testDatabase.address,
      TURNPIKE_SECRET_KEY: '12'.repeat(32),
      TURNPIKE_SANDBOX_TOKEN: token,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    }
    for (const [index, port] of ports.entries()) {
      const env = { ...shared, TURNPIKE_DATA: `${testDatabase.folder}/shop-${index}`, TURNPIKE_PORT: String(port) }
      await startTurnpike(['shop'], env).until(/open at/)
    }
    const first = { ...shared, TURNPIKE_DATA: `${testDatabase.folder}/shop-0` }
    const added = await runCommand(['node', 'add', 'gw', '--location', 'test', '--json'], first)
    const gateway = startTurnpike(['gateway'], {
      TURNPIKE_DATA: `${testDatabase.folder}/gateway`,
      TURNPIKE_SHOP_URL: `http://127.0.0.1:${ports[0]}`,
      TURNPIKE_NODE_KEY: JSON.parse(added.out).key,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
      ...siteEnv(tlsPort),
    })
    await gateway.until(/gateway open/)
  })
  afterAll(async () => {
    await endStarted()
    await testDatabase.remove()
  })

  test('a proxy bought at the other shop works at its first use', async () => {
    const caller = await createCaller(`http://127.0.0.1:${ports[1]}`, token)
    for (let count = 0; count < scaled(5); count += 1) {
      const line = await openLine(tlsPort)
      const bought = await caller.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
      expect(await statusOn(line, bought.data.proxies[0])).toBe(200)
    }
  })
})
