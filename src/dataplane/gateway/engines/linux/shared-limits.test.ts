import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { HandTime } from '../../../../../test/harness/hand-time.ts'
import { createTunnelLimits } from '../../access/limits.ts'
import { SpeedLimit } from '../../metering/speed-limit.ts'
import { forgetThread, makeLimitMemory, openSharedState } from './shared-limits.ts'

/** The state that `threads` reactors share, all in this thread. */
function openShared(threads: number) {
  const time = new HandTime()
  const memory = makeLimitMemory(threads, 1000, Math.random)
  const states = Array.from({ length: threads }, (_, thread) =>
    openSharedState(memory, thread, time.clock, () => exits),
  )
  return { time, states, die: (thread: number) => forgetThread(memory, thread) }
}

const exits = ['exit-1', 'exit-2']
const customer = { tunnels: 7, newPerSecond: 1000, namesPerSecond: 5 }

const moves = fc.array(
  fc.record({
    does: fc.constantFrom('enter', 'enter', 'enter', 'leave', 'die'),
    thread: fc.nat(3),
    owner: fc.constantFrom('anna', 'boris'),
    key: fc.constantFrom('a', 'b'),
    max: fc.constantFrom(null, 3),
  }),
  { minLength: 50, maxLength: 150 },
)

test('limits of 4 reactors admit exactly what one reactor would, for any opening, closing and death of reactors', () => {
  fc.assert(
    fc.property(moves, (all) => {
      const { states, die } = openShared(4)
      const shared = states.map((state) => state.openTunnelLimits(customer))
      const model = createTunnelLimits(customer, () => 0)
      const open: { thread: number; owner: string; key: string }[] = []
      const closeOnce = (index: number): void => {
        const [tunnel] = open.splice(index, 1)
        if (tunnel) model.leave(tunnel.owner, tunnel.key)
      }
      for (const { does, thread, owner, key, max } of all) {
        if (does === 'enter') {
          const expected = model.enter(owner, `${owner} ${key}`, max)
          expect(shared[thread]?.enter(owner, `${owner} ${key}`, max)).toBe(expected)
          if (expected === undefined) open.push({ thread, owner, key: `${owner} ${key}` })
        } else if (does === 'leave') {
          const index = open.findIndex((tunnel) => tunnel.thread === thread)
          const tunnel = open[index]
          if (tunnel) shared[thread]?.leave(tunnel.owner, tunnel.key)
          if (tunnel) closeOnce(index)
        } else {
          die(thread)
          for (let index = open.length - 1; index >= 0; index -= 1) if (open[index]?.thread === thread) closeOnce(index)
        }
      }
    }),
    { numRuns: 30 },
  )
})

test('namesPerSecond=5 admits a burst of 10 names over 4 reactors, then one every 200 ms', () => {
  const { time, states } = openShared(4)
  const names = states.map((state) => state.openBuckets('names', { perSecond: 5, burst: 10 }))
  const takeAll = (): number => names.filter((each) => each.take('anna')).length
  expect([takeAll(), takeAll(), takeAll(), takeAll()]).toEqual([4, 4, 2, 0])
  time.pass(200)
  expect(takeAll()).toBe(1)
  time.pass(60_000)
  expect(takeAll() + takeAll() + takeAll() + takeAll()).toBe(10)
})

test('a speed limit over 4 reactors passes at most its rate, 250 ms of it, and a step of each reactor', () => {
  const uses = fc.array(
    fc.record({ ms: fc.integer({ min: 1, max: 60 }), thread: fc.nat(3), wanted: fc.integer({ min: 1, max: 1e6 }) }),
    { minLength: 100, maxLength: 200 },
  )
  fc.assert(
    fc.property(uses, fc.integer({ min: 100_000, max: 1e8 }), (all, rate) => {
      const { time, states } = openShared(4)
      const limits = states.map((state) => new SpeedLimit(() => rate, time.clock, time.after, state.drawOf?.('anna')))
      const fromMs = time.clock()
      let passed = 0
      for (const { ms, thread, wanted } of all) {
        const limit = limits[thread]
        const taken = Math.min(wanted, limit?.left ?? 0)
        limit?.spend(taken)
        passed += taken
        time.pass(ms)
      }
      expect(passed).toBeLessThanOrEqual((rate * (time.clock() - fromMs)) / 1000 + rate * (0.25 + 4 * 0.025) + 4)
    }),
    { numRuns: 50 },
  )
})

test('one reactor of 4 passes the whole speed limit while the others are idle: within 1 % over 10 s', () => {
  const { time, states } = openShared(4)
  const limit = new SpeedLimit(() => 1_000_000, time.clock, time.after, states[2]?.drawOf?.('anna'))
  let passed = 0
  for (let step = 0; step < 1000; step += 1) {
    for (let { left } = limit; left > 0; left = limit.left) {
      limit.spend(left)
      passed += left
    }
    time.pass(10)
  }
  expect(passed).toBeWithin(9_900_000, 10_100_000)
})

test('a session that two reactors begin keeps the first exit, and a lost one is forgotten once', () => {
  const { time, states } = openShared(2)
  const [one, other] = states.map(({ sessions }) => sessions)
  const nowMs = time.clock()
  const first = { exit: 'exit-1', endsAt: nowMs + 1000, turn: 0 }
  expect(one?.begin('s', first, nowMs)).toEqual(first)
  expect(other?.begin('s', { ...first, exit: 'exit-2' }, nowMs)).toEqual(first)
  other?.forget('s', first)
  expect(one?.find('s')).toBeUndefined()
  const next = { ...first, exit: 'exit-2' }
  one?.begin('s', next, nowMs)
  other?.forget('s', first)
  expect(other?.find('s')).toEqual(next)
})

test('a nonce is accepted by one of 3 reactors, once', () => {
  const { states } = openShared(3)
  const outcomes = states.map(({ claimNonce }) => claimNonce('nod_a 1', 2000, 1000))
  expect(outcomes).toEqual([true, false, false])
  expect(states[2]?.claimNonce('nod_a 2', 2000, 1000)).toBeTrue()
})

test('4 reactors together waive 1 MiB of lost bytes of a customer within an hour, and again 65 minutes later', () => {
  const { states, time } = openShared(4)
  const bear = (thread: number, owner: string) => states[thread]?.losses?.bear(owner, 65_536)
  for (let count = 0; count < 16; count += 1) expect(bear(count % 4, 'anna')).toBe(65_536)
  for (const thread of [0, 1, 2, 3]) expect(bear(thread, 'anna')).toBe(0)
  expect(bear(3, 'boris')).toBe(65_536)
  time.pass(59 * 60_000)
  expect(bear(2, 'anna')).toBe(0)
  time.pass(6 * 60_000)
  expect(bear(1, 'anna')).toBe(65_536)
})
