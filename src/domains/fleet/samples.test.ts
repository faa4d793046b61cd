import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { NodeId } from '../../core/ids.ts'
import { ratesOf } from './samples.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const report = { boot: 'first-boot', tunnels: 2, lagMs: 1, hopBytes: 0, isStopping: false, maxPorts: null, tls: null }

test('ratesOf divides growth by time, counts from zero after a restart, and keeps null for figures not reported', () => {
  const sample = { boot: 'a', tunnels: 1, lagMs: 2, totalBytes: 0, cpuMs: null, errors: 10 }
  const rates = ratesOf([
    { ...sample, at: 0 },
    { ...sample, at: 300_000, totalBytes: 600_000, errors: 20 },
    { ...sample, at: 600_000, totalBytes: 300_000, errors: 5, boot: 'b' },
  ])
  expect(rates.map((each) => [each.at, each.bytesPerSecond, each.errorsPerMinute, each.cpuPercent])).toEqual([
    [300_000, 2000, 2, null],
    [600_000, 1000, 1, null],
  ])
})

describe.each([...engines])('samples of nodes on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
  })
  afterAll(() => opened.close())

  test('the recent rate of a node is measured over 1 to 6 minutes of its latest process', async () => {
    const { db, fleet } = services
    const { id } = await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gate-2', location: 'paris' }))
    clock.advance(hourMs - (clock.nowMs % hourMs))
    const rateAfter = async (ms: number, totalBytes: number, boot = report.boot) => {
      clock.advance(ms)
      await fleet.seen(id, { version: '1', health: { ...report, boot, totalBytes } })
      const node = (await fleet.nodes('gateway')).find((each) => each.id === id)
      return node && fleet.recentBytesPerSecond(node)
    }
    expect(await rateAfter(0, 1000)).toBeUndefined()
    expect(await rateAfter(minuteMs - 1, 60_000)).toBeUndefined()
    expect(await rateAfter(1, 61_000)).toBe(1000)
    expect(await rateAfter(4 * minuteMs, 301_000)).toBe(1000)
    expect(await rateAfter(minuteMs, 601_000)).toBe(5000)
    expect(await rateAfter(minuteMs, 700_000, 'later-boot')).toBeUndefined()
    await db.transact((tx) => tx.run('DELETE FROM node_samples'))
  })

  test('a node is sampled every 5 minutes for a day and every hour for two months, and older samples are deleted', async () => {
    const { db, fleet } = services
    const { id } = await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gate-1', location: 'paris' }))
    const count = async () => Number((await db.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM node_samples'))?.n)
    clock.advance(hourMs - (clock.nowMs % hourMs))
    const seen = (totalBytes: number) => fleet.seen(id, { version: '1', health: { ...report, totalBytes } })
    for (let step = 0; step < 13; step += 1) {
      await seen(step * 300_000)
      await seen(step * 300_000 + 1)
      clock.advance(5 * minuteMs)
    }
    expect(await count()).toBe(13)
    const day = await fleet.history(id, 'day')
    expect([day.length, day[0]?.bytesPerSecond]).toEqual([12, 1000])
    expect((await fleet.history(id, 'month')).map((each) => each.bytesPerSecond)).toEqual([1000])
    clock.advance(26 * hourMs)
    expect(await fleet.forgetSamples(500)).toBe(11)
    expect(await count()).toBe(2)
    clock.advance(62 * 24 * hourMs)
    await fleet.forgetSamples(500)
    expect(await count()).toBe(0)
  })

  test('relayedBetween counts a new node from its first byte to its last report, and an old one from samples', async () => {
    const { db, fleet } = services
    const add = (name: string) =>
      db.transact((tx) => fleet.add(tx, { kind: 'vpn', name, location: 'paris' })).then(({ id }) => id)
    const seen = (id: NodeId, totalBytes: number, boot = report.boot) =>
      fleet.seen(id, { version: '1', health: { ...report, boot, totalBytes } })
    clock.advance(hourMs - (clock.nowMs % hourMs))
    const startedAt = clock.nowMs
    await db.transact((tx) => tx.run('DELETE FROM nodes'))
    expect(await fleet.relayedBetween(startedAt - 30 * dayMs, 'now')).toBe(0)
    const node = await add('first')
    clock.advance(10 * minuteMs)
    await seen(node, 5_000)
    expect(await fleet.relayedBetween(startedAt - 30 * dayMs, 'now')).toBe(5_000)
    expect(await fleet.relayedBetween(startedAt - 60 * dayMs, startedAt - 30 * dayMs)).toBe(0)
    // A restart counts from zero, and no sample of a full hour has seen the process before.
    await seen(node, 700, 'later-boot')
    expect(await fleet.relayedBetween(startedAt - 30 * dayMs, 'now')).toBe(5_700)
    // Two hours later the same node is old, and its samples tell what is new.
    clock.advance(110 * minuteMs)
    await seen(node, 1_000, 'later-boot')
    clock.advance(10 * minuteMs)
    await seen(node, 1_250, 'later-boot')
    expect(await fleet.relayedBetween(startedAt + 2 * hourMs, 'now')).toBe(250)
    await db.transact((tx) => tx.run('DELETE FROM node_samples'))
    expect(await fleet.relayedBetween(startedAt + 2 * hourMs, 'now')).toBeUndefined()
  })
})
