import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Caller, createCaller } from '../harness/caller.ts'
import { makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { KeyClient, vlessHead } from '../harness/key-client.ts'
import { longTest } from '../harness/long-test.ts'
import { startEcho } from '../harness/tunnel.ts'
import {
  endStarted,
  isAlive,
  packedProgram,
  pidOf,
  type Running,
  runJson,
  runTurnpike,
  startTurnpike,
  untilTrue,
} from '../harness/turnpike.ts'

const opened = /open at (http:\/\/\S+)/
const quote = '/dedicated/quote?country_code=DE&period=30&count=1&ipv=4'
/** `turnpike up` with short pauses between restarts. */
const quickUp = [
  process.execPath,
  '--no-install',
  '--no-env-file',
  join(import.meta.dir, '../harness/quick-up-worker.ts'),
]

const tokenIn = async (running: Running) => (await running.until(/TOKEN='(tp_test_\w+)'/))[1] ?? ''
const isAbout = (event: string, part: string) => (line: string) =>
  line.includes(`"event":"${event}"`) && line.includes(`"part":"${part}"`)
const deaths = (up: Running, part: string): number => up.err().split('\n').filter(isAbout('died', part)).length
const untilDeaths = (up: Running, part: string, count: number) => untilTrue(() => deaths(up, part) >= count)

/** Another program on a port, which records every byte that it receives. */
function takePort(port: number) {
  const received: string[] = []
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port,
    socket: { data: (_, bytes) => void received.push(bytes.toString('latin1')) },
  })
  return { received, leave: () => listener.stop(true) }
}

/** Relays to PostgreSQL from an address where nothing listens until `arrive`. */
function lateDatabase(address: string) {
  const target = new URL(address)
  const late = new URL(target)
  late.hostname = '127.0.0.1'
  late.port = String(freePort())
  const arrive = () => {
    const ends = new Map<unknown, Promise<Bun.Socket>>()
    return Bun.listen({
      hostname: '127.0.0.1',
      port: Number(late.port),
      socket: {
        open(client) {
          const connected = Bun.connect({
            hostname: target.hostname,
            port: Number(target.port),
            socket: { data: (_, bytes) => void client.write(bytes), close: () => void client.end() },
          })
          ends.set(client, connected)
        },
        data: (client, bytes) => void ends.get(client)?.then((server) => server.write(Buffer.from(bytes))),
        close: (client) => void ends.get(client)?.then((server) => server.end()),
      },
    })
  }
  return { url: late.href, arrive }
}

/** Every file of a data folder and its subfolders. */
const filesOf = ({ folder }: TestDatabase): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))

/** Settings of a shop with a gateway, on ports that are free now. */
const settingsOf = (testDatabase: TestDatabase) => {
  const [port, gatewayPort, tlsPort] = [freePort(), freePort(), freePort()]
  const env = {
    TURNPIKE_DATA: testDatabase.folder,
    TURNPIKE_PORT: String(port),
    TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_LOG: 'debug',
  }
  return { port, gatewayPort, tlsPort, env }
}

describe('one turnpike up whose ports other programs hold at first', () => {
  let testDatabase: TestDatabase
  let settings: ReturnType<typeof settingsOf>
  let onPort: ReturnType<typeof takePort>
  let onGatewayPort: ReturnType<typeof takePort>
  let up: Running
  let caller: Caller
  /** The pid of the shop that a test killed. */
  let killed: number
  let postgres: TestDatabase
  let relay: ReturnType<ReturnType<typeof lateDatabase>['arrive']>

  beforeAll(async () => {
    testDatabase = await makePreparedTestDatabase('sqlite', 'stocked')
    settings = settingsOf(testDatabase)
    onPort = takePort(settings.port)
    onGatewayPort = takePort(settings.gatewayPort)
    // A dozen starts of parts, packed; the next `up` starts them from the sources.
    up = startTurnpike([], { ...settings.env, TURNPIKE_TEST_PROGRAM: packedProgram ?? '' }, quickUp)
  })
  afterAll(async () => {
    await endStarted()
    relay?.stop(true)
    await postgres?.remove()
    await testDatabase.remove()
  })

  test('up names the port in use, restarts the shop after 2 exits, and opens it once the port is free', async () => {
    expect(await untilDeaths(up, 'shop', 2)).toBe(true)
    expect(up.err()).toContain(
      `Port ${settings.port} of the shop (TURNPIKE_PORT) is in use by another program. "ss -ltnp" shows which one`,
    )
    await up.until(/"event":"started","part":"gateway"/)
    onPort.leave()
    const isReady = () =>
      fetch(`http://127.0.0.1:${settings.port}/readyz`).then(
        () => true,
        () => false,
      )
    expect(await untilTrue(isReady)).toBe(true)
  })

  test('up prints its banner only once the gateway is open; the gateway then serves a bought proxy', async () => {
    expect(await untilDeaths(up, 'gateway', deaths(up, 'gateway') + 1)).toBe(true)
    expect(up.out()).toBe('')
    onGatewayPort.leave()
    const token = await tokenIn(up)
    caller = await createCaller(`http://127.0.0.1:${settings.port}`, token)
    expect((await caller.get('/balance')).data.balance_rub).toBe(100_000)
    const bought = await caller.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
    if (bought.status !== 200) throw new Error(`the purchase was refused: ${JSON.stringify(bought.error)}`)
    const [proxy] = bought.data.proxies
    const response = await fetch(`http://127.0.0.1:${settings.port}/healthz`, {
      proxy: `http://${proxy.username}:${proxy.password}@${proxy.ip}:${proxy.port}`,
    })
    expect(response.status).toBe(200)
  })

  test('a VPN that a sandbox sells connects over TLS at once, by the keys, port and pin of its link', async () => {
    const { data, text: answered } = await caller.post('/vpn/buy', { period: 1 })
    expect([data.node, answered.includes('"warnings"')]).toEqual(['online', false])
    const readLink = async () => {
      const text = await (await fetch(`${data.subscription_url}?format=base64`)).text()
      return new URL(Buffer.from(text, 'base64').toString().split('\n')[0] || 'about:blank')
    }
    // The sandbox sells WireGuard before the first report of its gateway.
    expect(await untilTrue(async () => (await readLink()).protocol === 'vless:')).toBe(true)
    const link = await readLink()
    const cert = readFileSync(join(testDatabase.folder, 'gateway', 'sandbox-tls', 'certificate.pem'), 'utf8')
    const pin = new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase()
    expect([link.hostname, Number(link.port)]).toEqual(['localhost', settings.tlsPort])
    expect([link.searchParams.get('pcs'), link.searchParams.get('sni')]).toEqual([pin, 'localhost'])
    const echo = startEcho()
    const device = { id: data.device, uuid: link.username, password: '' }
    const carries = async (): Promise<boolean> => {
      const client = await KeyClient.open(settings.tlsPort, { cert }, vlessHead(device, echo.spot, 'tcp'))
      client.send('hello')
      const read = await client.readText(5)
      client.close()
      return read === 'hello'
    }
    expect(await untilTrue(carries)).toBe(true)
    echo.stop()
    // The gateway answers there as any site does: doctor knows it by its certificate.
    const { json } = await runJson(['doctor'], settings.env)
    const { advice } = json as { advice: { of: string; reason: string }[] }
    expect(advice.find(({ of }) => of.includes(String(settings.tlsPort)))?.reason).toBe('port_ours')
  })

  test('a second up on the same data folder exits 2, and the first keeps selling', async () => {
    const second = await runTurnpike(['up'], settingsOf(testDatabase).env)
    expect([second.exit, second.out]).toEqual([2, ''])
    expect(second.err).toContain('Another Turnpike is open on')
    expect((await caller.get(quote)).data.available).toBeGreaterThan(0)
  })

  test('up sends no byte to another program that takes the port of a killed shop', async () => {
    const before = deaths(up, 'shop')
    // The supervisor is stopped until the port is bound, so that it cannot start the shop first.
    up.kill('SIGSTOP')
    killed = pidOf(up, 'shop')
    process.kill(killed, 'SIGKILL')
    const taken: { by?: ReturnType<typeof takePort> } = {}
    const isTaken = () => {
      try {
        taken.by = takePort(settings.port)
        return true
      } catch {
        return false
      }
    }
    expect(await untilTrue(isTaken)).toBe(true)
    up.kill('SIGCONT')
    expect(await untilDeaths(up, 'shop', before + 2)).toBe(true)
    taken.by?.leave()
    await up.until(/"event":"open again","part":"shop"/)
    expect([onPort, onGatewayPort, taken.by].map((each) => each?.received)).toEqual([[], [], []])
  })

  test('the supervisor restarts a killed shop on the same port, and SIGTERM stops shop and gateway', async () => {
    const isHealthy = () =>
      fetch(`http://127.0.0.1:${settings.port}/healthz`).then(
        (answer) => answer.ok,
        () => false,
      )
    expect(await untilTrue(isHealthy)).toBe(true)
    const [shop, gateway] = [pidOf(up, 'shop'), pidOf(up, 'gateway')]
    expect([shop === killed, isAlive(shop), isAlive(gateway)]).toEqual([false, true, true])
    up.kill('SIGTERM')
    expect(await up.exited).toBe(0)
    expect([isAlive(shop), isAlive(gateway)]).toEqual([false, false])
  })

  test('up opens once its PostgreSQL can be reached, and its gateway joins that database', async () => {
    postgres = await makePreparedTestDatabase('postgres', 'stocked')
    // The next test checks that up restores these modes.
    chmodSync(testDatabase.folder, 0o777)
    for (const path of filesOf(testDatabase)) chmodSync(path, 0o666)
    const database = lateDatabase(postgres.address)
    up = startTurnpike([], { ...settings.env, TURNPIKE_DATABASE_URL: database.url }, quickUp)
    expect(await untilDeaths(up, 'shop', 1)).toBe(true)
    expect(up.err()).toContain('The database cannot be reached')
    expect(up.out()).toBe('')
    relay = database.arrive()
    caller = await createCaller(`http://127.0.0.1:${settings.port}`, await tokenIn(up))
    expect(await untilTrue(async () => (await caller.get(quote)).data?.available > 0)).toBe(true)
  })

  longTest('up gives every file of the data folder mode 0600, whatever modes they had', () => {
    // up does not open the SQLite file here: `sqlite.test.ts` checks its mode.
    const files = filesOf(testDatabase).filter((path) => !path.includes('turnpike.db'))
    expect(files.map((path) => basename(path))).toEqual(expect.arrayContaining(['secret.key', 'node.json']))
    expect(files.filter((path) => (statSync(path).mode & 0o777) !== 0o600)).toEqual([])
  })

  test('a killed supervisor leaves no shop and no gateway behind', async () => {
    const [shop, gateway] = [pidOf(up, 'shop'), pidOf(up, 'gateway')]
    expect([isAlive(shop), isAlive(gateway)]).toEqual([true, true])
    process.kill(up.pid, 'SIGKILL')
    expect(await untilTrue(() => !isAlive(shop) && !isAlive(gateway))).toBe(true)
    expect(await up.exited).not.toBe(0)
  })
})

describe('a start that fails', () => {
  let testDatabase: TestDatabase
  beforeAll(async () => {
    testDatabase = await makePreparedTestDatabase('sqlite', 'stocked')
  })
  afterAll(async () => {
    await endStarted()
    await testDatabase.remove()
  })

  test('a start that fails after creating the sandbox token leaves it for the next start to print', async () => {
    const { port, env } = settingsOf(testDatabase)
    const onPort = takePort(port)
    const failed = await runTurnpike(['shop'], env)
    expect([failed.exit, failed.out]).toEqual([1, ''])
    onPort.leave()
    const shop = startTurnpike(['shop'], env)
    const token = await tokenIn(shop)
    const caller = await createCaller(`http://127.0.0.1:${port}`, token)
    expect((await caller.get('/balance')).data.balance_rub).toBe(100_000)
    shop.kill('SIGTERM')
    await shop.exited
    expect(existsSync(`${testDatabase.folder}/sandbox-token`)).toBe(false)
    const again = startTurnpike(['shop'], env)
    await again.until(opened)
    expect(again.out()).not.toContain('tp_test_')
    expect(shop.err() + failed.err).not.toContain(token)
    await endStarted()
  })

  longTest('up exits 2 and closes the shop when the gateway cannot use a setting', async () => {
    const { env } = settingsOf(testDatabase)
    const ended = await runTurnpike(['up'], { ...env, TURNPIKE_GATEWAY_LISTEN: '203.0.113.9' })
    expect([ended.exit, ended.out]).toEqual([2, ''])
    expect(ended.err).toContain('203.0.113.9 is not an address of this machine.')
    expect(ended.err).toContain('shop closed')
  })
})
