import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { noStalls } from '../../kernel/stall-monitor.ts'
import { createPorts } from './index.ts'
import type { Node } from './rules.ts'

const weekMs = 7 * 86_400_000

describe.each([...engines])('ports that stand for somebody on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  const clock = new HandClock()
  let gateways: Node[] = []
  const fleet = { nodes: async () => gateways }
  const ports = createPorts({ clock: clock.read, stalls: noStalls, fleet, range: { first: 30_000, last: 30_009 } })
  const take = (count: number, room = { all: 10, perCustomer: 10 }) =>
    opened.db.transact((tx) => ports.take(tx, count, 0, room))
  const free = (...freed: number[]) => opened.db.transact(async (tx) => ports.free(tx, freed))
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())

  test('each is given out once, rests a week when it is free, and is refused when none is left', async () => {
    const first = await take(4)
    const second = await take(4)
    expect(new Set([...first, ...second]).size).toBe(8)
    await free(30_001, 30_002)
    clock.advance(weekMs - 1)
    expect(await take(2)).toEqual([30_008, 30_009])
    expect(await failureOf(take(1))).toMatchObject({ code: 'out_of_stock', details: { available: 0 } })
    clock.advance(1)
    expect(await failureOf(take(3))).toMatchObject({ code: 'out_of_stock' })
    expect(await take(1)).toEqual([30_001])
    expect(await take(1)).toEqual([30_002])
    expect(await failureOf(take(1))).toMatchObject({ code: 'out_of_stock' })
  })

  test('no more stand for somebody than the smallest gateway that is there has room for', async () => {
    const gateway = (mostPorts: number | null, agoMs = 0) =>
      ({ kind: 'gateway', state: 'open', lastSeenAt: clock.nowMs - agoMs, health: { mostPorts } }) as unknown as Node
    gateways = [gateway(null)]
    expect(await ports.room()).toEqual({ all: 10, perCustomer: 1000 })
    gateways = [gateway(null), gateway(8), gateway(9), gateway(1, 100_000)]
    expect(await ports.room()).toEqual({ all: 8, perCustomer: 2 })
    // Ten are out.
    await free(30_003, 30_004, 30_005)
    clock.advance(weekMs)
    const room = { all: 8, perCustomer: 2 }
    expect(await take(1, room)).toHaveLength(1)
    expect(await failureOf(take(1, room))).toMatchObject({ code: 'out_of_stock', details: { available: 0 } })
    const much = opened.db.transact((tx) => ports.take(tx, 2, 1, room))
    expect(await failureOf(much)).toMatchObject({ code: 'conflict', details: { limit: 2, available: 1 } })
    // What was refused has changed nothing.
    expect(await take(2, { all: 10, perCustomer: 10 })).toHaveLength(2)
  })

  test("a gateway that reports room for fewer than a tenth of what most have lowers nobody's limit", async () => {
    const gateway = (mostPorts: number | null) =>
      ({ kind: 'gateway', state: 'open', lastSeenAt: clock.nowMs, health: { mostPorts } }) as unknown as Node
    const roomOf = (...said: (number | null)[]) => {
      gateways = said.map(gateway)
      return ports.room()
    }
    expect(await roomOf(0, 9, 8)).toEqual({ all: 8, perCustomer: 2 })
    expect(await roomOf(0, null)).toEqual({ all: 10, perCustomer: 1000 })
    expect(await roomOf(1, null)).toEqual({ all: 1, perCustomer: 2 })
    // Where it is the only one, its word is all there is.
    expect(await roomOf(0)).toEqual({ all: 0, perCustomer: 2 })
    expect(await roomOf()).toEqual({ all: 10, perCustomer: 1000 })
  })
})
