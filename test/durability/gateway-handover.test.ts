import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { realSurroundings } from '../../src/main/shop/services.ts'
import { accepts } from '../harness/accepts.ts'
import { engines } from '../harness/database.ts'
import { gatewayEngine } from '../harness/engine.ts'
import { type BoughtProxy, freePort, somePorts, startOrigin } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { isLong, scaled } from '../harness/scale.ts'
import { type Service, startService } from '../harness/service.ts'
import { openServiceManager } from '../harness/service-manager.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import { attempt, type Login, openTunnel, type Speech, type Spot, startEcho, type Tunnel } from '../harness/tunnel.ts'
import { runTurnpike, turnpikeProgram, untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

/** Each way of carrying on one database, and on both in a long run. */
const databases = isLong ? engines : [gatewayEngine === 'linux' ? ('postgres' as const) : ('sqlite' as const)]
/** Five hundred in a long run. */
const tunnelCount = scaled(500)
/** Small, so that whoever is on the way out has to ask for more many times. */
const leaseBytes = 65_536
const word = 'x'.repeat(700)

/** Somebody who has a way through, how it is asked for, and what its tunnels have carried. */
type Way = {
  readonly name: string
  readonly speech: Speech
  readonly at: Spot
  readonly login: Login
  readonly used: () => Promise<number>
  carried: number
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.each(databases)('a gateway that is exchanged under way, on %s', (engine) => {
  let service: Service
  let gateway: GatewayProcess
  let systemd: ReturnType<typeof openServiceManager>
  let listening: Timer
  const notices: string[] = []
  let port = 0
  let ways: Way[] = []
  /** What `gateway reload` has started, which is nobody's child. */
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
    service = await startService(engine, shop, realSurroundings, false)
    const notify = `@turnpike-handover-${port}`
    systemd = openServiceManager(notify)
    // It hears what every process says; who says nothing of interest must not fill its ear.
    listening = setInterval(() => notices.push(...systemd.hearAll()), 20)
    gateway = await makeGatewayProcess(service, port, {
      NOTIFY_SOCKET: notify,
      TURNPIKE_GATEWAY_NEW: '100000',
      TURNPIKE_GATEWAY_TUNNELS: '100000',
    })
    await gateway.start()
    ways = [...(await dedicatedWays()), ...(await premiumWays())]
  })
  afterAll(async () => {
    if (reloaded !== undefined && isAlive(reloaded)) process.kill(reloaded, 'SIGKILL')
    await gateway.kill()
    gateway.remove()
    clearInterval(listening)
    systemd.close()
    echo.stop()
    await origin.stop()
    await service.stop()
  })

  const main = (): Spot => ({ host: '127.0.0.1', port })

  async function buy(token?: string): Promise<BoughtProxy> {
    const wish = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
    const sold = async () => {
      const answer = await service.post('/dedicated/buy', wish, token === undefined ? {} : { token })
      return answer.status === 200 ? (answer.data.proxies[0] as BoughtProxy) : undefined
    }
    let proxy: BoughtProxy | undefined
    expect(await untilTrue(async () => (proxy = await sold()) !== undefined)).toBeTrue()
    if (!proxy) throw new Error('nothing was sold')
    return proxy
  }

  async function carriedBy(proxy: BoughtProxy): Promise<number> {
    const totals = await service.services.traffic.counts.totals(service.services.db, [`proxy:${proxy.id}`])
    const { received = 0n, sent = 0n } = totals.get(`proxy:${proxy.id}`) ?? {}
    return Number(received + sent)
  }

  async function dedicatedWays(): Promise<Way[]> {
    const [http, socks] = [await buy(), await buy()]
    await service.post('/dedicated/protocol', { ids: [socks.id], port_type: 'socks' })
    const way = (speech: Speech, login: BoughtProxy): Way => ({
      name: `dedicated over ${speech}`,
      speech,
      at: main(),
      login,
      used: () => carriedBy(login),
      carried: 0,
    })
    return [way('http', http), way('socks', socks)]
  }

  async function premiumWays(): Promise<Way[]> {
    const users = await addUsers({ ...service, port }, 3, 1)
    const [first, second, third] = users as [User, User, User]
    await service.post('/premium/whitelist/add', { ip: '127.0.0.1', subuser_id: third.subuser })
    const wish = { pool_type: 'residential', format_id: 3, protocol: 'http', quantity: 1, subuser_id: third.subuser }
    const { data } = await service.post('/premium/proxies/generate', wish)
    const own = Number(String(data.proxies[0]).split(':').at(-1))
    const way = (name: string, speech: Speech, at: Spot, user: User, login: Login): Way => ({
      name,
      speech,
      at,
      login,
      used: () => usedBy(service, user.subuser),
      carried: 0,
    })
    const whitelisted = { host: '127.0.0.1', port: own }
    const open = async () =>
      (await attempt('http', whitelisted, undefined, echo.spot).catch(() => undefined))?.status === 200
    expect(await untilTrue(open)).toBeTrue()
    return [
      way('premium over http', 'http', main(), first, first),
      way('premium over socks', 'socks', main(), second, second),
      way('premium at a port of its own', 'http', whitelisted, third, undefined),
    ]
  }

  async function openMany(count: number): Promise<{ way: Way; tunnel: Tunnel }[]> {
    const opened: { way: Way; tunnel: Tunnel }[] = []
    for (let index = 0; index < count; index += 25) {
      const some = Array.from({ length: Math.min(25, count - index) }, async (_, at) => {
        const way = ways[(index + at) % ways.length] as Way
        return { way, tunnel: await openTunnel(way.speech, way.at, way.login, echo.spot) }
      })
      opened.push(...(await Promise.all(some)))
    }
    return opened
  }

  /** A few slow words through every tunnel, until told to end. Tells how many tunnels broke. */
  function talk(tunnels: readonly { way: Way; tunnel: Tunnel }[]) {
    const told = { isOver: false }
    const lane = async ({ way, tunnel }: { way: Way; tunnel: Tunnel }): Promise<number> => {
      for (let round = 0; !told.isOver || round < 3; round += 1) {
        try {
          if ((await tunnel.echo(word)) !== word) return 1
        } catch {
          return 1
        }
        way.carried += 2 * word.length
        await Bun.sleep(100 + Math.random() * 100)
      }
      return 0
    }
    const lanes = Promise.all(tunnels.map(lane))
    return async (): Promise<number> => {
      told.isOver = true
      return (await lanes).reduce((sum, each) => sum + each, 0)
    }
  }

  /** New connections one after the other, on every way, until told to end. */
  function keepComing(lanes: number) {
    const failures: string[] = []
    let served = 0
    const told = { isOver: false }
    const lane = async (index: number): Promise<void> => {
      for (let turn = index; !told.isOver; turn += 1) {
        const way = ways[turn % ways.length] as Way
        try {
          const { status } = await attempt(way.speech, way.at, way.login, echo.spot)
          if (status === (way.speech === 'http' ? 200 : 0)) served += 1
          else failures.push(`${way.name}: ${status}`)
        } catch (error) {
          failures.push(`${way.name}: ${String(error)}`)
        }
      }
    }
    const all = Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)))
    return async () => {
      told.isOver = true
      await all
      return { served, failures }
    }
  }

  test(`drops none of ${tunnelCount} tunnels, serves all who come meanwhile, and bills to the byte`, async () => {
    const tunnels = await openMany(tunnelCount)
    const talking = talk(tunnels)
    const coming = keepComing(4)
    await Bun.sleep(300)
    const before = await gateway.takeOver()
    const { served, failures } = await Bun.sleep(2000).then(coming)
    expect(failures).toEqual([])
    expect(served).toBeGreaterThan(20)
    // Whoever is new is the new one's; the one before goes on with what it has.
    const late = await openMany(ways.length)
    expect(await Promise.race([before.ended, Bun.sleep(0).then(() => 'goes on' as const)])).toBe('goes on')
    const lateTalking = talk(late)
    expect(await talking()).toBe(0)
    expect(await lateTalking()).toBe(0)
    for (const { tunnel } of tunnels) tunnel.close()
    expect(await before.ended).toBe(0)
    for (const { tunnel } of late) tunnel.close()
    for (const way of ways) {
      expect(await untilTrue(async () => (await way.used()) >= way.carried)).toBeTrue()
      expect({ way: way.name, used: await way.used() }).toEqual({ way: way.name, used: way.carried })
    }
    expect(await service.services.traffic.leases.quarantined(100)).toEqual([])
    expect(await findingsOf(service.services)).toEqual([])
  })

  test('takes over from the other engine as well, twice in a row, and each carries its own to the end', async () => {
    const other = gatewayEngine === 'linux' ? 'portable' : 'linux'
    const first = await openMany(ways.length)
    const ends = [(await gateway.takeOver(other)).ended]
    const second = await openMany(ways.length)
    ends.push((await gateway.takeOver()).ended)
    const third = await openMany(ways.length)
    expect(await talk([...first, ...second, ...third])()).toBe(0)
    for (const { tunnel } of [...first, ...second]) tunnel.close()
    expect(await Promise.all(ends)).toEqual([0, 0])
    expect(await talk(third)()).toBe(0)
    for (const { tunnel } of third) tunnel.close()
    for (const way of ways) expect(await untilTrue(async () => (await way.used()) === way.carried)).toBeTrue()
    expect(await findingsOf(service.services)).toEqual([])
  })

  test('whoever is blocked is cut off in the one that is on its way out, too, within two seconds', async () => {
    const { customer, token } = await service.newCustomer(10_000n)
    const proxy = await buy(token)
    const tunnel = await openTunnel('http', main(), proxy, echo.spot)
    const before = await gateway.takeOver()
    expect(await tunnel.echo(word)).toBe(word)
    const blockedAt = Date.now()
    await service.services.setBlocked(customer, true)
    expect((await tunnel.closedAt) - blockedAt).toBeLessThan(2000)
    expect(await before.ended).toBe(0)
  })

  test('tells systemd who serves, and one that is told to end on its way out does not end the unit', async () => {
    const [way] = ways as [Way]
    const tunnel = await openTunnel(way.speech, way.at, way.login, echo.spot)
    const before = await gateway.takeOver()
    expect(await untilTrue(() => notices.includes(`MAINPID=${before.pid}`))).toBeTrue()
    gateway.killLeaving('SIGTERM')
    expect(await before.ended).toBe(0)
    await tunnel.closedAt
    expect([...notices, ...systemd.hearAll()]).not.toContain('STOPPING=1')
  })

  test('one that is killed on its way out costs nobody anything but its own tunnels', async () => {
    const [user] = (await addUsers({ ...service, port }, 1, 1)) as [User]
    const tunnel = await openTunnel('http', main(), user, echo.spot)
    const before = await gateway.takeOver()
    for (let round = 0; round < 20; round += 1) await tunnel.echo(word)
    const carried = 20 * 2 * word.length
    expect(await untilTrue(async () => (await usedBy(service, user.subuser)) === carried)).toBeTrue()
    gateway.killLeaving()
    expect(await before.ended).not.toBe(0)
    const fresh = await openTunnel('http', main(), user, echo.spot)
    expect(await fresh.echo(word)).toBe(word)
    fresh.close()
    const all = carried + 2 * word.length
    expect(await untilTrue(async () => (await usedBy(service, user.subuser)) === all)).toBeTrue()
    expect(await findingsOf(service.services)).toEqual([])
  })

  test('a connection that rests between two requests is told to come again, and nothing of it is lost', async () => {
    const proxy = await buy()
    const basic = Buffer.from(`${proxy.username}:${proxy.password}`).toString('base64')
    const request = `GET ${origin.url} HTTP/1.1\r\nHost: origin\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`
    let heard = ''
    let isClosed = false
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: { data: (_, bytes) => void (heard += bytes.toString()), close: () => void (isClosed = true) },
    })
    const answers = () => heard.split('HTTP/1.1 200').length - 1
    socket.write(request)
    expect(await untilTrue(() => answers() === 1)).toBeTrue()
    expect(heard.toLowerCase()).not.toContain('connection: close')
    const before = await gateway.takeOver()
    expect(isClosed).toBeFalse()
    socket.write(request)
    expect(await untilTrue(() => answers() === 2 && isClosed)).toBeTrue()
    expect(heard.toLowerCase()).toContain('connection: close')
    expect(await before.ended).toBe(0)
  })

  test('that cannot be taken over from as asked goes on, and whoever asked is told why', async () => {
    const elsewhere = { ...gateway.env, TURNPIKE_GATEWAY_PORT: String(freePort()) }
    const { exit, err } = await runTurnpike(['gateway', '--take-over'], elsewhere)
    expect({ exit, isTold: err.includes('Another address needs a restart.') }).toEqual({ exit: 1, isTold: true })
    const nobody = await runTurnpike(['gateway', 'reload'], { ...gateway.env, TURNPIKE_DATA: service.place.folder })
    expect({ exit: nobody.exit, err: nobody.err }).toEqual({
      exit: 1,
      err: 'turnpike: No gateway runs on this data folder.\n',
    })
    const { NOTIFY_SOCKET: _, ...byHand } = gateway.env
    const unknown = await runTurnpike(['gateway', 'reload'], byHand)
    expect({ exit: unknown.exit, isTold: unknown.err.includes('systemctl reload turnpike-gateway') }).toEqual({
      exit: 1,
      isTold: true,
    })
    const [way] = ways as [Way]
    expect(await attempt(way.speech, way.at, way.login, echo.spot)).toMatchObject({ status: 200 })
  })

  test('goes on when the one that is to take over cannot reach the shop, and whoever asked is told why', async () => {
    const [way] = ways as [Way]
    const cutOff = { ...gateway.env, TURNPIKE_SHOP_URL: `http://127.0.0.1:${freePort()}` }
    const { exit, err } = await runTurnpike(['gateway', 'reload'], cutOff)
    expect(exit).toBe(1)
    expect(err).toContain('The new process cannot reach the shop. The gateway that runs goes on.')
    expect(err).toContain('The new process has not taken over, and has said why; the gateway goes on.')
    expect(await attempt(way.speech, way.at, way.login, echo.spot)).toMatchObject({ status: 200 })
    expect(await gateway.serving()).toBe(gateway.pid)
  })

  test('is exchanged by one command, which says who serves from then on and lets go of whoever reads it', async () => {
    const [way] = ways as [Way]
    const tunnel = await openTunnel(way.speech, way.at, way.login, echo.spot)
    // The log goes on where it was typed, so that would stay open as a pipe.
    const log = Bun.file(join(service.place.folder, 'reload.log'))
    const reload = Bun.spawn(['node', turnpikeProgram, 'gateway', 'reload', '--json'], {
      env: { PATH: process.env['PATH'] ?? '', ...gateway.env },
      stdout: 'pipe',
      stderr: log,
    })
    const said = await reload.stdout.text()
    expect(await reload.exited).toBe(0)
    const { pid, before } = JSON.parse(said) as { pid: number; before: number }
    reloaded = pid
    expect(pid).not.toBe(before)
    expect(await tunnel.echo(word)).toBe(word)
    expect(await attempt(way.speech, way.at, way.login, echo.spot)).toMatchObject({ status: 200 })
    tunnel.close()
    await gateway.ended
    process.kill(pid, 'SIGTERM')
    expect(await untilTrue(async () => !(await accepts(port)))).toBeTrue()
    expect(await untilTrue(() => !isAlive(pid))).toBeTrue()
  })
})
