import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HandTiming, passing, quietLog, recordingLog } from '../../../test/harness/hand-timing.ts'
import { ModelRelay } from '../../../test/harness/model-relay.ts'
import { type ReportAnswer, type ReportBody, reportBodySchema } from '../../node-protocol/report.ts'
import { readJournal } from './earlier.ts'
import { Journal } from './journal.ts'
import { Meter, type MeterDeps } from './meter.ts'
import { LinkError } from './shop-link.ts'

const boot = '0mabcdefg-00000001'
const pool = 'residential'
const leaseBytes = 1000

/** Answers each report as a shop with unlimited traffic, unless the test holds or fails the answers. */
class FakeShop {
  readonly reports: { atMs: number; body: ReportBody }[] = []
  readonly waiting: ((outcome: ReportAnswer | LinkError) => void)[] = []
  holds = false
  trouble: LinkError | undefined
  replaced = false

  constructor(private readonly timing: HandTiming) {}

  answer(body: ReportBody): ReportAnswer {
    const counted = new Map(body.subusers.map((each) => [each.id, each.received + each.sent]))
    const allowances = body.lease_requests.map(({ id, pool: of }) => ({
      id,
      pool: of,
      upto: (counted.get(id) ?? 0) + leaseBytes,
    }))
    return { now: 0, replaced: this.replaced, allowances }
  }

  async report(body: ReportBody, end?: AbortSignal): Promise<ReportAnswer> {
    this.reports.push({ atMs: this.timing.now(), body: reportBodySchema.parse(body) })
    if (this.holds) {
      const outcome = await new Promise<ReportAnswer | LinkError>((resolve) => {
        this.waiting.push(resolve)
        end?.addEventListener('abort', () => resolve(unreachable))
      })
      if (outcome instanceof LinkError) throw outcome
      return outcome
    }
    if (this.trouble) throw this.trouble
    return this.answer(body)
  }

  get last(): ReportBody {
    return this.reports.at(-1)!.body
  }
}

const unreachable = new LinkError('unreachable', 'unreachable')

describe('the meter', () => {
  let folder = ''
  let timing: HandTiming
  let shop: FakeShop
  let dataPath: ModelRelay
  let meter: Meter
  const { entries, log } = recordingLog()

  function open(more: Pick<MeterDeps, 'sendEarlier'> = {}): Meter {
    return new Meter({
      dataPath,
      link: shop,
      journal: new Journal({ folder, node: 'nod_1', boot, timing, log: quietLog }),
      timing,
      chance: () => 1,
      log,
      boot,
      version: '1.0.0',
      lagMs: () => 7,
      ...more,
    })
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-meter-'))
    timing = new HandTiming()
    shop = new FakeShop(timing)
    dataPath = new ModelRelay()
    meter = open()
    entries.length = 0
  })
  afterEach(async () => {
    await passing(timing, meter.stop())
    rmSync(folder, { recursive: true, force: true })
  })

  test('the meter reports every 2 s, with or without traffic', async () => {
    meter.start()
    await timing.advance(10_000)
    expect(shop.reports.map((each) => each.atMs)).toEqual([0, 2000, 4000, 6000, 8000, 10_000])
    expect(shop.last.health).toEqual({ tunnels: 0, total_bytes: 0, lag_ms: 7 })
    expect(meter.lastContactAt).toBe(10_000)
  })

  test('the meter sends the lease requests of 50 sub-users in one report within 5 ms', async () => {
    meter.start()
    await timing.advance(100)
    for (let index = 0; index < 50; index += 1) dataPath.relay(meter, `sub_${index}`, pool, 10)
    meter.wantLease('sub_0', pool)
    await timing.advance(5)
    expect(shop.reports).toHaveLength(2)
    expect(shop.last.lease_requests.map((each) => each.turn)).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    )
    expect(dataPath.subject('sub_49', pool).upto).toBe(leaseBytes)
  })

  test('the meter has one report in flight and sends a new lease request with the next report', async () => {
    meter.start()
    await timing.advance(100)
    shop.holds = true
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(50)
    dataPath.relay(meter, 'sub_2', pool, 10)
    await timing.advance(1_000)
    expect(shop.reports).toHaveLength(2)
    shop.holds = false
    shop.waiting.shift()!(shop.answer(shop.last))
    await timing.advance(5)
    expect(shop.last.lease_requests.map((each) => each.id)).toEqual(['sub_2'])
    expect(dataPath.subject('sub_1', pool).upto).toBe(leaseBytes)
  })

  test('a report with a lease request has the count of its sub-user, and at most 1,000 counts', async () => {
    meter.start()
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(10)
    dataPath.relay(meter, 'sub_1', pool, leaseBytes + 1)
    for (let index = 0; index < 3_000; index += 1) dataPath.subject(`sub_x${index}`, pool).upto = 10
    for (let index = 0; index < 3_000; index += 1) dataPath.relay(meter, `sub_x${index}`, pool, 5)
    await timing.advance(5)
    const requesting = shop.reports.find((each) => each.body.lease_requests.some(({ turn }) => turn === 2))
    expect(requesting?.body.subusers.find((each) => each.id === 'sub_1')).toMatchObject({ received: 333, sent: 667 })
    expect(Math.max(...shop.reports.map((each) => each.body.subusers.length))).toBe(1000)
    expect(dataPath.subject('sub_1', pool).upto).toBe(2 * leaseBytes)
  })

  test('the meter repeats an unanswered lease request with the same number and with backoff up to 5 s', async () => {
    meter.start()
    await timing.advance(10)
    shop.trouble = unreachable
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(20_000)
    const tries = shop.reports.slice(1)
    expect(tries.every((each) => each.body.lease_requests[0]?.turn === 1)).toBe(true)
    const gaps = tries.slice(1).map((each, index) => each.atMs - tries[index]!.atMs)
    expect(gaps.slice(0, 7)).toEqual([105, 205, 405, 805, 1605, 3205, 5005])
    shop.trouble = undefined
    await timing.advance(5_005)
    expect(dataPath.subject('sub_1', pool).upto).toBe(leaseBytes)
    expect(entries.filter((each) => each.event === 'report not taken')).toHaveLength(1)
  })

  test('the meter gives a lease request a new number when it is unanswered for more than 60 s', async () => {
    meter.start()
    shop.trouble = unreachable
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(70_000)
    expect(shop.last.lease_requests[0]?.turn).toBe(2)
  })

  test('the meter ignores a lease answer when a newer request was made meanwhile', async () => {
    meter.start()
    await timing.advance(10)
    shop.holds = true
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(10)
    dataPath.giveBack(meter, 'sub_1', pool)
    shop.waiting.shift()!(shop.answer(shop.last))
    await timing.advance(10)
    expect(dataPath.subject('sub_1', pool).upto).toBe(0)
    expect(shop.last.lease_requests).toEqual([{ id: 'sub_1', pool, turn: 2, want: 'return' }])
    shop.holds = false
    shop.waiting.shift()!(shop.answer(shop.last))
    await timing.advance(10)
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(10)
    expect(dataPath.subject('sub_1', pool).upto).toBe(leaseBytes)
  })

  test('the meter sends no return request for a sub-user without a lease', async () => {
    meter.start()
    meter.giveBack('sub_1', pool)
    await timing.advance(5_000)
    expect(shop.reports.flatMap((each) => each.body.lease_requests)).toEqual([])
  })

  test('the meter repeats a count after a failed report, and omits it once the shop has confirmed it', async () => {
    meter.start()
    dataPath.relayProxy(7, 100)
    shop.trouble = unreachable
    await timing.advance(1_000)
    dataPath.relayProxy(7, 100)
    shop.trouble = undefined
    await timing.advance(10_000)
    expect(shop.reports.at(-1)?.body.proxies).toEqual([])
    expect(shop.reports.findLast((each) => each.body.proxies.length > 0)?.body.proxies).toEqual([
      { id: 7, received: 200, sent: 2 },
    ])
  })

  test('the meter reports 1,999 of 2,000 counts when the shop rejects every report with the other one', async () => {
    for (let id = 1; id <= 2_000; id += 1) dataPath.relayProxy(id, 1)
    const taken = new Set<number>()
    const answer = shop.answer.bind(shop)
    shop.answer = (body) => {
      if (body.proxies.some((each) => each.id === 13)) throw new LinkError('fault', 'what is 13?', 400)
      for (const each of body.proxies) taken.add(each.id)
      return answer(body)
    }
    meter.start()
    await timing.advance(60_000)
    expect(taken.size).toBe(1_999)
  })

  test('the meter stops lease requests and logs `replaced` once when another boot holds the leases', async () => {
    meter.start()
    await timing.advance(10)
    shop.replaced = true
    dataPath.relay(meter, 'sub_1', pool, 10)
    await timing.advance(10)
    dataPath.relay(meter, 'sub_2', pool, 10)
    dataPath.relayProxy(7, 100)
    await timing.advance(5_000)
    expect(entries.filter((each) => each.event === 'replaced')).toHaveLength(1)
    expect(shop.reports.flatMap((each) => each.body.lease_requests).map((each) => each.id)).toEqual(['sub_1'])
    expect(shop.reports.flatMap((each) => each.body.proxies)).toHaveLength(1)
  })

  test('Meter.stop() reports the final counts, returns every lease, removes the journal and ends lease requests', async () => {
    meter.start()
    dataPath.relay(meter, 'sub_1', pool, 10)
    dataPath.relay(meter, 'sub_2', pool, 10)
    await timing.advance(10)
    dataPath.giveBack(meter, 'sub_2', pool)
    await timing.advance(10)
    dataPath.relay(meter, 'sub_1', pool, 10)
    await passing(timing, meter.stop())
    expect(shop.last.subusers).toEqual([{ id: 'sub_1', pool, received: 3, sent: 7 }])
    expect(shop.last.lease_requests).toEqual([{ id: 'sub_1', pool, turn: 4, want: 'return' }])
    expect(readdirSync(folder)).toEqual([])
    meter.wantLease('sub_1', pool)
    meter.noteNow()
    await timing.advance(5_000)
    expect(shop.last.lease_requests[0]?.turn).toBe(4)
  })

  test.each(['unreachable', 'silent'])(
    'Meter.stop() ends within 5 s when the shop is %s, and keeps the journal file',
    async (how) => {
      meter.start()
      await timing.advance(10)
      if (how === 'unreachable') shop.trouble = unreachable
      else shop.holds = true
      dataPath.relayProxy(7, 100)
      const stopping = meter.stop()
      await timing.advance(5_000)
      const tries = shop.reports.length
      await stopping
      expect(tries).toBeGreaterThan(1)
      expect(shop.reports).toHaveLength(tries)
      expect(readdirSync(folder)).toEqual([`journal-${boot}.log`])
    },
  )

  test('Meter.noteNow() writes the counts to the journal before it returns', () => {
    dataPath.relayProxy(7, 1024 * 1024)
    meter.noteNow()
    expect(readJournal(folder, 'nod_1', boot).counts.proxies).toEqual([{ id: 7, received: 1024 * 1024, sent: 1 }])
  })

  test('the meter journals for at most a tenth of the time, however often noteNow() is called', async () => {
    const takeChanged = dataPath.takeChanged.bind(dataPath)
    let takes = 0
    dataPath.takeChanged = () => {
      takes += 1
      timing.spend(2)
      return takeChanged()
    }
    for (let round = 0; round < 1_000; round += 1) {
      meter.noteNow()
      await timing.advance(1)
    }
    expect(takes).toBeGreaterThan(40)
    expect(takes).toBeLessThanOrEqual(60)
  })

  test('the meter sends no lease request before earlier journals are reported', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    meter = open({ sendEarlier: () => promise })
    meter.start()
    meter.wantLease('sub_1', pool)
    await timing.advance(3_000)
    expect(shop.reports).toEqual([])
    resolve(true)
    await timing.advance(5)
    expect(shop.last.lease_requests).toHaveLength(1)
  })
})
