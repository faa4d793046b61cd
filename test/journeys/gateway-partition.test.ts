import { describe, expect, test } from 'bun:test'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { startFlow } from '../harness/flow.ts'
import { freePort } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { scaled } from '../harness/scale.ts'
import { openStoppableShop } from '../harness/stoppable-shop.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

const awaySeconds = scaled(60)
const leaseBytes = 2_000_000

describe.each([...enginesOf('postgres')])('a gateway whose shop on %s is gone', (engine) => {
  test(`for ${awaySeconds} seconds carries on within its leases, and nothing is lost or doubled`, async () => {
    const port = freePort()
    const shop = await openStoppableShop(engine, { TURNPIKE_PREMIUM_LEASE_BYTES: String(leaseBytes) })
    const gateway = await makeGatewayProcess(shop, port)
    const origin = openByteOrigin()
    try {
      const users = await addUsers({ ...shop, port }, 3, 0.2)
      const [modest, hungry, newcomer] = users
      if (!modest || !hungry || !newcomer) throw new Error('nobody there')
      await gateway.start()
      const slow = await startFlow(origin, modest, { everyMs: 250 })
      const fast = await startFlow(origin, hungry, { everyMs: 5 })
      const known = await startFlow(origin, newcomer, { everyMs: 250 })
      known.client.close()
      await shop.stop()

      const goneMs = performance.now()
      const atFirst = fast.client.total
      const late = await startFlow(origin, newcomer, { everyMs: 250 })
      await slow.client.until(() => performance.now() - goneMs > awaySeconds * 1000)
      expect(slow.client.longestGapMs).toBeLessThan(1000)
      expect(late.client.longestGapMs).toBeLessThan(1000)
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
