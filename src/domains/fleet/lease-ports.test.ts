import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { failureOf } from '../../../test/harness/failure.ts'
import { noStalls } from '../../core/stall-monitor.ts'
import { createEntryPorts } from './index.ts'
import type { Node } from './rules.ts'

const weekMs = 7 * 86_400_000

describe.each([...engines])('entry ports on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  const clock = new HandClock()
  let gateways: Node[] = []
  const fleet = { nodes: async () => gateways }
  const ports = createEntryPorts({ clock: clock.read, stalls: noStalls, fleet, range: { first: 30_000, last: 30_009 } })
  const gateway = (maxPorts: number | null, agoMs = 0) =>
    ({ kind: 'gateway', state: 'open', lastSeenAt: clock.nowMs - agoMs, health: { maxPorts } }) as unknown as Node
  const take = (count: number, room = { all: 10, perCustomer: 10 }) =>
    opened.db.transact((tx) => ports.take(tx, count, 0, room))
  const free = (...freed: number[]) => opened.db.transact(async (tx) => ports.free(tx, freed))
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())

  test('an entry port is leased once and rests 7 days after it is freed, and a lease without free ports is refused', async () => {
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

  test('entry ports in use never exceed the capacity of the live gateways, nor the limit per customer', async () => {
    gateways = [gateway(null)]
    expect(await ports.room()).toEqual({ all: 10, perCustomer: 1000 })
    gateways = [gateway(9), gateway(8), gateway(1, 100_000)]
    expect(await ports.room()).toEqual({ all: 8, perCustomer: 2 })
    // All ten ports are leased.
    await free(30_003, 30_004, 30_005)
    clock.advance(weekMs)
    const room = { all: 8, perCustomer: 2 }
    expect(await take(1, room)).toHaveLength(1)
    expect(await failureOf(take(1, room))).toMatchObject({ code: 'out_of_stock', details: { available: 0 } })
    const much = opened.db.transact((tx) => ports.take(tx, 2, 1, room))
    expect(await failureOf(much)).toMatchObject({ code: 'conflict', details: { limit: 2, available: 1 } })
    // The refused lease has changed nothing.
    expect(await take(2, { all: 10, perCustomer: 10 })).toHaveLength(2)
  })

  test('findTls() prefers a serving gateway with a host for browsers to the first by name', async () => {
    const at = (name: string, browserHost: string | null, agoMs = 0) => {
      const tls = { host: `${name}.example`, port: 443, browserHost }
      return { ...gateway(null, agoMs), name, drainedAt: null, health: { maxPorts: null, tls } } as unknown as Node
    }
    gateways = [at('c', 'c.example'), at('b', 'browser.b.example'), at('a', null), at('A', 'A.example', 100_000)]
    expect(await ports.findTls()).toMatchObject({ host: 'b.example', browserHost: 'browser.b.example' })
    gateways = [at('b', null), at('a', null)]
    expect(await ports.findTls()).toMatchObject({ host: 'a.example', browserHost: null })
  })

  const maxReported = Number.MAX_SAFE_INTEGER
  test.each([
    ['no gateway', [], 10, 1000],
    ['one gateway', [0], 0, 2],
    ['one gateway', [null], 10, 1000],
    // Two gateways: a sold port must open on both, so the smaller number counts.
    ['two honest gateways', [4, null], 4, 2],
    ['two gateways of which one reports 2^53 - 1', [4, maxReported], 4, 2],
    ['two gateways of which one reports 0', [0, 9], 0, 2],
    // Three and more gateways: a single wrong report does not change the result.
    ['three gateways of which one reports 0', [0, 9, 8], 8, 2],
    ['three gateways of which one reports a tenth', [null, 1, null], 10, 1000],
    ['three gateways of which one reports half', [8, 4, 8], 8, 2],
    ['three gateways of which one reports 2^53 - 1', [8, maxReported, 8], 8, 2],
    ['four gateways of which one reports 2^53 - 1', [4, 5, maxReported, 9], 5, 2],
    ['four gateways of which two report 4', [4, 9, 4, 9], 4, 2],
  ] as const)('room() with %s (%p) is %d ports, and %d per customer', async (_, reported, all, perCustomer) => {
    gateways = reported.map((maxPorts) => gateway(maxPorts))
    expect(await ports.room()).toEqual({ all, perCustomer })
  })
})
