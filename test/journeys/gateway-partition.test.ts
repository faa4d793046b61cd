import { describe, expect, test } from 'bun:test'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { startFlow } from '../harness/flow.ts'
import { freePort } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { isLong } from '../harness/scale.ts'
import { openStoppableShop } from '../harness/stoppable-shop.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

/** How many pieces a slow download gets while the shop is away, ten a second: a minute in a long run. */
const pieces = isLong ? 600 : 20
const pieceBytes = 5000
/** More than the pieces of one download. */
const leaseBytes = isLong ? 5_000_000 : 500_000

describe.each([...enginesOf('sqlite')])('a gateway whose shop on %s is gone', (engine) => {
  test(`carries on within its leases for ${pieces} pieces of each slow download, and nothing is lost or doubled`, async () => {
    const port = freePort()
    const shop = await openStoppableShop(engine, { TURNPIKE_PREMIUM_LEASE_BYTES: String(leaseBytes) })
    const gateway = await makeGatewayProcess(shop, port)
    const origin = openByteOrigin()
    try {
      const users = await addUsers({ ...shop, port }, 3, 0.2)
      const [modest, hungry, newcomer] = users
      if (!modest || !hungry || !newcomer) throw new Error('nobody there')
      await gateway.start()
      const slow = await startFlow(origin, modest, { everyMs: 100 })
      const fast = await startFlow(origin, hungry, { everyMs: 5 })
      const known = await startFlow(origin, newcomer, { everyMs: 100 })
      known.client.close()
      await shop.stop()

      const atFirst = fast.client.total
      const late = await startFlow(origin, newcomer, { everyMs: 100 })
      const wanted = [slow, late].map(({ client }) => ({ client, enough: client.total + pieces * pieceBytes }))
      for (const { client, enough } of wanted) {
        await client.until(() => client.total >= enough)
        expect([client.isClosed, client.total >= enough]).toEqual([false, true])
      }
      expect(fast.client.isClosed).toBeFalse()
      expect(fast.client.total - atFirst).toBeLessThanOrEqual(leaseBytes)

      await shop.start()
      const standing = fast.client.total
      await fast.client.until(() => fast.client.total > standing + leaseBytes)
      const real = [await slow.finish(), await fast.finish(), (await late.finish()) + (await known.finish())]
      const billed = () => Promise.all(users.map((each) => usedBy(shop, each.subuser)))
      await untilTrue(async () => Bun.deepEquals(await billed(), real))
      expect(await billed()).toEqual(real)
      await gateway.stop()
      expect(await billed()).toEqual(real)
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await gateway.kill()
      gateway.remove()
      origin.stop()
      await shop.remove()
    }
  })
})
