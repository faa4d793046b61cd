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

/** Pieces of a slow download while the shop is down, ten per second: one minute in a long run. */
const pieces = isLong ? 600 : 20
const pieceBytes = 5000
/** More bytes than the pieces of one download. */
const leaseBytes = isLong ? 5_000_000 : 500_000

describe.each([...enginesOf('sqlite')])('a gateway while its shop on %s is down', (engine) => {
  test(`a gateway relays ${pieces} pieces within its leases while the shop is down, and bills bytes once`, async () => {
    const port = freePort()
    const shop = await openStoppableShop(engine, { TURNPIKE_PREMIUM_LEASE_BYTES: String(leaseBytes) })
    const gateway = await makeGatewayProcess(shop, port)
    const origin = openByteOrigin()
    try {
      const users = await addUsers({ ...shop, port }, 3, 0.2)
      const [slowUser, fastUser, lateUser] = users
      if (!slowUser || !fastUser || !lateUser) throw new Error('no sub-users were added')
      await gateway.start()
      const slow = await startFlow(origin, slowUser, { everyMs: 100 })
      const fast = await startFlow(origin, fastUser, { everyMs: 5 })
      const known = await startFlow(origin, lateUser, { everyMs: 100 })
      known.client.close()
      await shop.stop()

      const atFirst = fast.client.total
      const late = await startFlow(origin, lateUser, { everyMs: 100 })
      const wanted = [slow, late].map(({ client }) => ({ client, enough: client.total + pieces * pieceBytes }))
      for (const { client, enough } of wanted) {
        await client.until(() => client.total >= enough)
        expect([client.isClosed, client.total >= enough]).toEqual([false, true])
      }
      expect(fast.client.isClosed).toBeFalse()
      expect(fast.client.total - atFirst).toBeLessThanOrEqual(leaseBytes)

      await shop.start()
      const pausedAt = fast.client.total
      await fast.client.until(() => fast.client.total > pausedAt + leaseBytes)
      const expected = [await slow.finish(), await fast.finish(), (await late.finish()) + (await known.finish())]
      const billed = () => Promise.all(users.map((each) => usedBy(shop, each.subuser)))
      await untilTrue(async () => Bun.deepEquals(await billed(), expected))
      expect(await billed()).toEqual(expected)
      await gateway.stop()
      expect(await billed()).toEqual(expected)
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await gateway.kill()
      gateway.remove()
      origin.stop()
      await shop.remove()
    }
  })
})
