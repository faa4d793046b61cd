import { describe, expect, test } from 'bun:test'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { engines } from '../harness/database.ts'
import { openRoad } from '../harness/gateway.ts'
import { scaled } from '../harness/scale.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { drawFrom, passRequests, passTunnel } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

const users = 20
const lanes = 3
const counts = { sqlite: scaled(9000), postgres: scaled(1000) }

describe.each(engines)('bytes through the gateway of a shop on %s', (engine) => {
  const count = counts[engine]

  test(`of ${count} random transfers of ${users} users are billed exactly as their clients sent and got them`, async () => {
    const road = await openRoad(engine, { gateway: { TURNPIKE_GATEWAY_NEW: '100000' } })
    const origin = openByteOrigin()
    const people = await addUsers(road, users, 1)
    const seed = Math.floor(Math.random() * 2 ** 31)
    const real = people.map(() => 0)
    let left = count
    const lane = async (index: number, draw: ReturnType<typeof drawFrom>): Promise<void> => {
      const pass = people[index]
      for (; pass && left > 0; ) {
        left -= 1
        const { sent, received } = await (draw.upTo(2) === 0 ? passRequests : passTunnel)(pass, origin, draw)
        real[index] = (real[index] ?? 0) + sent + received
      }
    }
    await Promise.all(Array.from({ length: users * lanes }, (_, index) => lane(index % users, drawFrom(seed + index))))
    const billed = () => Promise.all(people.map((each) => usedBy(road, each.subuser)))
    await untilTrue(async () => Bun.deepEquals(await billed(), real))
    expect({ seed, bytes: await billed() }).toEqual({ seed, bytes: real })
    await road.stopGateway()
    expect(await billed()).toEqual(real)
    expect(await findingsOf(road.services)).toEqual([])
    await origin.stop()
    await road.stop()
  })
})
