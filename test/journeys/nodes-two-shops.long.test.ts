import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server } from 'node:net'
import { createCaller } from '../harness/caller.ts'
import { makePreparedTestDatabase, type TestDatabase } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { endStarted, runCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'

const token = 'sandbox-token-of-two-shops'
/** A node reports every 2 s when idle; the test watches its other requests for so many reports. */
const watchedReports = isLong ? 4 : 1

/** A request of a node: how long it may wait, when it was sent and when it was answered. */
type NodeRequest = { readonly operation: string; readonly waitMs: number; readonly sentAt: number; answeredAt?: number }

/** Sends each connection to the next shop and records the node requests on it. */
async function openBalancer(
  ports: readonly number[],
): Promise<{ port: number; requests: NodeRequest[]; server: Server }> {
  const requests: NodeRequest[] = []
  let turn = 0
  const server = createServer((client) => {
    turn += 1
    let request: NodeRequest | undefined
    const shop = connect(ports[turn % ports.length] ?? 0, '127.0.0.1')
    client.on('data', (bytes) => {
      const [, operation, query = ''] = /^(?:GET|POST) \/node\/v1\/(\w+)(\S*)/m.exec(bytes.toString('latin1')) ?? []
      // One request per connection, so that the next request goes to the other shop.
      const plain = bytes.toString('latin1').replace(/^connection: keep-alive\r\n/im, 'Connection: close\r\n')
      if (operation) {
        request = { operation, waitMs: Number(/wait=(\d+)/.exec(query)?.[1] ?? 0) * 1000, sentAt: performance.now() }
        requests.push(request)
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
  return { port, requests, server }
}

describe('a gateway behind a balancer of two shops', () => {
  let testDatabase: TestDatabase
  let shops: number[]
  let balancer: Awaited<ReturnType<typeof openBalancer>>
  let gatewayPort: number
  beforeAll(async () => {
    testDatabase = await makePreparedTestDatabase('postgres', 'stocked')
    shops = [freePort(), freePort()]
    gatewayPort = freePort()
    const shared = {
      TURNPIKE_DATABASE_URL: testDatabase.address,
      TURNPIKE_SECRET_KEY: '12'.repeat(32),
      TURNPIKE_SANDBOX_TOKEN: token,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    }
    for (const [index, port] of shops.entries()) {
      const env = { ...shared, TURNPIKE_DATA: `${testDatabase.folder}/shop-${index}`, TURNPIKE_PORT: String(port) }
      await startTurnpike(['shop'], env).until(/open at/)
    }
    balancer = await openBalancer(shops)
    const added = await runCommand(['node', 'add', 'gw', '--location', 'test', '--json'], {
      ...shared,
      TURNPIKE_DATA: `${testDatabase.folder}/shop-0`,
    })
    const gateway = startTurnpike(['gateway'], {
      TURNPIKE_DATA: `${testDatabase.folder}/gateway`,
      TURNPIKE_SHOP_URL: `http://127.0.0.1:${balancer.port}`,
      TURNPIKE_NODE_KEY: JSON.parse(added.out).key,
      TURNPIKE_GATEWAY_PORT: String(gatewayPort),
    })
    await gateway.until(/gateway open/)
  })
  afterAll(async () => {
    await endStarted()
    balancer.server.close()
    await testDatabase.remove()
  })

  test('a gateway gets at most 4 early answers to its 10 s state requests per change', async () => {
    const countOf = (operation: string) => balancer.requests.filter((each) => each.operation === operation).length
    // A slow machine sees more waits that end without a change; these are not early.
    const isEarly = ({ waitMs, sentAt, answeredAt }: NodeRequest) =>
      answeredAt !== undefined && answeredAt - sentAt < waitMs
    const early = () => balancer.requests.filter((each) => each.operation === 'state' && isEarly(each)).length
    const reports = () => countOf('report')
    const callers = await Promise.all(shops.map((port) => createCaller(`http://127.0.0.1:${port}`, token)))
    for (const [index, caller] of callers.entries()) {
      const [stateRequests, answered] = [countOf('state'), early()]
      const bought = await caller.post('/dedicated/buy', { country_code: 'DE', period: 30, count: 1, ipv: 4 })
      const [proxy] = bought.data.proxies
      const through = { proxy: `http://${proxy.username}:${proxy.password}@${proxy.ip}:${proxy.port}` }
      expect((await fetch(`http://127.0.0.1:${shops[index]}/healthz`, through)).status).toBe(200)
      // The gateway reads the change; after it there is none to read.
      expect(await untilTrue(() => countOf('state') > stateRequests)).toBe(true)
      const reported = reports()
      expect(await untilTrue(() => reports() >= reported + watchedReports)).toBe(true)
      expect(early() - answered).toBeLessThanOrEqual(4)
    }
  })
})
