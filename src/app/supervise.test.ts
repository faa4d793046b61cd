import { describe, expect, test } from 'bun:test'
import { HandTiming, passing, recordingLog } from '../../test/harness/hand-timing.ts'
import { type Opened, type Part, supervise } from './supervise.ts'

const never = new AbortController().signal

/** A part that runs for `forMs` each time, opens or not, and ends early when it is stopped. */
const partThat = (timing: HandTiming, name: string, life: { forMs: number; opens: boolean; exit: number }) => {
  const part = {
    name,
    starts: 0,
    async run(onOpen: (opened: Opened) => void, stop: AbortSignal): Promise<number> {
      part.starts += 1
      if (life.opens) onOpen({})
      await timing.pause(life.forMs, stop)
      return stop.aborted ? 0 : life.exit
    },
  }
  return part
}
const endless = Number.MAX_SAFE_INTEGER

function openSupervisor(parts: (timing: HandTiming) => readonly Part[]) {
  const timing = new HandTiming()
  const { entries, log } = recordingLog()
  const shown: number[] = []
  const run = (stop = never) =>
    supervise(
      parts(timing),
      { timing, log: { ...log, debug: () => {} }, onAllOpen: () => shown.push(timing.now()) },
      stop,
    )
  const count = (event: string) => entries.filter((each) => each.event === event).length
  return { timing, shown, run, count }
}

describe('supervise', () => {
  test('supervise restarts a part that never opens with backoff for 60 s, then ends all parts with code 1', async () => {
    const { timing, shown, run, count } = openSupervisor((time) => [
      partThat(time, 'shop', { forMs: 100, opens: false, exit: 1 }),
      partThat(time, 'gateway', { forMs: endless, opens: true, exit: 1 }),
    ])
    expect(await passing(timing, run(), 120_000)).toBe(1)
    expect(timing.now()).toBeWithin(60_000, 80_000)
    expect(count('died')).toBeWithin(8, 12)
    expect([count('given up'), shown]).toEqual([1, []])
  })

  test('supervise restarts a part that had opened for about 10 minutes while the others run', async () => {
    const { timing, shown, run } = openSupervisor((time) => [
      partThat(time, 'shop', { forMs: 1000, opens: true, exit: 1 }),
      partThat(time, 'gateway', { forMs: endless, opens: true, exit: 1 }),
    ])
    const ending = run()
    await timing.advance(590_000)
    expect(shown).toEqual([400])
    expect(await passing(timing, ending, 60_000)).toBe(1)
  })

  test('supervise never gives up a part that runs for 2 minutes between failures', async () => {
    const stop = new AbortController()
    const { timing, run, count } = openSupervisor((time) => [
      partThat(time, 'shop', { forMs: 120_000, opens: true, exit: 1 }),
    ])
    const ending = run(stop.signal)
    await timing.advance(3_600_000)
    expect([count('died') > 20, count('given up')]).toEqual([true, 0])
    stop.abort()
    expect(await passing(timing, ending)).toBe(0)
  })

  test('a part that exits with code 2 for a bad setting ends all parts within 1 s', async () => {
    const { timing, run } = openSupervisor((time) => [
      partThat(time, 'shop', { forMs: endless, opens: true, exit: 1 }),
      partThat(time, 'gateway', { forMs: 100, opens: false, exit: 2 }),
    ])
    expect(await passing(timing, run())).toBe(2)
    expect(timing.now()).toBeLessThan(1000)
  })

  test('a failed optional part ends no other part, and no part waits for it to open', async () => {
    let givenUp = 0
    const { timing, shown, run, count } = openSupervisor((time) => [
      partThat(time, 'shop', { forMs: endless, opens: true, exit: 1 }),
      { ...partThat(time, 'vpn-node', { forMs: 100, opens: false, exit: 2 }), onGivenUp: () => void (givenUp += 1) },
    ])
    const stop = new AbortController()
    const ending = run(stop.signal)
    await timing.advance(10_000)
    expect([shown, givenUp, count('cannot run')]).toEqual([[0], 1, 1])
    stop.abort()
    expect(await passing(timing, ending, 1000)).toBe(0)
  })
})
