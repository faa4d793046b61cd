import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { HandTime } from '../../../test/harness/hand-time.ts'
import { HandTiming } from '../../../test/harness/hand-timing.ts'
import { until } from '../../../test/harness/until.ts'
import { openRunning } from '../../dataplane/agent/boots.ts'
import { SpeedLimit } from '../../dataplane/gateway/metering/speed-limit.ts'
import { hasWholeState, shareSpeeds } from './handover.ts'

/** A state sync that the test makes ready. */
function openSync() {
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const sync = { ready, lastContactAt: undefined as number | undefined, finish: resolve }
  return sync
}

/** The outcome of hasWholeState so far. */
function watch(sync: ReturnType<typeof openSync>, timing: HandTiming, end = new AbortController().signal) {
  const seen: { outcome: boolean | undefined } = { outcome: undefined }
  void hasWholeState(sync, end, timing).then((outcome) => (seen.outcome = outcome))
  return seen
}

describe('hasWholeState', () => {
  test('a taking-over gateway gives up after 5 s without a page from the shop', async () => {
    const timing = new HandTiming()
    const seen = watch(openSync(), timing)
    await timing.advance(4_999)
    expect(seen.outcome).toBeUndefined()
    await timing.advance(1)
    expect(seen.outcome).toBe(false)
  })

  test('a taking-over gateway waits up to 45 s for the remaining pages after a first page within 5 s', async () => {
    const timing = new HandTiming()
    const sync = openSync()
    const seen = watch(sync, timing)
    sync.lastContactAt = 1
    await timing.advance(44_999)
    expect(seen.outcome).toBeUndefined()
    await timing.advance(1)
    expect(seen.outcome).toBe(false)
  })

  test('a taking-over gateway takes over once it has the last page', async () => {
    const timing = new HandTiming()
    const [early, late] = [openSync(), openSync()]
    const seen = [watch(early, timing), watch(late, timing)]
    early.finish()
    late.lastContactAt = 1
    await timing.advance(20_000)
    late.finish()
    await timing.advance(0)
    expect(seen.map((each) => each.outcome)).toEqual([true, true])
  })
})

describe('shareSpeeds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-shares-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const running = (boot: string) => openRunning(folder, boot, { data() {} })
  const noEnd = new AbortController().signal

  /** A gateway's process, and the parts of the speed limits that it has had. */
  async function openProcess(boot: string, timing = new HandTiming()) {
    const parts: number[] = []
    const rules = { setSpeedShare: (part: number) => void parts.push(part) }
    return { ...(await shareSpeeds({ folder, boot }, rules, noEnd, timing)), parts, timing }
  }

  test('a gateway that serves beside two replaced processes has half of each limit, then 3/4, then all when they have ended', async () => {
    const [first, second, own] = [running('boot_0001'), running('boot_0002'), running('boot_0003')]
    const { parts, timing, watching } = await openProcess('boot_0003')
    expect(parts).toEqual([0.5])
    first.close()
    await timing.advance(1000)
    await until(() => parts.length === 2)
    second.close()
    await timing.advance(1000)
    await watching
    expect(parts).toEqual([0.5, 0.75, 1])
    own.close()
  })

  test('a replaced process has a quarter of each limit at once, and keeps it', async () => {
    const [before, own] = [running('boot_0001'), running('boot_0002')]
    const { parts, timing, watching, drain } = await openProcess('boot_0002')
    drain()
    before.close()
    await timing.advance(5000)
    await watching
    expect(parts).toEqual([0.75, 0.25])
    own.close()
  })

  test('a customer with tunnels in a serving and three replaced processes passes at most one limit, plus 26 ms of it', async () => {
    const boots = ['boot_0001', 'boot_0002', 'boot_0003', 'boot_0004']
    const sockets = boots.map(running)
    const processes = await Promise.all(boots.map((boot) => openProcess(boot)))
    for (const { drain } of processes.slice(0, -1)) drain()
    const parts = processes.map((each) => each.parts.at(-1) ?? 1)
    const moves = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 100, maxLength: 100 })
    fc.assert(
      fc.property(moves, fc.integer({ min: 1000, max: 1e8 }), (pauses, rate) => {
        const time = new HandTime()
        const limits = parts.map((part) => new SpeedLimit(() => rate * part, time.clock, time.after))
        const fromMs = time.clock()
        let passed = 0
        for (const ms of pauses) {
          for (const limit of limits) {
            const { left } = limit
            limit.spend(left)
            passed += left
          }
          time.pass(ms)
        }
        expect(passed).toBeLessThanOrEqual((rate * (time.clock() - fromMs)) / 1000 + rate * 0.026)
      }),
    )
    for (const each of sockets) each.close()
  })
})
