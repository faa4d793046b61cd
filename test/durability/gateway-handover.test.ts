import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { realRuntime } from '../../src/app/shop/services.ts'
import { accepts } from '../harness/accepts.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { engines } from '../harness/database.ts'
import { gatewayEngine } from '../harness/engine.ts'
import { type BoughtProxy, buyWhenSold, freePort, somePorts, startOrigin } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { keepTrying, pace } from '../harness/keep-trying.ts'
import { longTest } from '../harness/long-test.ts'
import { isLong, scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { openServiceManager } from '../harness/service-manager.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import {
  attempt,
  type Login,
  openTunnel,
  type ProxyProtocol,
  type Spot,
  startEcho,
  type Tunnel,
} from '../harness/tunnel.ts'
import { runJson, runTurnpike, testDatabaseEnv, turnpikeProgram, untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

/** Each relay engine on one database, and on both in a long run. */
const databases = isLong ? engines : [gatewayEngine === 'linux' ? ('postgres' as const) : ('sqlite' as const)]
/** 500 in a long run. */
const tunnelCount = scaled(500)
/** Small, so that a draining process must request more leases many times. */
const leaseBytes = 65_536
const payload = 'x'.repeat(700)
/** The number of loops that send through the tunnels, and of those that connect. */
const [senderCount, connectorCount] = isLong ? [2, 4] : [1, 2]
/** To the other engine and back in a long run; otherwise the next takeover returns from it. */
const otherEngine = gatewayEngine === 'linux' ? 'portable' : 'linux'
const takeovers = isLong ? [otherEngine, gatewayEngine] : [otherEngine]

/** A customer's access: protocol, address and login, and the bytes of its tunnels. */
type Access = {
  readonly name: string
  readonly protocol: ProxyProtocol
  readonly at: Spot
  readonly login: Login
  readonly used: () => Promise<number>
  relayed: number
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.each(databases)('takeover of a running gateway, on %s', (engine) => {
  let service: Service
  let gateway: GatewayProcess
  let systemd: ReturnType<typeof openServiceManager>
  let reading: Timer
  const notices: string[] = []
  const metricsPort = freePort()
  let port = 0
  let accesses: Access[] = []
  /** The process that `gateway reload` started, which is not a child of this one. */
  let reloaded: number | undefined
  const echo = startEcho()
  const origin = startOrigin()

  beforeAll(async () => {
    port = freePort()
    const shop = {
      TURNPIKE_GATEWAY_PORT: String(port),
      TURNPIKE_PREMIUM_PORTS: somePorts(),
      TURNPIKE_PREMIUM_LEASE_BYTES: String(leaseBytes),
    }
    service = await startService(engine, shop, realRuntime, false)
    const notify = `@turnpike-handover-${port}`
    systemd = openServiceManager(notify)
    // Reads the notices of all processes, so that the socket's buffer does not fill up.
    reading = setInterval(() => notices.push(...systemd.receiveAll()), 20)
    gateway = await makeGatewayProcess(service, port, {
      NOTIFY_SOCKET: notify,
      // A gateway serves its metrics one port above the shop's.
      TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort - 1}`,
      TURNPIKE_GATEWAY_NEW: '100000',
      TURNPIKE_GATEWAY_TUNNELS: '100000',
    })
    await gateway.start()
    accesses = [...(await dedicatedAccesses()), ...(await premiumAccesses())]
  })
  afterAll(async () => {
    if (reloaded !== undefined && isAlive(reloaded)) process.kill(reloaded, 'SIGKILL')
    await gateway.kill()
    gateway.remove()
    clearInterval(reading)
    systemd.close()
    echo.stop()
    await origin.stop()
    await service.stop()
  })

  const main = (): Spot => ({ host: '127.0.0.1', port })

  async function relayedBy(proxy: BoughtProxy): Promise<number> {
    const totals = await service.services.traffic.counts.totals(service.services.db, [`proxy:${proxy.id}`])
    const { received = 0n, sent = 0n } = totals.get(`proxy:${proxy.id}`) ?? {}
    return Number(received + sent)
  }

  async function dedicatedAccesses(): Promise<Access[]> {
    const [http, socks] = [await buyWhenSold(service), await buyWhenSold(service)]
    await service.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' })
    const access = (protocol: ProxyProtocol, login: BoughtProxy): Access => ({
      name: `dedicated over ${protocol}`,
      protocol,
      at: main(),
      login,
      used: () => relayedBy(login),
      relayed: 0,
    })
    return [access('http', http), access('socks', socks)]
  }

  async function premiumAccesses(): Promise<Access[]> {
    const users = await addUsers({ ...service, port }, 3, 1)
    const [first, second, third] = users as [User, User, User]
    await service.post('/premium/whitelist/add', { ip: '127.0.0.1', subuser_id: third.subuser })
    const order = { pool_type: 'residential', format_id: 3, protocol: 'http', quantity: 1, subuser_id: third.subuser }
    const { data } = await service.post('/premium/proxies/generate', order)
    const own = Number(String(data.proxies[0]).split(':').at(-1))
    const access = (name: string, protocol: ProxyProtocol, at: Spot, user: User, login: Login): Access => ({
      name,
      protocol,
      at,
      login,
      used: () => usedBy(service, user.subuser),
      relayed: 0,
    })
    const whitelisted = { host: '127.0.0.1', port: own }
    const open = async () =>
      (await attempt('http', whitelisted, undefined, echo.spot).catch(() => undefined))?.status === 200
    expect(await untilTrue(open)).toBeTrue()
    return [
      access('premium over http', 'http', main(), first, first),
      access('premium over socks', 'socks', main(), second, second),
      access('premium at a port of its own', 'http', whitelisted, third, undefined),
    ]
  }

  async function openMany(count: number): Promise<{ access: Access; tunnel: Tunnel }[]> {
    const opened: { access: Access; tunnel: Tunnel }[] = []
    for (let index = 0; index < count; index += 25) {
      const some = Array.from({ length: Math.min(25, count - index) }, async (_, at) => {
        const access = accesses[(index + at) % accesses.length] as Access
        return { access, tunnel: await openTunnel(access.protocol, access.at, access.login, echo.spot) }
      })
      opened.push(...(await Promise.all(some)))
    }
    return opened
  }

  /**
   * Sends through every tunnel in turn, until stopped and at least three times each, with a pause after each turn.
   * Returns a function that stops it and returns the number of broken tunnels.
   */
  function sendThrough(tunnels: readonly { access: Access; tunnel: Tunnel }[]) {
    const state = { isOver: false }
    const lane = async (share: readonly { access: Access; tunnel: Tunnel }[]): Promise<number> => {
      const whole = new Set(share)
      for (let round = 0; whole.size > 0 && (!state.isOver || round < 3); round += 1) {
        for (const each of whole) {
          const answer = await each.tunnel.echo(payload).catch(() => undefined)
          if (answer === payload) each.access.relayed += 2 * payload.length
          else whole.delete(each)
        }
        await pace()
      }
      return share.length - whole.size
    }
    const shares = Array.from({ length: senderCount }, (_, at) =>
      tunnels.filter((__, index) => index % senderCount === at),
    )
    const lanes = Promise.all(shares.map(lane))
    return async (): Promise<number> => {
      state.isOver = true
      return (await lanes).reduce((sum, each) => sum + each, 0)
    }
  }

  /** Opens connections one after another, by every access, until stopped. */
  const keepConnecting = (lanes: number) =>
    keepTrying(lanes, async (turn) => {
      const access = accesses[turn % accesses.length] as Access
      const { status } = await attempt(access.protocol, access.at, access.login, echo.spot).catch((error: unknown) => ({
        status: String(error),
      }))
      return status === (access.protocol === 'http' ? 200 : 0) ? undefined : `${access.name}: ${status}`
    })

  test(`a takeover closes none of ${tunnelCount} tunnels, refuses no new connection, and bills every byte once`, async () => {
    const tunnels = await openMany(tunnelCount)
    const stopSending = sendThrough(tunnels)
    const connecting = keepConnecting(connectorCount)
    await connecting.served(20)
    const before = await gateway.takeOver()
    await connecting.served(40)
    expect(await connecting.end()).toEqual([])
    // The new process accepts new connections; the previous one keeps its tunnels.
    const late = await openMany(accesses.length)
    expect(await Promise.race([before.ended, Promise.resolve('serves')])).toBe('serves')
    const stopLateSending = sendThrough(late)
    expect(await stopSending()).toBe(0)
    expect(await stopLateSending()).toBe(0)
    for (const { tunnel } of tunnels) tunnel.close()
    expect(await before.ended).toBe(0)
    for (const { tunnel } of late) tunnel.close()
    for (const access of accesses) {
      expect(await untilTrue(async () => (await access.used()) >= access.relayed)).toBeTrue()
      expect({ access: access.name, used: await access.used() }).toEqual({ access: access.name, used: access.relayed })
    }
    expect(await service.services.traffic.leases.quarantined(100)).toEqual([])
    if (isLong) expect(await findingsOf(service.services)).toEqual([])
  })

  test(`each of ${takeovers.length} takeovers by the other engine relays its own tunnels until they close`, async () => {
    const generations = [await openMany(accesses.length)]
    const ends: Promise<number>[] = []
    for (const engineOfNext of takeovers) {
      ends.push((await gateway.takeOver(engineOfNext)).ended)
      generations.push(await openMany(accesses.length))
    }
    expect(await sendThrough(generations.flat())()).toBe(0)
    const last = generations.at(-1) ?? []
    for (const { tunnel } of generations.slice(0, -1).flat()) tunnel.close()
    expect(await Promise.all(ends)).toEqual(ends.map(() => 0))
    expect(await sendThrough(last)()).toBe(0)
    for (const { tunnel } of last) tunnel.close()
    for (const access of accesses)
      expect(await untilTrue(async () => (await access.used()) === access.relayed)).toBeTrue()
    if (isLong) expect(await findingsOf(service.services)).toEqual([])
  })

  test('a draining process cuts a blocked customer within 2 s and closes an idle connection after its next answer', async () => {
    const { customer, token } = await service.newCustomer(10_000n)
    const tunnel = await openTunnel('http', main(), await buyWhenSold(service, 'http', { token }), echo.spot)
    const resting = await openResting(await buyWhenSold(service))
    const before = await gateway.takeOver()
    expect(await tunnel.echo(payload)).toBe(payload)
    expect(resting.isClosed()).toBeFalse()
    const stopwatch = startStopwatch(engine)
    await service.services.setBlocked(customer, true)
    await tunnel.closedAt
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
    resting.ask()
    expect(await untilTrue(() => resting.answers() === 2 && resting.isClosed())).toBeTrue()
    expect(resting.received().toLowerCase()).toContain('connection: close')
    expect(await before.ended).toBe(0)
  })

  /** A keep-alive connection that has had one answer. */
  async function openResting({ username, password }: BoughtProxy) {
    const basic = Buffer.from(`${username}:${password}`).toString('base64')
    const request = `GET ${origin.url} HTTP/1.1\r\nHost: origin\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`
    let received = ''
    let isClosed = false
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: { data: (_, bytes) => void (received += bytes.toString()), close: () => void (isClosed = true) },
    })
    const answers = () => received.split('HTTP/1.1 200').length - 1
    const ask = () => void socket.write(request)
    ask()
    expect(await untilTrue(() => answers() === 1)).toBeTrue()
    expect(received.toLowerCase()).not.toContain('connection: close')
    return { ask, answers, received: () => received, isClosed: () => isClosed }
  }

  test('a takeover reports the new MAINPID to systemd, and SIGTERM to the draining process sends no STOPPING=1', async () => {
    const [access] = accesses as [Access]
    const tunnel = await openTunnel(access.protocol, access.at, access.login, echo.spot)
    const before = await gateway.takeOver()
    expect(await untilTrue(() => notices.includes(`MAINPID=${before.pid}`))).toBeTrue()
    gateway.killDraining('SIGTERM')
    // A stop gives an open tunnel 4 s.
    if (!isLong) tunnel.close()
    expect(await before.ended).toBe(0)
    await tunnel.closedAt
    expect([...notices, ...systemd.receiveAll()]).not.toContain('STOPPING=1')
  })

  test('SIGKILL of the draining process closes only its own tunnels, and its bytes stay billed', async () => {
    const [user] = (await addUsers({ ...service, port }, 1, 1)) as [User]
    const tunnel = await openTunnel('http', main(), user, echo.spot)
    const before = await gateway.takeOver()
    for (let round = 0; round < 20; round += 1) await tunnel.echo(payload)
    const relayed = 20 * 2 * payload.length
    expect(await untilTrue(async () => (await usedBy(service, user.subuser)) === relayed)).toBeTrue()
    gateway.killDraining()
    expect(await before.ended).not.toBe(0)
    const fresh = await openTunnel('http', main(), user, echo.spot)
    expect(await fresh.echo(payload)).toBe(payload)
    fresh.close()
    const all = relayed + 2 * payload.length
    expect(await untilTrue(async () => (await usedBy(service, user.subuser)) === all)).toBeTrue()
    expect(await findingsOf(service.services)).toEqual([])
  })

  longTest(
    'node list and the metrics count the tunnels of both processes of a takeover, and its relayed bytes never fall',
    async () => {
      const [access] = accesses as [Access]
      const env = testDatabaseEnv(service.testDatabase)
      const listed = async (): Promise<{ tunnels: number; carried_bytes: number }> =>
        (await runJson(['node', 'list'], env)).json.items.find((each: { name: string }) => each.name === gateway.name)
      const open = () => openTunnel(access.protocol, access.at, access.login, echo.spot)
      const shows = (tunnels: number, bytes: number) =>
        untilTrue(async () => {
          const now = await listed()
          return now.tunnels === tunnels && now.carried_bytes === bytes && (await scrapedTunnels()) === tunnels
        })
      const scrapedTunnels = async (): Promise<number> => {
        const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`).catch(() => undefined)
        return Number(/^turnpike_tunnels (\d+)$/m.exec((await answer?.text()) ?? '')?.[1])
      }
      expect(await untilTrue(async () => (await listed()).tunnels === 0)).toBeTrue()
      let expected = (await listed()).carried_bytes
      const sendBy = async (tunnel: Tunnel): Promise<void> => {
        expect(await tunnel.echo(payload)).toBe(payload)
        expected += 2 * payload.length
      }
      const first = await open()
      await sendBy(first)
      const before = await gateway.takeOver()
      const second = await open()
      await sendBy(first)
      await sendBy(second)
      expect(await shows(2, expected)).toBeTrue()
      await sendBy(first)
      first.close()
      expect(await before.ended).toBe(0)
      expect(await shows(1, expected)).toBeTrue()
      await sendBy(second)
      second.close()
      expect(await shows(0, expected)).toBeTrue()
      await gateway.stop()
      await gateway.start()
      const third = await open()
      await sendBy(third)
      expect(await shows(1, expected)).toBeTrue()
      third.close()
      expect(await shows(0, expected)).toBeTrue()
    },
  )

  test('a gateway keeps serving when a takeover is refused, and the command prints the reason', async () => {
    const elsewhere = { ...gateway.env, TURNPIKE_GATEWAY_PORT: String(freePort()) }
    const { exit, err } = await runTurnpike(['gateway', '--take-over'], elsewhere)
    expect({ exit, isExplained: err.includes('the settings name another address. It needs a restart') }).toEqual({
      exit: 1,
      isExplained: true,
    })
    const missing = await runTurnpike(['gateway', 'reload'], {
      ...gateway.env,
      TURNPIKE_DATA: service.testDatabase.folder,
    })
    expect([missing.exit, missing.err]).toEqual([
      1,
      expect.stringMatching(/^turnpike: No gateway runs on .*\. Start one/),
    ])
    const { NOTIFY_SOCKET: _, ...byHand } = gateway.env
    const unknown = await runTurnpike(['gateway', 'reload'], byHand)
    expect({ exit: unknown.exit, isExplained: unknown.err.includes('systemctl reload turnpike-gateway') }).toEqual({
      exit: 1,
      isExplained: true,
    })
    const [access] = accesses as [Access]
    expect(await attempt(access.protocol, access.at, access.login, echo.spot)).toMatchObject({ status: 200 })
  })

  longTest(
    'a gateway keeps serving when the TLS port of a takeover cannot be opened, and the command names the port',
    async () => {
      const other = Bun.listen({ hostname: '::', port: 0, socket: { data() {} } })
      const certificate = putCertificate(await makeCertificate('localhost'))
      const withTls = { ...gateway.env, ...certificate.env, TURNPIKE_GATEWAY_TLS_PORT: String(other.port) }
      const { exit, err } = await runTurnpike(['gateway', '--take-over'], withTls)
      other.stop(true)
      certificate.remove()
      expect(exit).toBe(1)
      expect(err).toContain(`Port ${other.port} of the gateway over TLS (TURNPIKE_GATEWAY_TLS_PORT) is in use`)
      const [access] = accesses as [Access]
      expect(await attempt(access.protocol, access.at, access.login, echo.spot)).toMatchObject({ status: 200 })
      expect(await gateway.serving()).toBe(gateway.pid)
    },
  )

  // The new process waits 5 s for the shop; the wait itself is tested in handover.test.ts.
  if (isLong)
    longTest(
      'a gateway keeps serving when the new process cannot reach the shop, and the command prints the reason',
      async () => {
        const [access] = accesses as [Access]
        const cutOff = { ...gateway.env, TURNPIKE_SHOP_URL: `http://127.0.0.1:${freePort()}` }
        const { exit, err } = await runTurnpike(['gateway', 'reload'], cutOff)
        expect(exit).toBe(1)
        expect(err).toContain('The new process cannot reach the shop. The running gateway continues.')
        expect(err).toContain('The new process has not taken over; the reason is above. The running gateway continues.')
        expect(await attempt(access.protocol, access.at, access.login, echo.spot)).toMatchObject({ status: 200 })
        expect(await gateway.serving()).toBe(gateway.pid)
      },
    )

  test('turnpike gateway reload takes over, prints the new pid and closes its output', async () => {
    const [access] = accesses as [Access]
    const tunnel = await openTunnel(access.protocol, access.at, access.login, echo.spot)
    // The new process keeps stderr open for its log, so a pipe would never end.
    const log = Bun.file(join(service.testDatabase.folder, 'reload.log'))
    const reload = Bun.spawn(['node', turnpikeProgram, 'gateway', 'reload', '--json'], {
      env: { PATH: process.env['PATH'] ?? '', ...gateway.env },
      stdout: 'pipe',
      stderr: log,
    })
    const printed = await reload.stdout.text()
    expect(await reload.exited).toBe(0)
    const { pid, before } = JSON.parse(printed) as { pid: number; before: number }
    reloaded = pid
    expect(pid).not.toBe(before)
    expect(await tunnel.echo(payload)).toBe(payload)
    expect(await attempt(access.protocol, access.at, access.login, echo.spot)).toMatchObject({ status: 200 })
    tunnel.close()
    await gateway.ended
    process.kill(pid, 'SIGTERM')
    expect(await untilTrue(async () => !(await accepts(port)))).toBeTrue()
    expect(await untilTrue(() => !isAlive(pid))).toBeTrue()
  })
})
