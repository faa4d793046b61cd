import { describe, expect, test } from 'bun:test'
import { realSurroundings } from '../../src/main/shop/services.ts'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { freePort } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { scaled } from '../harness/scale.ts'
import { startService } from '../harness/service.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Load, loads, startLoad } from './gateway-load.ts'

const kills = scaled(50)
const mebibyte = 1024 * 1024

describe('a gateway that is killed under load', () => {
  test(`${kills} times over bills nobody too much, and loses of each tunnel at most 1 MiB or one second`, async () => {
    const port = freePort()
    const service = await startService('sqlite', { TURNPIKE_GATEWAY_PORT: String(port) }, realSurroundings)
    const gateway = await makeGatewayProcess(service, port)
    const origin = openByteOrigin()
    const users = await addUsers({ ...service, port }, loads.length, 10)
    const billed = new Map<User, number>()
    try {
      for (let kill = 0; kill < kills; kill += 1) {
        await gateway.start()
        const running = await Promise.all(users.map((user, index) => startLoad(loads[index] ?? 'down', user, origin)))
        await Bun.sleep(300 + Math.random() * 900)
        await gateway.kill()
        const carried = await Promise.all(running.map((each) => each.over))
        await gateway.start()
        expect(await untilTrue(() => !gateway.hasJournals())).toBeTrue()
        for (const [index, user] of users.entries()) {
          const load: Load = loads[index] ?? 'down'
          const now = await usedBy(service, user.subuser)
          const added = now - (billed.get(user) ?? 0)
          billed.set(user, now)
          const { most, least, second } = carried[index] ?? { most: 0, least: 0, second: 0 }
          expect({ kill, load, over: Math.max(0, added - most) }).toEqual({ kill, load, over: 0 })
          const lost = Math.max(0, least - added - Math.max(mebibyte, second))
          expect({ kill, load, lost, least, added, second }).toEqual({ kill, load, lost: 0, least, added, second })
        }
        await gateway.stop()
      }
      expect(await findingsOf(service.services)).toEqual([])
    } finally {
      await gateway.kill()
      gateway.remove()
      origin.stop()
      await service.stop()
    }
  })
})
