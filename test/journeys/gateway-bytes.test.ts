import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { basic, drawFrom, type Pass, passRequests, passTunnel } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { WireClient } from '../harness/wire-client.ts'
import { findingsOf } from '../harness/wired.ts'

const users = 20
/** Concurrent transfers per user: a transfer mostly waits, 250 ms for a reset. */
const lanes = 6
/** SQLite: the smallest lease allowed, so that it runs out in every second transfer. PostgreSQL: the default. */
const leaseBytes = { sqlite: '65536', postgres: '8388608' }
const counts = { sqlite: isLong ? 9000 : 400, postgres: isLong ? 1000 : 100 }

describe.each([...enginesOf('sqlite')])('billing of bytes by the gateway of a shop on %s', (engine) => {
  const count = counts[engine]
  let shop: ShopWithGateway
  let origin: ByteOrigin
  beforeAll(async () => {
    shop = await openShopWithGateway(engine, {
      shop: { TURNPIKE_PREMIUM_LEASE_BYTES: leaseBytes[engine] },
      gateway: { TURNPIKE_GATEWAY_NEW: '100000' },
    })
    origin = openByteOrigin()
  })
  afterAll(async () => {
    origin.stop()
    await shop.stop()
  })

  test('a sub-user on a dedicated proxy’s connection is billed the bytes received before its reset', async () => {
    const [user] = await addUsers(shop, 1, 0.1)
    const [proxy] = await shop.buyProxies()
    if (!user || !proxy) throw new Error('nothing was bought')
    const client = await WireClient.connect(shop.port)
    const ask = async (id: string, pass: Pick<Pass, 'username' | 'password'>, down: number): Promise<number> => {
      origin.expect({ id, up: 0, down, afterwards: 'stay' })
      const head = `GET http://${origin.host}/${id} HTTP/1.1\r\nHost: ${origin.host}\r\nProxy-Authorization: ${basic({ ...pass, port: 0 })}\r\n\r\n`
      await client.send(Buffer.from(head))
      return head.length
    }
    await ask('first', proxy, 10)
    await client.until(() => client.kept.toString('latin1').endsWith('xxxxxxxxxx'))
    const before = client.total
    client.readOnly(1000)
    const sent = await ask('second', user, 30_000_000)
    await client.until(() => client.total > before)
    const received = (await client.reset()) - before
    // 30 MB exceeds the socket buffers of both ends for a client that does not read.
    expect(received).toBeLessThan(30_000_000)
    await untilTrue(async () => (await usedBy(shop, user.subuser)) === sent + received)
    expect(await usedBy(shop, user.subuser)).toBe(sent + received)
  })

  // The last test, because it stops the gateway, which then has reported all its counts.
  test(`${count} random transfers of ${users} users are billed to the byte sent and received`, async () => {
    const subusers = await addUsers(shop, users, 1)
    const seed = Math.floor(Math.random() * 2 ** 31)
    const expected = subusers.map(() => 0)
    let left = count
    const lane = async (index: number, draw: ReturnType<typeof drawFrom>): Promise<void> => {
      const pass = subusers[index]
      if (!pass) return
      while (left > 0) {
        left -= 1
        const { sent, received } = await (draw.upTo(2) === 0 ? passRequests : passTunnel)(pass, origin, draw)
        expected[index] = (expected[index] ?? 0) + sent + received
      }
    }
    await Promise.all(Array.from({ length: users * lanes }, (_, index) => lane(index % users, drawFrom(seed + index))))
    const billed = () => Promise.all(subusers.map((each) => usedBy(shop, each.subuser)))
    await untilTrue(async () => Bun.deepEquals(await billed(), expected))
    expect({ seed, bytes: await billed() }).toEqual({ seed, bytes: expected })
    await shop.stopGateway()
    expect(await billed()).toEqual(expected)
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
