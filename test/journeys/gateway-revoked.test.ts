import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { type Engine, enginesOf } from '../harness/database.ts'
import { type Flow, startFlow } from '../harness/flow.ts'
import { openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { addUsers, pool, type User } from '../harness/traffic.ts'
import type { Pass } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { WireClient } from '../harness/wire-client.ts'

/** Largest time from the request to revoke until the last byte. */
const cutMs = 2000

/** A login with a running transfer, and the request that revokes it. */
type Revocable = { readonly pass: Pass; readonly revoke: () => Promise<unknown>; readonly through?: typeof openByPort }

const revocations: Readonly<Record<string, (shop: ShopWithGateway) => Promise<Revocable>>> = {
  'a new password': async (shop) => {
    const user = await addUser(shop)
    return { pass: user, revoke: () => shop.post('/premium/password/reset', { subuser_id: user.subuser }) }
  },
  'blocking a sub-user': async (shop) => {
    const user = await addUser(shop)
    const change = { subuser_id: user.subuser, blocked: true }
    return { pass: user, revoke: () => shop.post('/premium/subusers/update', change) }
  },
  'deleting a sub-user': async (shop) => {
    const [user, receiver] = [await addUser(shop), await addUser(shop)]
    const change = { subuser_id: user.subuser, to_subuser_id: receiver.subuser }
    return { pass: user, revoke: () => shop.post('/premium/subusers/delete', change) }
  },
  'taking an address off the whitelist': async (shop) => {
    const { subuser } = await addUser(shop)
    await shop.post('/premium/whitelist/add', { ip: '127.0.0.1', subuser_id: subuser })
    const order = { pool_type: pool, format_id: 3, subuser_id: subuser }
    const { data } = await shop.post('/premium/proxies/generate', order)
    const port = Number((data.proxies as string[])[0]?.split(':')[1])
    const change = { ip: '127.0.0.1', subuser_id: subuser }
    const revoke = () => shop.post('/premium/whitelist/remove', change)
    return { pass: { port, username: '', password: '' }, through: openByPort, revoke }
  },
  'blocking a customer': async (shop) => {
    const { customer, token } = await shop.newCustomer(10_000n)
    await shop.post('/premium/traffic/buy', { pool_type: pool, gb: 0.1 }, { token })
    const { login, password } = (await shop.get('/premium/password', { token })).data
    const pass = { port: shop.port, username: `${login}-pool-${pool}`, password }
    return { pass, revoke: () => shop.services.setBlocked(customer, true) }
  },
  'another protocol': async (shop) => {
    const { id, pass } = await buyProxy(shop)
    return { pass, revoke: () => shop.post('/dedicated/protocol', { ids: [id], port_type: 'socks' }) }
  },
  'another address': async (shop) => {
    const { id, pass } = await buyProxy(shop)
    return { pass, revoke: () => shop.post('/dedicated/replace', { id }) }
  },
  expiry: async (shop) => {
    const { id, pass } = await buyProxy(shop)
    const sql = 'UPDATE proxies SET expires_at = $1, started_at = 1, changed_at = $1 WHERE id = $2'
    return { pass, revoke: () => shop.services.db.transact(async (tx) => void (await tx.run(sql, [Date.now(), id]))) }
  },
}

async function addUser(shop: ShopWithGateway): Promise<User> {
  const [user] = await addUsers(shop, 1, 0.1)
  if (!user) throw new Error('no sub-user was added')
  return user
}

async function buyProxy(shop: ShopWithGateway): Promise<{ id: number; pass: Pass }> {
  const [proxy] = await shop.buyProxies()
  if (!proxy) throw new Error('nothing was bought')
  return { id: proxy.id, pass: { port: shop.port, username: proxy.username, password: proxy.password } }
}

/** Opens a tunnel by a whitelist port, without a login. The gateway opens the port a moment after the answer. */
async function openByPort({ port }: Pass, origin: ByteOrigin): Promise<{ client: WireClient; handshake: number }> {
  let client: WireClient | undefined
  await untilTrue(async () => {
    client = await WireClient.connect(port).catch(() => undefined)
    return client !== undefined
  })
  await client?.send(Buffer.from(`CONNECT ${origin.host} HTTP/1.1\r\nHost: ${origin.host}\r\n\r\n`))
  await client?.until(() => client?.kept.includes('HTTP/1.1 200') === true)
  if (!client) throw new Error('no gateway listens at the port')
  return { client, handshake: client.kept.indexOf('\r\n\r\n') + 4 }
}

/** Revokes, waits for the end of the transfer, and returns the time in milliseconds. */
async function cutAfter(client: WireClient, revoke: () => Promise<unknown>, engine: Engine): Promise<number> {
  const stopwatch = startStopwatch(engine)
  await revoke()
  await client.untilEnd()
  return stopwatch.elapsedMs()
}

describe.each([...enginesOf('sqlite')])('revocation of access on %s', (engine) => {
  let shop: ShopWithGateway
  let origin: ByteOrigin
  let neighbour: Flow
  beforeAll(async () => {
    shop = await openShopWithGateway(engine)
    origin = openByteOrigin()
    neighbour = await startFlow(origin, await addUser(shop))
  })
  afterAll(async () => {
    await shop.stop()
    origin.stop()
  })

  test.each(Object.keys(revocations))(
    '%s ends a running transfer within 2 s, and another user’s transfer continues',
    async (name) => {
      const target = await revocations[name]?.(shop)
      if (!target) throw new Error('no such revocation')
      const { client } = await startFlow(origin, target.pass, { ...(target.through && { through: target.through }) })
      expect(await cutAfter(client, target.revoke, engine)).toBeLessThan(cutMs)
      const enough = neighbour.client.total + 50_000
      await neighbour.client.until(() => neighbour.client.total >= enough)
      expect([neighbour.client.isClosed, neighbour.client.total >= enough]).toEqual([false, true])
    },
  )

  test('another user’s transfer loses no byte, and revoking a node ends its transfers within 2 s', async () => {
    expect(await neighbour.finish()).toBeGreaterThan(0)
    const { client } = await startFlow(origin, await addUser(shop))
    const revoke = () => shop.services.fleet.revoke(`gateway-${shop.port}`)
    expect(await cutAfter(client, revoke, engine)).toBeLessThan(cutMs)
  })
})
