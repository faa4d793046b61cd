import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server } from 'node:net'
import { createCaller } from '../harness/caller.ts'
import { makePreparedPlace, type Place } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { endStarted, runCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'

const token = 'sandbox-token-of-two-shops'
/** A node reports every 2 s when it has nothing to tell: for so many reports its other requests are watched. */
const watchedReports = isLong ? 4 : 1

/** A request of the node protocol: how long it may be kept waiting, when it was asked and when it was answered. */
type Asked = { readonly what: string; readonly waitMs: number; readonly askedAt: number; answeredAt?: number }

/** Sends each connection to the next shop, and notes what is asked of the node protocol on it. */
async function openBalancer(ports: readonly number[]): Promise<{ port: number; asked: Asked[]; server: Server }> {
  const asked: Asked[] = []
  let turn = 0
  const server = createServer((client) => {
    turn += 1
    let request: Asked | undefined
    const shop = connect(ports[turn % ports.length] ?? 0, '127.0.0.1')
    client.on('data', (bytes) => {
      const [, what, query = ''] = /^(?:GET|POST) \/node\/v1\/(\w+)(\S*)/m.exec(bytes.toString('latin1')) ?? []
      // One request a connection, as a balancer does that shares them out: the next one goes to the other shop.
      const plain = bytes.toString('latin1').replace(/^connection: keep-alive\r\n/im, 'Connection: close\r\n')
      if (what) {
        request = { what, waitMs: Number(/wait=(\d+)/.exec(query)?.[1] ?? 0) * 1000, askedAt: performance.now() }
        asked.push(request)
      }
      shop.write(Buffer.from(plain, 'latin1'))
    })
    shop.on('data', (bytes) => {
      if (request) request.answeredAt ??= performance.now()
      client.write(bytes)
    })
    for (const [one, other] of [
      [client, shop],
      [shop, client],
    ] as const) {
      one.on('close', () => other.destroy())
      one.on('error', () => other.destroy())
    }
  })
  const port = freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return { port, asked, server }
}

describe('a gateway that meets two shops behind a balancer', () => {
  let place: Place
  let shops: number[]
  let balancer: Awaited<ReturnType<typeof openBalancer>>
  let gatewayPort: number
  beforeAll(async () => {
    place = await makePreparedPlace('postgres', 'stocked')
    shops = [freePort(), freePort()]
    gatewayPort = freePort()
    const shared = {
      TURNPIKE_DATABASE_URL: place.address,
      TURNPIKE_SECRET_KEY: '12'.repeat(32),
      TURNPIKE_SANDBOX_TOKEN: token,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    }
    for (const [index, port] of shops.entries()) {
      const env = { ...shared, TURNPIKE_DATA: `${place.folder}/shop-${index}`, TURNPIKE_PORT: String(port) }
      await startTurnpike(['shop'], env).until(/open at/)
    }
    balancer = await openBalancer(shops)
    const added = await runCommand(['node', 'add', 'gw', '--location', 'test', '--json'], {
      ...shared,
      TURNPIKE_DATA: `${place.folder}/shop-0`,
    })
    const gateway = startTurnpike(['gateway'], {
      TURNPIKE_DATA: `${place.folder}/gateway`,
      TURNPIKE_SHOP_URL: `http://127.0.0.1:${balancer.port}`,
      TURNPIKE_NODE_KEY: JSON.parse(added.out).key,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    })
    await gateway.until(/gateway open/)
  })
  afterAll(async () => {
    await endStarted()
    balancer.server.close()
    await place.remove()
  })

  test('after a change at most 4 requests for a gateway’s state are answered before their wait of 10 s is over', async () => {
    const countOf = (what: string) => balancer.asked.filter((each) => each.what === what).length
    // On a slow machine more time passes, and with it more waits that end without a change.
    const isEarly = ({ waitMs, askedAt, answeredAt }: Asked) =>
      answeredAt !== undefined && answeredAt - askedAt < waitMs
    const early = () => balancer.asked.filter((each) => each.what === 'state' && isEarly(each)).length
    const reports = () => countOf('report')
    const callers = await Promise.all(shops.map((port) => createCaller(`http://127.0.0.1:${port}`, token)))
    for (const [index, caller] of callers.entries()) {
      const [asked, answered] = [countOf('state'), early()]
      const bought = await caller.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
      const [proxy] = bought.data.proxies
      const through = { proxy: `http://${proxy.username}:${proxy.password}@${proxy.ip}:${proxy.port}` }
      expect((await fetch(`http://127.0.0.1:${shops[index]}/healthz`, through)).status).toBe(200)
      // The change is heard, and then there is nothing more to hear.
      expect(await untilTrue(() => countOf('state') > asked)).toBe(true)
      const reported = reports()
      expect(await untilTrue(() => reports() >= reported + watchedReports)).toBe(true)
      expect(early() - answered).toBeLessThanOrEqual(4)
    }
  })
})
