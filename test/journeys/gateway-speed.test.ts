import { describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { openEngine, passwordOf, type Stand } from '../harness/engine.ts'
import { openRoad } from '../harness/gateway.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { lineOf, openTunnel, type Pass, type Passed } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import type { WireClient } from '../harness/wire-client.ts'

const plenty = 1_000_000_000
const lineBytes = 40
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

/** A tunnel into which the client pours all it can; tells what has come out at its other end. */
async function drink(pass: Pass): Promise<{ drunk: () => number; stop: () => void }> {
  let drunk = 0
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (_: Socket, bytes: Uint8Array) => void (drunk += bytes.length) },
  })
  const { client } = await openTunnel(pass, 'socks', { host: '127.0.0.1', port: listener.port })
  void client.send(Buffer.alloc(100_000_000, 'd')).catch(() => {})
  return {
    drunk: () => drunk,
    stop() {
      client.close()
      listener.stop(true)
    },
  }
}

/** Until this process is not held up: what came while it was has been read then, and is nobody's rate. */
async function untilPrompt(): Promise<void> {
  let [lookedMs, promptLooks] = [performance.now(), 0]
  await until(() => {
    const tookMs = performance.now() - lookedMs
    lookedMs += tookMs
    promptLooks = tookMs < 10 ? promptLooks + 1 : 0
    return promptLooks > 5
  })
}

/** How many bytes a second come, from now on, for so long. */
async function rateOf(read: () => number, forMs: number): Promise<number> {
  await untilPrompt()
  const [fromMs, from] = [performance.now(), read()]
  await untilTrue(() => performance.now() - fromMs >= forMs)
  return ((read() - from) * 1000) / (performance.now() - fromMs)
}

const mostTries = 8
/** What a credential may make up for after it was held up. */
const savedMs = 250

/** Notes for which share of the time this process was held up so long that nobody could make up for it. */
function watchHoldUps(): { stop(): number } {
  const beganMs = performance.now()
  let [lookedMs, lostMs] = [beganMs, 0]
  const look = (): void => {
    const nowMs = performance.now()
    lostMs += Math.max(0, nowMs - lookedMs - savedMs)
    lookedMs = nowMs
  }
  const timer = setInterval(look, 10)
  return {
    stop() {
      clearInterval(timer)
      look()
      return lostMs / (lookedMs - beganMs)
    },
  }
}

/**
 * Never more than a tenth above the limit; and not more than a tenth below it in at least one of a few tries, but for
 * the time in which others had the machine.
 */
async function expectRate(limit: number, measure: () => Promise<number>): Promise<void> {
  let best = 0
  for (let tried = 0; tried < mostTries && best <= 0.9 * limit; tried += 1) {
    const holdUps = watchHoldUps()
    const rate = await measure()
    expect(rate).toBeLessThan(1.1 * limit)
    best = Math.max(best, rate / (1 - holdUps.stop()))
  }
  expect(best).toBeGreaterThan(0.9 * limit)
}

describe('a speed limit', () => {
  const limit = 2_000_000

  test('is kept within a tenth over all tunnels of a credential, both ways together; others are not hindered', async () => {
    const stand = openEngine({ speeds: () => ({ subuser: limit }), leaseBytes: 1_000_000 })
    const origin = openByteOrigin()
    const clients = [await pour(origin, through(stand)), await pour(origin, through(stand))]
    const upward = await drink(through(stand))
    const other = await pour(origin, passOf(stand, 'anna'))
    const carried = (): number => clients.reduce((sum, { total }) => sum + total, upward.drunk())
    await until(() => carried() > limit / 10)
    const before = clients.map(({ total }) => total)
    const otherBefore = other.total
    await expectRate(limit, () => rateOf(carried, 4000))
    // Each of them has had its turn, and nobody else noticed.
    for (const [index, { total }] of clients.entries()) expect(total - (before[index] ?? 0)).toBeGreaterThan(limit / 4)
    expect(upward.drunk()).toBeGreaterThan(limit / 4)
    expect(other.total - otherBefore).toBeGreaterThan(3 * 4 * limit)
    for (const client of [...clients, other]) client.close()
    upward.stop()
    origin.stop()
    await stand.stop()
  })

  test('a tunnel whose client does not read costs the others of its credential nothing', async () => {
    const stand = openEngine({ speeds: () => ({ subuser: limit }) })
    const origin = openByteOrigin()
    const stalled = await pour(origin, through(stand))
    await stalled.until(() => stalled.total > 1000)
    stalled.readOnly(0)
    await until(() => stand.engine.standing.mostHeld > 0)
    const client = await pour(origin, through(stand))
    await until(() => client.total > limit / 2)
    await expectRate(limit, () => rateOf(() => client.total, 3000))
    expect(stand.engine.standing.mostHeld).toBeLessThanOrEqual(512 * 1024)
    for (const each of [stalled, client]) each.close()
    origin.stop()
    await stand.stop()
  })

  test('that is set, changed or lifted holds for whoever is being carried', async () => {
    let subuser = Number.POSITIVE_INFINITY
    const stand = openEngine({ speeds: () => ({ subuser }) })
    const origin = openByteOrigin()
    const client = await pour(origin, through(stand))
    await until(() => client.total > 20_000_000)
    for (const rate of [1_000_000, 3_000_000]) {
      subuser = rate
      stand.engine.changed({ proxies: [], subusers: [], exits: false, ports: false }, () => {})
      await rateOf(() => client.total, 500)
      // Up to a quarter of a second may have been saved before: of three that is less than a tenth.
      await expectRate(rate, () => rateOf(() => client.total, 3000))
    }
    subuser = Number.POSITIVE_INFINITY
    stand.engine.changed({ proxies: [], subusers: [], exits: false, ports: false }, () => {})
    const from = client.total
    await until(() => client.total - from > 20_000_000)
    client.close()
    origin.stop()
    await stand.stop()
  })

  test('forwarded requests are kept to it too, in their bodies and in their answers', async () => {
    const stand = openEngine({ speeds: () => ({ subuser: limit }) })
    const origin = openByteOrigin()
    const { username, password } = through(stand)
    const proxy = `http://${username}:${password}@127.0.0.1:${stand.port}`
    await expectRate(limit, async () => {
      origin.expect({ id: 'both', up: 0, down: 3_000_000, afterwards: 'end', framing: 'length' })
      const startedMs = performance.now()
      const request = { method: 'POST', body: new Uint8Array(3_000_000), proxy }
      const answer = await fetch(`http://${origin.host}/both`, request)
      expect((await answer.arrayBuffer()).byteLength).toBe(3_000_000)
      return (6_000_000 * 1000) / (performance.now() - startedMs)
    })
    origin.stop()
    await stand.stop()
  })
})

describe.each([...enginesOf('sqlite')])('a speed limit in the price list of a shop on %s', (engine) => {
  test('reaches the gateway within its next question, and what is carried is billed to the byte', async () => {
    const road = await openRoad(engine)
    const origin = openByteOrigin()
    const { pricing, db } = road.services
    const shown = (await pricing.show())?.value as { premium: object }
    const slow = { ...shown, premium: { ...shown.premium, speed_mbit: 8 } }
    await db.transact((tx) => pricing.apply(tx, slow))
    const [user] = await addUsers(road, 1, 0.1)
    if (!user) throw new Error('nobody was added')
    const passed: Passed = { sent: 0, received: 0 }
    const pass = async (down: number): Promise<number> => {
      made += 1
      const id = `billed-${made}`
      origin.expect({ id, up: lineBytes, down, afterwards: 'end' })
      const target = { host: '127.0.0.1', port: origin.port }
      const { client, handshake } = await openTunnel(user, 'connect', target)
      const startedMs = performance.now()
      await client.send(lineOf(id, lineBytes))
      await client.untilEnd()
      passed.sent += lineBytes
      passed.received += client.total - handshake
      client.close()
      return (down * 1000) / (performance.now() - startedMs)
    }
    expect(await untilTrue(async () => (await pass(300_000)) < 1_500_000)).toBeTrue()
    await expectRate(1_000_000, () => pass(2_000_000))
    await road.stopGateway()
    expect(await usedBy(road, user.subuser)).toBe(passed.sent + passed.received)
    origin.stop()
    await road.stop()
  })
})
