import { expect, test } from 'bun:test'
import { HandTime } from '../../../../test/harness/hand-time.ts'
import { Metering } from './metering.ts'
import { noLimit, stepMs } from './speed-limit.ts'

test('a VPN device passes a quarter of its speed in a process with a quarter of the limits, and all of it with the whole', () => {
  const time = new HandTime()
  let share = 0.25
  const metering = new Metering({
    agent: { wantLease() {}, giveBack() {}, noteNow() {} },
    watch: () => undefined,
    countTunnels: () => 0,
    clock: time.clock,
    after: time.after,
    speeds: () => ({ ...noLimit, share }),
    deviceSpeed: (id) => (id === 'limited' ? 1_000_000 : Number.POSITIVE_INFINITY),
  })
  /** What a device passes in 10 s if it takes all that it may. */
  const saturate = (id: string): number => {
    const allowance = metering.allowanceOf({ kind: 'device', id, protocol: 'vless' })
    allowance.take(1e9)
    let passed = 0
    for (let ms = 0; ms < 10_000; ms += stepMs) {
      time.pass(stepMs)
      passed += allowance.take(1e9)
    }
    return passed
  }
  expect(saturate('limited')).toBe(2_500_000)
  share = 1
  expect(saturate('limited')).toBe(10_000_000)
  expect(saturate('unlimited')).toBe(400e9)
})
