import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../../test/harness/database.ts'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { wire } from '../../../../test/harness/wired.ts'
import type { Services } from '../../../app/shop/services.ts'
import { bytes } from '../../../core/bytes.ts'

describe.each([...engines])('byte counts of nodes on %s', (engine) => {
  const clock = new HandClock()
  let services: Services
  let close: () => Promise<void>
  beforeAll(async () => {
    const opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
    close = () => opened.close()
  })
  afterAll(() => close())

  const addNode = async (name: string) =>
    (await services.db.transact((tx) => services.fleet.add(tx, { kind: 'gateway', name, location: 'here' }))).id
  const take = (node: string, boot: string, counts: readonly [subject: string, received: bigint, sent: bigint][]) =>
    services.db.transact((tx) =>
      services.traffic.counts.take(tx, {
        node,
        boot,
        counts: counts.map(([subject, received, sent]) => ({ subject, received: bytes(received), sent: bytes(sent) })),
      }),
    )

  test('believedOf sums both directions over one node’s boots that reported since a moment', async () => {
    const [a, b] = [await addNode('sums-a'), await addNode('sums-b')]
    await take(a, 'boot-0001', [
      ['x1', 5n, 5n],
      ['x2', 0n, 7n],
      ['x3', 0n, 0n],
    ])
    clock.advance(1000)
    const laterAt = clock.nowMs
    await take(a, 'boot-0002', [['x1', 3n, 4n]])
    await take(b, 'boot-0001', [['x1', 900n, 900n]])
    const { believedOf } = services.traffic.counts
    expect(await believedOf(a, 0)).toEqual({ things: 2, bytes: 24n })
    expect(await believedOf(a, laterAt)).toEqual({ things: 1, bytes: 7n })
    expect(await believedOf(a, laterAt + 1)).toEqual({ things: 0, bytes: 0n })
  })

  test('refuse() records a node for 1 refused byte, and not for 0 bytes', async () => {
    const [one, none] = [await addNode('refused-one'), await addNode('refused-none')]
    for (const node of [one, none]) await take(node, 'boot-0001', [['z', 1n, 0n]])
    await services.db.transact(async (tx) => {
      services.traffic.counts.refuse(tx, one, 1n)
      services.traffic.counts.refuse(tx, none, 0n)
    })
    const recorded = (await services.traffic.counts.refusals()).map(({ node }) => node)
    expect(recorded).toContain(one)
    expect(recorded).not.toContain(none)
  })

  test('take() believes 1.25 GB a second by default, and more if the node reports faster interfaces or the operator says so', async () => {
    const node = await addNode('fast')
    let claimed = 0n
    /** The believed part of another terabyte, claimed 10 s after the last one. */
    const believed = async () => {
      clock.advance(10_000)
      claimed += 1_000_000_000_000n
      const [taken] = await take(node, 'boot-0001', [['f', claimed, 0n]])
      return taken?.received
    }
    const health = { boot: 'boot-0001', tunnels: 0, lagMs: 0, totalBytes: 0, hopBytes: 0, isStopping: false }
    const report = (interfaceMegabits: number | null) =>
      services.fleet.seen(node, { version: '1', health: { ...health, maxPorts: null, tls: null, interfaceMegabits } })
    await believed()
    expect(await believed()).toBe(bytes(12_500_000_000n))
    await report(25_000)
    expect(await believed()).toBe(bytes(31_250_000_000n))
    await report(1000)
    expect(await believed()).toBe(bytes(12_500_000_000n))
    await report(25_000)
    await services.fleet.setLink('fast', 5000)
    expect(await believed()).toBe(bytes(6_250_000_000n))
    await services.fleet.setLink('fast', 40_000)
    expect(await believed()).toBe(bytes(50_000_000_000n))
    await services.fleet.setLink('fast', 10_000)
    expect(await believed()).toBe(bytes(31_250_000_000n))
    await report(null)
    expect(await believed()).toBe(bytes(12_500_000_000n))
  })

  test('take() accepts a report of 1,000 counts, and refuses 1,001', async () => {
    const node = await addNode('many')
    const many = (length: number) =>
      Array.from({ length }, (_, index) => [`y${index}`, 0n, 1n] as [string, bigint, bigint])
    expect(await take(node, 'boot-0001', many(1000))).toHaveLength(1000)
    expect((await refusalOf(take(node, 'boot-0001', many(1001)))).kind).toBe('malformed')
  })
})
