import { beforeEach, describe, expect, test } from 'bun:test'
import { HandTiming, quietLog, settle } from '../../../test/harness/hand-timing.ts'
import { formatAddress } from '../../core/address.ts'
import type { NodeRange } from '../../node-protocol/state.ts'
import { maxRuns, type TriedBody } from '../../node-protocol/tried.ts'
import { LinkError } from './shop-link.ts'
import { AddressTrials } from './trials.ts'

const whole = { isWhole: true, isFirst: true, isLast: true }
const change = { isWhole: false, isFirst: false, isLast: true }
const range = (id: number, prefix: string, node_ids: string[] = []): NodeRange => ({
  id,
  prefix,
  node_ids,
  gone: false,
})

describe('the address trials of a node', () => {
  let timing: HandTiming
  let end: AbortController
  let tried: string[]
  let calls: { from: string; atMs: number }[]
  let reports: { atMs: number; body: TriedBody }[]
  let lost: (address: string) => boolean
  let isUnreachable: boolean
  let isProduction: boolean
  let isShopCalled: boolean
  let isShopTrusted: boolean

  beforeEach(() => {
    timing = new HandTiming()
    end = new AbortController()
    tried = []
    calls = []
    reports = []
    lost = () => false
    isUnreachable = false
    isProduction = false
    isShopCalled = true
    isShopTrusted = true
  })

  const open = (...ranges: NodeRange[]) => start((trials) => trials.apply({ ranges }, whole))

  function start(begin: (trials: AddressTrials) => void) {
    let drawn = 0
    const trials = new AddressTrials({
      node: 'nod_me',
      link: {
        async tried(body) {
          reports.push({ atMs: timing.now(), body })
          if (isUnreachable) throw new LinkError('unreachable', 'away')
          return { now: 0 }
        },
      },
      tryAddress(address) {
        const text = formatAddress(address)
        tried.push(text)
        return lost(text) ? 'not_on_this_machine' : undefined
      },
      callShop: async (_version, from) => {
        if (!isShopTrusted) throw Object.assign(new Error('unknown'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
        if (!isShopCalled) throw new Error('away')
        if (from !== undefined) calls.push({ from, atMs: timing.now() })
        return from ?? '192.0.2.1'
      },
      needsEgressCheck: () => isProduction,
      timing,
      chance: () => (drawn++ % 1000) / 1000,
      log: quietLog,
    })
    begin(trials)
    const running = trials.run(end.signal)
    return {
      trials,
      stop: async () => {
        end.abort()
        await timing.advance(0)
        await running
      },
    }
  }
  const lastOf = (id: number) => reports.flatMap(({ body }) => body.ranges.filter((each) => each.id === id)).at(-1)

  test('the node tries every address of a new range at once and every 10 s, and reports each round', async () => {
    const { stop } = open(range(1, '45.12.0.0/30'))
    await timing.advance(9_000)
    expect(tried.length).toBe(4)
    const reported = reports.length
    expect(lastOf(1)).toEqual({ id: 1, served: [[0, 4]], problems: [], seen_as: null })
    await timing.advance(2_000)
    expect(tried.length).toBe(8)
    expect(reports.length).toBe(reported + 1)
    await stop()
  })

  test('the node reports lost addresses as runs with their problem', async () => {
    const { stop } = open(range(1, '45.12.0.0/29'))
    await timing.advance(1_000)
    lost = (address) => ['45.12.0.2', '45.12.0.3', '45.12.0.7'].includes(address)
    await timing.advance(10_000)
    expect(lastOf(1)).toMatchObject({
      served: [
        [0, 2],
        [4, 3],
      ],
      problems: [
        { first: 2, count: 2, problem: 'not_on_this_machine' },
        { first: 7, count: 1, problem: 'not_on_this_machine' },
      ],
    })
    await stop()
  })

  test('the node reports at most maxRuns runs of served addresses and 20 problems of a fragmented range', async () => {
    lost = (address) => Number(address.split('.')[3]) % 2 === 1
    const { stop } = open(range(1, '45.12.0.0/19'))
    await timing.advance(60_000)
    expect(lastOf(1)?.served.length).toBe(maxRuns)
    expect(lastOf(1)?.problems.length).toBe(20)
    await stop()
  })

  test('the node does not try ranges of other nodes and removed ranges', async () => {
    const { trials, stop } = open(range(1, '45.12.0.0/31', ['nod_other']), range(2, '45.13.0.0/31', ['nod_me']))
    await timing.advance(1_000)
    expect(tried).toEqual(['45.13.0.0', '45.13.0.1'])
    trials.apply({ ranges: [{ ...range(2, '45.13.0.0/31'), gone: true }] }, change)
    await timing.advance(30_000)
    expect(tried.length).toBe(2)
    await stop()
  })

  test('the node tries a /48 block by 4 random addresses each round', async () => {
    const { stop } = open(range(1, '2a0c:aaaa::/48'))
    await timing.advance(1_000)
    expect(new Set(tried).size).toBe(4)
    expect(lastOf(1)?.served).toEqual([[0, 1]])
    lost = () => true
    await timing.advance(10_000)
    expect(lastOf(1)).toMatchObject({ served: [], problems: [{ first: 0, count: 1, problem: 'not_on_this_machine' }] })
    await stop()
  })

  test('the node repeats a failed report with fewer than 20 requests a minute, and is ready after a success', async () => {
    isUnreachable = true
    const { trials, stop } = open(range(1, '45.12.0.0/31'))
    const isReady = () => Promise.race([trials.ready.then(() => true), settle().then(() => false)])
    await timing.advance(60_000)
    expect(reports.length).toBeLessThan(20)
    expect(await isReady()).toBe(false)
    isUnreachable = false
    await timing.advance(11_000)
    expect(await isReady()).toBe(true)
    await stop()
  })

  test('the node is ready only after a report that knew all pages of ranges', async () => {
    const { trials, stop } = start(() => {})
    const isReady = () => Promise.race([trials.ready.then(() => true), settle().then(() => false)])
    await timing.advance(60_000)
    expect(await isReady()).toBe(false)
    trials.apply({ ranges: [range(1, '45.12.0.0/31')] }, { ...whole, isLast: false })
    await timing.advance(1_000)
    expect(await isReady()).toBe(false)
    trials.apply({ ranges: [] }, { ...whole, isFirst: false })
    await timing.advance(1_000)
    expect(await isReady()).toBe(true)
    expect(lastOf(1)?.served).toEqual([[0, 2]])
    await stop()
  })

  test('the node reports addresses as served while the shop cannot be called from them, with the reason', async () => {
    isProduction = true
    isShopCalled = false
    const { stop } = open(range(1, '45.12.0.0/30'))
    await timing.advance(1_000)
    expect(lastOf(1)).toEqual({
      id: 1,
      served: [[0, 4]],
      problems: [{ first: 0, count: 4, problem: 'egress_not_checked_shop_not_reached' }],
      seen_as: null,
    })
    isShopTrusted = false
    await timing.advance(12_000)
    expect(lastOf(1)).toMatchObject({
      served: [[0, 4]],
      problems: [{ first: 0, count: 4, problem: 'egress_not_checked_shop_not_trusted' }],
    })
    isShopTrusted = true
    isShopCalled = true
    await timing.advance(12_000)
    expect(lastOf(1)).toMatchObject({ served: [[0, 4]], problems: [] })
    await stop()
  })

  test('the node calls from 1,024 addresses within 5 minutes, after the first 256 at most 5 a second', async () => {
    isProduction = true
    const { stop } = open(range(1, '45.12.0.0/22'))
    await timing.advance(1)
    expect(calls.length).toBe(256)
    await timing.advance(300_000)
    expect(new Set(calls.map((each) => each.from)).size).toBe(1024)
    const inOneSecond = calls.filter((each) => each.atMs >= 10_000 && each.atMs < 11_000)
    expect(inOneSecond.length).toBeLessThanOrEqual(5)
    await stop()
  })
})
