import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { createCaller } from '../harness/caller.ts'
import { makePreparedPlace, type Place } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { endStarted, type Running, runTurnpike, startTurnpike, untilTrue } from '../harness/turnpike.ts'

describe('turnpike up', () => {
  let place: Place
  let port: number
  let gatewayPort: number
  const undo: (() => unknown)[] = []
  beforeEach(async () => {
    place = await makePreparedPlace('sqlite', 'stocked')
    port = freePort()
    gatewayPort = freePort()
  })
  afterEach(async () => {
    await endStarted()
    for (let action = undo.pop(); action; action = undo.pop()) await action()
    await place.remove()
  })
  const settings = () => ({
    TURNPIKE_DATA: place.folder,
    TURNPIKE_PORT: String(port),
    TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    TURNPIKE_LOG: 'debug',
  })
  const opened = /open at (http:\/\/\S+)/
  const tokenIn = async (running: Running) => (await running.until(/TOKEN='(tp_test_\w+)'/))[1] ?? ''
  const deaths = (up: Running, part: string) =>
    up
      .err()
      .split('\n')
      .filter((line) => line.includes('"event":"died"') && line.includes(`"part":"${part}"`)).length

  /** Somebody else on the port, who writes down all that it hears. */
  function takePort(taken: number) {
    const heard: string[] = []
    const stranger = Bun.listen({
      hostname: '127.0.0.1',
      port: taken,
      socket: { data: (_, bytes) => void heard.push(bytes.toString('latin1')) },
    })
    undo.push(() => stranger.stop(true))
    return { heard, leave: () => stranger.stop(true) }
  }

  async function makePostgres(): Promise<string> {
    const postgres = await makePreparedPlace('postgres', 'stocked')
    undo.push(() => postgres.remove())
    return postgres.address
  }

  /** PostgreSQL at an address where nobody is yet. */
  async function lateDatabase() {
    const there = new URL(await makePostgres())
    const late = new URL(there)
    late.hostname = '127.0.0.1'
    late.port = String(freePort())
    const arrive = () => {
      const ends = new Map<unknown, Promise<Bun.Socket>>()
      const relay = Bun.listen({
        hostname: '127.0.0.1',
        port: Number(late.port),
        socket: {
          open(client) {
            const connected = Bun.connect({
              hostname: there.hostname,
              port: Number(there.port),
              socket: { data: (_, bytes) => void client.write(bytes), close: () => void client.end() },
            })
            ends.set(client, connected)
          },
          data: (client, bytes) => void ends.get(client)?.then((server) => server.write(Buffer.from(bytes))),
          close: (client) => void ends.get(client)?.then((server) => server.end()),
        },
      })
      undo.push(() => relay.stop(true))
    }
    return { url: late.href, arrive }
  }

  test('waits for a database that is away at the start, says so, and opens when it is there', async () => {
    const database = await lateDatabase()
    const up = startTurnpike(['up'], { ...settings(), TURNPIKE_DATABASE_URL: database.url })
    expect(await untilTrue(() => deaths(up, 'shop') >= 5)).toBe(true)
    expect(up.err()).toContain('The database cannot be reached')
    expect(up.out()).toBe('')
    database.arrive()
    await up.until(opened)
  })

  test('waits for a port that another has for a moment, tells that other nothing, and opens then', async () => {
    const stranger = takePort(port)
    const up = startTurnpike(['up'], settings())
    expect(await untilTrue(() => deaths(up, 'shop') >= 3)).toBe(true)
    expect(up.err()).toContain(`Port ${port} of the shop is in use by another program.`)
    await up.until(/"event":"started","part":"gateway"/)
    stranger.leave()
    await up.until(opened)
    expect(stranger.heard).toEqual([])
    const caller = await createCaller(`http://127.0.0.1:${port}`, await tokenIn(up))
    expect((await caller.get('/balance')).data.balance_rub).toBe(100_000)
  })

  test('keeps its nodes from a stranger on the port while its shop is away', async () => {
    const up = startTurnpike(['up'], settings())
    await up.until(opened)
    const [, pid] = /"part":"shop","pid":(\d+)/.exec(up.err()) ?? []
    process.kill(Number(pid), 'SIGKILL')
    await up.until(/"event":"died"/)
    const stranger = takePort(port)
    expect(await untilTrue(() => deaths(up, 'shop') >= 3)).toBe(true)
    stranger.leave()
    await up.until(/"event":"open again","part":"shop"/)
    expect(stranger.heard).toEqual([])
  })

  test('says that it is open when what it sells is carried, and not before', async () => {
    const stranger = takePort(gatewayPort)
    const up = startTurnpike(['up'], settings())
    expect(await untilTrue(() => deaths(up, 'gateway') >= 2)).toBe(true)
    expect(up.out()).toBe('')
    stranger.leave()
    const token = await tokenIn(up)
    const caller = await createCaller(`http://127.0.0.1:${port}`, token)
    const bought = await caller.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
    const [proxy] = bought.data.proxies
    const carried = await fetch(`http://127.0.0.1:${port}/healthz`, {
      proxy: `http://${proxy.username}:${proxy.password}@${proxy.ip}:${proxy.port}`,
    })
    expect(carried.status).toBe(200)
  })

  const quote = '/dedicated/quote?country_code=DE&period=30&count=1&ipv=4'

  test('a second one on the same folder is refused, and the first sells on', async () => {
    const up = startTurnpike(['up'], settings())
    const caller = await createCaller(`http://127.0.0.1:${port}`, await tokenIn(up))
    const others = { TURNPIKE_PORT: String(freePort()), TURNPIKE_GATEWAY_PORT: String(freePort()) }
    const second = await runTurnpike(['up'], { ...settings(), ...others })
    expect([second.exit, second.out]).toEqual([2, ''])
    expect(second.err).toContain('Another Turnpike is open on')
    expect((await caller.get(quote)).data.available).toBeGreaterThan(0)
  })

  test('a gateway that has joined another database of this folder joins anew, and what is sold is carried', async () => {
    const before = startTurnpike(['up'], settings())
    await before.until(opened)
    before.kill('SIGTERM')
    await before.exited
    const up = startTurnpike(['up'], { ...settings(), TURNPIKE_DATABASE_URL: await makePostgres() })
    const caller = await createCaller(`http://127.0.0.1:${port}`, await tokenIn(up))
    const isSold = async () => (await caller.get(quote)).data?.available > 0
    expect(await untilTrue(isSold)).toBe(true)
  })

  test('ends with an error, and leaves nothing behind, when a part has a setting that it cannot use', async () => {
    const ended = await runTurnpike(['up'], { ...settings(), TURNPIKE_GATEWAY_LISTEN: '203.0.113.9' })
    expect([ended.exit, ended.out]).toEqual([2, ''])
    expect(ended.err).toContain('203.0.113.9 is not an address of this machine.')
    expect(ended.err).toContain('shop closed')
  })

  test('a token whose first start failed half-way is shown by the next, and then no more', async () => {
    const stranger = takePort(port)
    const failed = await runTurnpike(['shop'], settings())
    expect([failed.exit, failed.out]).toEqual([1, ''])
    stranger.leave()
    const shop = startTurnpike(['shop'], settings())
    const token = await tokenIn(shop)
    const caller = await createCaller(`http://127.0.0.1:${port}`, token)
    expect((await caller.get('/balance')).data.balance_rub).toBe(100_000)
    shop.kill('SIGTERM')
    await shop.exited
    expect(existsSync(`${place.folder}/sandbox-token`)).toBe(false)
    const again = startTurnpike(['shop'], settings())
    await again.until(opened)
    expect(again.out()).not.toContain('tp_test_')
    expect(shop.err() + failed.err).not.toContain(token)
  })
})
