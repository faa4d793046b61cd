import { describe, expect, test } from 'bun:test'
import { realRuntime } from '../../src/app/shop/services.ts'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { freePort } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { isLong } from '../harness/scale.ts'
import { startService } from '../harness/service.ts'
import { addUsers, type User, usedBy } from '../harness/traffic.ts'
import { openTunnel } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import { findingsOf } from '../harness/wired.ts'
import { type Load, loads, startLoad, Watch } from './gateway-load.ts'

const mebibyte = 1024 * 1024
/** The gateway is killed once each load has moved so many bytes: at its first bytes, or with much behind it. */
type Moment = Readonly<Record<Load, number>>
const moments: readonly Moment[] = [
  { down: 1, steady: 1, hardly: 1, up: 1, requests: 1 },
  { down: 8 * mebibyte, steady: 200_000, hardly: 50_000, up: 8 * mebibyte, requests: mebibyte },
]
const kills = isLong ? 50 : moments.length

/** One of the moments, or in a long run a random one between them. */
function momentOf(kill: number): Moment {
  const [soon, late] = moments as [Moment, Moment]
  if (!isLong) return moments[kill] ?? late
  const part = Math.random()
  return { ...late, ...Object.fromEntries(loads.map((load) => [load, soon[load] + part * late[load]])) }
}

/** Opens a tunnel and closes it; the handshake is not billed. */
const canOpenTunnel = (user: User, origin: ByteOrigin): Promise<boolean> =>
  openTunnel(user, 'connect', { host: '127.0.0.1', port: origin.port }).then(
    ({ client }) => {
      client.close()
      return true
    },
    () => false,
  )

describe('a gateway killed under load', () => {
  test(`a gateway killed by SIGKILL ${kills} times overbills no byte and loses at most 1 MiB or 1 s of each tunnel`, async () => {
    const port = freePort()
    const service = await startService('sqlite', { TURNPIKE_GATEWAY_PORT: String(port) }, realRuntime)
    const gateway = await makeGatewayProcess(service, port)
    const origin = openByteOrigin()
    const users = await addUsers({ ...service, port }, loads.length, 10)
    const isServed = async () =>
      (await Promise.all(users.map((user) => canOpenTunnel(user, origin)))).every((isOpened) => isOpened)
    const billed = new Map<User, number>()
    try {
      await gateway.start()
      for (let kill = 0; kill < kills; kill += 1) {
        // The shop accepts ten boots of a node a minute, and the gateway answers 503 until this one is accepted.
        expect(await untilTrue(isServed)).toBeTrue()
        const watch = new Watch()
        const moment = momentOf(kill)
        const running = await Promise.all(
          users.map((user, index) => startLoad(loads[index] ?? 'down', user, origin, watch)),
        )
        await until(() => running.every((each, index) => each.bytes() >= moment[loads[index] ?? 'down']))
        await gateway.kill()
        const relayed = await Promise.all(running.map((each) => each.over))
        watch.stop()
        await gateway.start()
        expect(await untilTrue(() => !gateway.hasJournals())).toBeTrue()
        for (const [index, user] of users.entries()) {
          const load: Load = loads[index] ?? 'down'
          const now = await usedBy(service, user.subuser)
          const added = now - (billed.get(user) ?? 0)
          billed.set(user, now)
          const { max, min, second } = relayed[index] ?? { max: 0, min: 0, second: 0 }
          expect({ kill, load, over: Math.max(0, added - max) }).toEqual({ kill, load, over: 0 })
          const lost = Math.max(0, min - added - Math.max(mebibyte, second))
          expect({ kill, load, lost, min, added, second }).toEqual({ kill, load, lost: 0, min, added, second })
        }
      }
      await gateway.stop()
      expect(await findingsOf(service.services)).toEqual([])
    } finally {
      await gateway.kill()
      gateway.remove()
      origin.stop()
      await service.stop()
    }
  })
})
