import { describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { openEngine, passwordOf, proxyOf, type TestGateway } from '../harness/engine.ts'
import { openShopWithGateway } from '../harness/gateway.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { lineOf, openTunnel, type Pass, type Passed } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import type { WireClient } from '../harness/wire-client.ts'

// The upper bounds hold under any load. src/dataplane/gateway/metering/speed-limit.test.ts checks the exact rate with
// a manual clock; `npm run bench speed-limit` measures how much of its limit a credential gets.

const plenty = 1_000_000_000
const lineBytes = 40
/** An idle credential saves up to 250 ms of its rate; the bucket refills in steps of 25 ms. */
const savedMs = 250
const stepMs = 25
let made = 0

const passOf = (gateway: TestGateway, username: string): Pass => ({
  port: gateway.port,
  username,
  password: passwordOf(username),
})
const through = (gateway: TestGateway, pool = 'residential'): Pass => passOf(gateway, `pavel-pool-${pool}`)

/** A download without end. The client’s receive buffer is 128 KiB. */
async function download(origin: ByteOrigin, pass: Pass): Promise<WireClient> {
  made += 1
  const id = `download-${made}`
  origin.expect({ id, up: lineBytes, down: plenty, afterwards: 'stay' })
  const { client } = await openTunnel(pass, 'connect', { host: '127.0.0.1', port: origin.port })
  client.narrow(64 * 1024)
  await client.send(lineOf(id, lineBytes))
  return client
}

/** An upload without end; `uploaded` is the number of bytes that arrived at the destination. */
async function upload(pass: Pass): Promise<{ uploaded: () => number; stop: () => void }> {
  let uploaded = 0
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (_: Socket, bytes: Uint8Array) => void (uploaded += bytes.length) },
  })
  const { client } = await openTunnel(pass, 'socks', { host: '127.0.0.1', port: listener.port })
  void client.send(Buffer.alloc(20_000_000, 'd')).catch(() => {})
  return {
    uploaded: () => uploaded,
    stop() {
      client.close()
      listener.stop(true)
    },
  }
}

/**
 * Expects at most the limit since `fromMs` by the engine’s clock, plus the saved rate. The caller reads the bytes
 * before the clock, so load makes only the time larger.
 */
function expectWithin(limit: number, bytes: number, fromMs: number, saved = savedMs): void {
  expect(bytes).toBeLessThanOrEqual((limit * (Date.now() - fromMs + saved + stepMs)) / 1000)
}

describe('the speed limit of a credential', () => {
  test('a limit of 400 kB/s covers two downloads and an upload together, and no other credential', async () => {
    const limit = 400_000
    const gateway = openEngine({ speeds: () => ({ subuser: limit }), leaseBytes: 100_000 })
    const origin = openByteOrigin()
    const fromMs = Date.now()
    const clients = [await download(origin, through(gateway)), await download(origin, through(gateway))]
    const upward = await upload(through(gateway))
    const other = await download(origin, passOf(gateway, 'anna'))
    const totals = (): number[] => [...clients.map(({ total }) => total), upward.uploaded()]
    const relayed = (): number => totals().reduce((sum, total) => sum + total, 0)
    // All three run without end: each progresses only if the others yield.
    await until(() => totals().every((total) => total > limit / 20) && relayed() > 0.8 * limit)
    expectWithin(limit, relayed(), fromMs)
    // At 400 kB/s this would take 100 s, longer than until() waits.
    await until(() => other.total > 40_000_000)
    expectWithin(limit, relayed(), fromMs)
    for (const client of [...clients, other]) client.close()
    upward.stop()
    origin.stop()
    await gateway.stop()
  })

  test('a tunnel whose client does not read uses nothing of the limit of its credential’s other tunnel', async () => {
    const gateway = openEngine({ speeds: () => ({ subuser: 20_000_000 }) })
    const origin = openByteOrigin()
    const stalled = await download(origin, through(gateway))
    await stalled.until(() => stalled.total > 1000)
    stalled.readOnly(0)
    await until(() => gateway.engine.status.maxHeld > 0)
    const client = await download(origin, through(gateway))
    await until(() => client.total > 8_000_000)
    // Bytes taken from the limit and not received: at most 512 KiB held by the gateway, and the socket buffers.
    const received = client.total + stalled.total
    expect(gateway.engine.dataPath.health.totalBytes - received).toBeLessThan(2_000_000)
    expect(gateway.engine.status.maxHeld).toBeLessThanOrEqual(512 * 1024)
    for (const each of [stalled, client]) each.close()
    origin.stop()
    await gateway.stop()
  })

  test('a speed limit that is set, raised, lowered or lifted applies to an open tunnel', async () => {
    let subuser = Number.POSITIVE_INFINITY
    const gateway = openEngine({ speeds: () => ({ subuser }) })
    const origin = openByteOrigin()
    const relayed = (): number => gateway.engine.dataPath.health.totalBytes
    /** Changes the limit; returns once the engine applies it and has reported the bytes relayed before. */
    const change = async (limit: number): Promise<void> => {
      subuser = limit
      made += 1
      const username = `user${made}`
      // The engine reads this user after the limit. It accepts a second tunnel after the pass of the first.
      gateway.change({ proxies: [proxyOf(100 + made, username)] })
      for (let opened = 0; opened < 2; opened += 1) {
        const target = { host: '127.0.0.1', port: origin.port }
        const { client } = await openTunnel(passOf(gateway, username), 'connect', target)
        client.close()
      }
    }
    const client = await download(origin, through(gateway))
    await until(() => client.total > 20_000_000)
    // The rates differ so much that until() would give up if a step had no effect.
    for (const limit of [20_000, 4_000_000, 20_000]) {
      await change(limit)
      const [fromMs, from] = [Date.now(), relayed()]
      await until(() => relayed() - from > 0.6 * limit)
      // The pass that runs when `from` is read may use the saved rate, and the next one saves again.
      expectWithin(limit, relayed() - from, fromMs, 2 * savedMs)
    }
    await change(Number.POSITIVE_INFINITY)
    const from = client.total
    await until(() => client.total - from > 20_000_000)
    client.close()
    origin.stop()
    await gateway.stop()
  })

  test('a limit of 4 MB/s covers the bodies of forwarded requests and their answers together', async () => {
    const limit = 4_000_000
    const bodyBytes = 1_500_000
    const gateway = openEngine({ speeds: () => ({ subuser: limit }) })
    const origin = openByteOrigin()
    const { username, password } = through(gateway)
    const proxy = `http://${username}:${password}@127.0.0.1:${gateway.port}`
    origin.expect({ id: 'both', up: 0, down: bodyBytes, afterwards: 'end', framing: 'length' })
    const fromMs = Date.now()
    const request = { method: 'POST', body: new Uint8Array(bodyBytes), proxy }
    const answer = await fetch(`http://${origin.host}/both`, request)
    expect((await answer.arrayBuffer()).byteLength).toBe(bodyBytes)
    expectWithin(limit, 2 * bodyBytes, fromMs)
    origin.stop()
    await gateway.stop()
  })
})

describe.each([...enginesOf('sqlite')])('speed_mbit in the price list of a shop on %s', (engine) => {
  test('speed_mbit 8 in the price list limits the gateway to 1 MB/s, and each relayed byte is billed', async () => {
    const shop = await openShopWithGateway(engine)
    const origin = openByteOrigin()
    const { pricing, db } = shop.services
    const shown = (await pricing.show())?.value as { premium: object }
    const slow = { ...shown, premium: { ...shown.premium, speed_mbit: 8 } }
    await db.transact((tx) => pricing.apply(tx, slow))
    const [user] = await addUsers(shop, 1, 1)
    if (!user) throw new Error('no sub-user was added')
    const passed: Passed = { sent: 0, received: 0 }
    /** Downloads so many bytes and returns the milliseconds by the gateway’s clock. */
    const pass = async (down: number): Promise<number> => {
      made += 1
      const id = `billed-${made}`
      origin.expect({ id, up: lineBytes, down, afterwards: 'end' })
      const target = { host: '127.0.0.1', port: origin.port }
      const fromMs = Date.now()
      const { client, handshake } = await openTunnel(user, 'connect', target)
      await client.send(lineOf(id, lineBytes))
      await client.untilEnd()
      expect(client.total - handshake).toBe(down)
      passed.sent += lineBytes
      passed.received += down
      client.close()
      return Date.now() - fromMs
    }
    // 1 MB at 1 MB/s takes 725 ms when 275 ms of the rate were saved.
    expect(await untilTrue(async () => (await pass(1_000_000)) >= 1000 - savedMs - stepMs)).toBeTrue()
    await shop.stopGateway()
    expect(await usedBy(shop, user.subuser)).toBe(passed.sent + passed.received)
    origin.stop()
    await shop.stop()
  })
})
