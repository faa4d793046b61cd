import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { addUsers, buyFor, type User, usedBy } from '../harness/traffic.ts'
import { lineOf, openTunnel, Refused, type Via } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import type { WireClient } from '../harness/wire-client.ts'
import { findingsOf } from '../harness/wired.ts'

const tunnels = 50
const leaseBytes = 8_388_608
const endless = 2_000_000_000

/** Opens tunnels that download without end. */
async function pull(
  shop: ShopWithGateway,
  user: User,
  count: number,
  port: number,
): Promise<{ client: WireClient; handshake: number }[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const via: Via = index % 2 === 0 ? 'connect' : 'socks'
      const opened = await openTunnel({ ...user, port: shop.port }, via, { host: '127.0.0.1', port })
      await opened.client.send(lineOf('pull', 100))
      return opened
    }),
  )
}

describe.each([...enginesOf('sqlite')])('the traffic limit of a sub-user on %s', (engine) => {
  const gb = isLong && engine === 'sqlite' ? 1 : 0.1
  let shop: ShopWithGateway
  let origin: ByteOrigin
  beforeAll(async () => {
    shop = await openShopWithGateway(engine)
    origin = openByteOrigin()
    origin.expect({ id: 'pull', up: 100, down: endless, afterwards: 'end' })
  })
  afterAll(async () => {
    await shop.stopGateway()
    expect(await findingsOf(shop.services)).toEqual([])
    origin.stop()
    await shop.stop()
  })

  test(`${tunnels} tunnels relay exactly the ${gb} GB bought, and more right after the next purchase`, async () => {
    const [user] = await addUsers(shop, 1, gb)
    if (!user) throw new Error('there is no user')
    const bought = gb * 1_000_000_000
    const pulling = await pull(shop, user, tunnels, origin.port)
    await Promise.all(pulling.map(({ client }) => client.untilEnd()))
    const relayed = pulling.reduce((sum, { client, handshake }) => sum + client.total - handshake + 100, 0)
    expect(relayed).toBe(bought)
    expect(await untilTrue(async () => (await usedBy(shop, user.subuser)) === relayed)).toBeTrue()

    const refusal = await openTunnel(user, 'connect', { host: '127.0.0.1', port: origin.port }).catch(
      (error: unknown) => error,
    )
    expect(refusal).toBeInstanceOf(Refused)
    expect(String(refusal)).toContain('HTTP/1.1 402 ')
    expect(String(refusal)).toContain('X-Turnpike-Error: traffic_exhausted')

    await buyFor(shop, user.subuser, 0.1)
    const [again] = await pull(shop, user, 1, origin.port)
    await again?.client.until(() => again.client.total > 1_000_000)
    expect(again?.client.total).toBeGreaterThan(1_000_000)
    await again?.client.reset()
  })

  test('50 downloads that do not read leave the rest of the traffic to other tunnels', async () => {
    const [user] = await addUsers(shop, 1, 1)
    if (!user) throw new Error('there is no user')
    const stalled = await Promise.all(
      Array.from({ length: tunnels }, async () => {
        const { client } = await openTunnel(user, 'connect', { host: '127.0.0.1', port: origin.port })
        client.readOnly(0)
        await client.send(lineOf('pull', 100))
        return client
      }),
    )
    const [moving] = await pull(shop, user, 1, origin.port)
    await moving?.client.until(() => moving.client.total > 3 * leaseBytes)
    expect(moving?.client.total).toBeGreaterThan(3 * leaseBytes)
    expect(stalled.filter((client) => client.isClosed || client.hasEnded)).toEqual([])
    await Promise.all((moving ? [...stalled, moving.client] : stalled).map((client) => client.reset()))
  })
})
