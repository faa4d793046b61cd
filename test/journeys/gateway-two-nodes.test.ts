import { describe, expect, test } from 'bun:test'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { enginesOf } from '../harness/database.ts'
import { freePort, openShopWithGateway } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { isLong } from '../harness/scale.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { drawFrom, lineOf, openTunnel, passRequests, passTunnel } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

const leaseBytes = 8_388_608
const tunnelsEach = 10
const lanes = isLong ? 16 : 12
const transfersEach = isLong ? 10 : 5

describe.each([...enginesOf('postgres')])('one sub-user at two gateways of a shop on %s', (engine) => {
  test('two gateways bill one sub-user the sum of their bytes and together relay no more than was bought', async () => {
    const shop = await openShopWithGateway(engine)
    const second = await makeGatewayProcess(shop, freePort())
    const origin = openByteOrigin()
    try {
      await second.start()
      const gb = isLong ? 0.2 : 0.1
      const [user] = await addUsers(shop, 1, gb)
      if (!user) throw new Error('there is no user')
      const bought = gb * 1_000_000_000
      const passes = [user, { ...user, port: second.port }]
      let relayed = 0
      const lane = async (index: number): Promise<void> => {
        const draw = drawFrom(Math.random() * 2 ** 31)
        const pass = passes[index % 2] ?? user
        for (let count = 0; count < transfersEach; count += 1) {
          const { sent, received } = await (draw.upTo(2) === 0 ? passRequests : passTunnel)(pass, origin, {
            ...draw,
            size: () => draw.upTo(50_000),
          })
          relayed += sent + received
        }
      }
      await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)))
      expect(await untilTrue(async () => (await usedBy(shop, user.subuser)) === relayed)).toBeTrue()

      origin.expect({ id: 'pull', up: 100, down: 2_000_000_000, afterwards: 'end' })
      const pulling = await Promise.all(
        Array.from({ length: 2 * tunnelsEach }, async (_, index) => {
          const opened = await openTunnel(passes[index % 2] ?? user, 'connect', {
            host: '127.0.0.1',
            port: origin.port,
          })
          await opened.client.send(lineOf('pull', 100))
          return opened
        }),
      )
      await Promise.all(pulling.map(({ client }) => client.untilEnd()))
      for (const { client, handshake } of pulling) relayed += client.total - handshake + 100
      expect(relayed).toBeLessThanOrEqual(bought)
      expect(relayed).toBeGreaterThan(bought - 2 * leaseBytes)
      expect(await untilTrue(async () => (await usedBy(shop, user.subuser)) === relayed)).toBeTrue()
      await Promise.all([second.stop(), shop.stopGateway()])
      expect(await usedBy(shop, user.subuser)).toBe(relayed)
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await second.kill()
      second.remove()
      origin.stop()
      await shop.stop()
    }
  })
})
