import { describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { openEngine, passwordOf, proxyOf, type Stand } from '../harness/engine.ts'
import { openRoad } from '../harness/gateway.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { lineOf, openTunnel, type Pass, type Passed } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import type { WireClient } from '../harness/wire-client.ts'

// Upper bounds hold on a machine of any load. src/dataplane/gateway/metering/speed-limit.test.ts checks the exact rate
// with a clock that the test moves; `npm run bench speed-limit` measures how much of its limit a credential gets.

const plenty = 1_000_000_000
const lineBytes = 40
/** A credential that was idle saves 250 ms of its rate; what may pass is added in steps of 25 ms. */
const savedMs = 250
const stepMs = 25
let made = 0

const passOf = (stand: Stand, username: string): Pass => ({
  port: stand.port,
  username,
  password: passwordOf(username),
})
const through = (stand: Stand, pool = 'residential'): Pass => passOf(stand, `pavel-pool-${pool}`)

/** A tunnel through which the origin pours all it can. Its client has no more than 128 KiB unread. */
async function pour(origin: ByteOrigin, pass: Pass): Promise<WireClient> {
  made += 1
  const id = `pouring-${made}`
  origin.expect({ id, up: lineBytes, down: plenty, afterwards: 'stay' })
  const { client } = await openTunnel(pass, 'connect', { host: '127.0.0.1', port: origin.port })
  client.narrow(64 * 1024)
  await client.send(lineOf(id, lineBytes))
  return client
}

/** A tunnel into which the client pours all it can; `drunk` is the number of bytes that came out at its other end. */
async function drink(pass: Pass): Promise<{ drunk: () => number; stop: () => void }> {
  let drunk = 0
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (_: Socket, bytes: Uint8Array) => void (drunk += bytes.length) },
  })
  const { client } = await openTunnel(pass, 'socks', { host: '127.0.0.1', port: listener.port })
  void client.send(Buffer.alloc(20_000_000, 'd')).catch(() => {})
  return {
    drunk: () => drunk,
    stop() {
      client.close()
      listener.stop(true)
    },
  }
}

/**
 * Expects no more than the limit since `fromMs`, by the clock that the engine goes by, plus what was saved. The bytes
 * were read before the clock is: load makes the time longer and never the bytes more.
 */
function expectWithin(limit: number, bytes: number, fromMs: number, saved = savedMs): void {
  expect(bytes).toBeLessThanOrEqual((limit * (Date.now() - fromMs + saved + stepMs)) / 1000)
}

describe('a speed limit of a credential', () => {
  test('a limit of 400 kB/s covers two downloads and an upload together, starves none, and leaves other credentials alone', async () => {
    const limit = 400_000
    const stand = openEngine({ speeds: () => ({ subuser: limit }), leaseBytes: 100_000 })
    const origin = openByteOrigin()
    const fromMs = Date.now()
    const clients = [await pour(origin, through(stand)), await pour(origin, through(stand))]
    const upward = await drink(through(stand))
    const other = await pour(origin, passOf(stand, 'anna'))
    const totals = (): number[] => [...clients.map(({ total }) => total), upward.drunk()]
    const carried = (): number => totals().reduce((sum, total) => sum + total, 0)
    // All three pour without end, so that each has its turn only if the others give way.
    await until(() => totals().every((total) => total > limit / 20) && carried() > 0.8 * limit)
    expectWithin(limit, carried(), fromMs)
    // At 400 kB/s this would take 100 s, which is more than until() waits.
    await until(() => other.total > 40_000_000)
    expectWithin(limit, carried(), fromMs)
    for (const client of [...clients, other]) client.close()
    upward.stop()
    origin.stop()
    await stand.stop()
  })

  test('a tunnel whose client does not read takes nothing of the limit from another tunnel of its credential', async () => {
    const stand = openEngine({ speeds: () => ({ subuser: 20_000_000 }) })
    const origin = openByteOrigin()
    const stalled = await pour(origin, through(stand))
    await stalled.until(() => stalled.total > 1000)
    stalled.readOnly(0)
    await until(() => stand.engine.status.maxHeld > 0)
    const client = await pour(origin, through(stand))
    await until(() => client.total > 8_000_000)
    // All else that was taken from the limit is on its way: at most 512 KiB held, and what the sockets have.
    const received = client.total + stalled.total
    expect(stand.engine.carrier.health.carried - received).toBeLessThan(2_000_000)
    expect(stand.engine.status.maxHeld).toBeLessThanOrEqual(512 * 1024)
    for (const each of [stalled, client]) each.close()
    origin.stop()
    await stand.stop()
  })

  test('a limit that is set, raised, lowered or lifted applies to a tunnel that is open', async () => {
    let subuser = Number.POSITIVE_INFINITY
    const stand = openEngine({ speeds: () => ({ subuser }) })
    const origin = openByteOrigin()
    const carried = (): number => stand.engine.carrier.health.carried
    /** Changes the limit, and returns when the engine goes by it and has reported all that it carried before. */
    const change = async (limit: number): Promise<void> => {
      subuser = limit
      made += 1
      const username = `user${made}`
      // The engine learns of this user after the limit. A second tunnel is accepted after the turn of the first.
      stand.change({ proxies: [proxyOf(100 + made, username)] })
      for (let opened = 0; opened < 2; opened += 1) {
        const target = { host: '127.0.0.1', port: origin.port }
        const { client } = await openTunnel(passOf(stand, username), 'connect', target)
        client.close()
      }
    }
    const client = await pour(origin, through(stand))
    await until(() => client.total > 20_000_000)
    // Each step between the two rates is so large that without it until() would give up.
    for (const limit of [20_000, 4_000_000, 20_000]) {
      await change(limit)
      const [fromMs, from] = [Date.now(), carried()]
      await until(() => carried() - from > 0.6 * limit)
      // The turn that is under way when `from` is read may have taken what was saved, and the next one saves again.
      expectWithin(limit, carried() - from, fromMs, 2 * savedMs)
    }
    await change(Number.POSITIVE_INFINITY)
    const from = client.total
    await until(() => client.total - from > 20_000_000)
    client.close()
    origin.stop()
    await stand.stop()
  })

  test('a limit of 4 MB/s covers the bodies of forwarded requests and their answers together', async () => {
    const limit = 4_000_000
    const bodyBytes = 1_500_000
    const stand = openEngine({ speeds: () => ({ subuser: limit }) })
    const origin = openByteOrigin()
    const { username, password } = through(stand)
    const proxy = `http://${username}:${password}@127.0.0.1:${stand.port}`
    origin.expect({ id: 'both', up: 0, down: bodyBytes, afterwards: 'end', framing: 'length' })
    const fromMs = Date.now()
    const request = { method: 'POST', body: new Uint8Array(bodyBytes), proxy }
    const answer = await fetch(`http://${origin.host}/both`, request)
    expect((await answer.arrayBuffer()).byteLength).toBe(bodyBytes)
    expectWithin(limit, 2 * bodyBytes, fromMs)
    origin.stop()
    await stand.stop()
  })
})

describe.each([...enginesOf('sqlite')])('a speed limit in the price list of a shop on %s', (engine) => {
  test('speed_mbit 8 in the price list reaches the gateway, and what it carries is billed to the byte', async () => {
    const road = await openRoad(engine)
    const origin = openByteOrigin()
    const { pricing, db } = road.services
    const shown = (await pricing.show())?.value as { premium: object }
    const slow = { ...shown, premium: { ...shown.premium, speed_mbit: 8 } }
    await db.transact((tx) => pricing.apply(tx, slow))
    const [user] = await addUsers(road, 1, 1)
    if (!user) throw new Error('no sub-user was added')
    const passed: Passed = { sent: 0, received: 0 }
    /** Downloads so many bytes, and tells how long that took by the gateway's clock. */
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
    // 1 MB at 1 MB/s takes 725 ms when 275 ms of it were saved.
    expect(await untilTrue(async () => (await pass(1_000_000)) >= 1000 - savedMs - stepMs)).toBeTrue()
    await road.stopGateway()
    expect(await usedBy(road, user.subuser)).toBe(passed.sent + passed.received)
    origin.stop()
    await road.stop()
  })
})
