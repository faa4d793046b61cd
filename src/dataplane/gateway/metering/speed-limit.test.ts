import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { HandTime } from '../../../../test/harness/hand-time.ts'
import { ByteAllowance } from './allowance.ts'
import { SpeedLimit } from './speed-limit.ts'

const openLimit = (bytesPerSecond: number) => {
  const time = new HandTime()
  let rate = bytesPerSecond
  const limit = new SpeedLimit(() => rate, time.clock, time.after)
  return { time, limit, setRate: (next: number) => void (rate = next) }
}

describe('a speed limit', () => {
  test('a speed limit passes at most its rate plus 26 ms of it, for any pauses and any sizes of writes', () => {
    const moves = fc.array(
      fc.record({ ms: fc.integer({ min: 1, max: 60 }), wanted: fc.integer({ min: 1, max: 1e6 }) }),
      {
        minLength: 200,
        maxLength: 200,
      },
    )
    fc.assert(
      fc.property(moves, fc.integer({ min: 1000, max: 1e8 }), (all, rate) => {
        const { time, limit } = openLimit(rate)
        const fromMs = time.clock()
        let passed = 0
        for (const { ms, wanted } of all) {
          const taken = Math.min(wanted, limit.left)
          limit.spend(taken)
          passed += taken
          time.pass(ms)
        }
        const whole = (rate * (time.clock() - fromMs)) / 1000
        expect(passed).toBeLessThanOrEqual(whole + rate * 0.026)
      }),
    )
  })

  test('a saturated speed limit passes its rate within 1 % over 10 s', () => {
    const { time, limit } = openLimit(1_000_000)
    let passed = 0
    for (let step = 0; step < 1000; step += 1) {
      const { left } = limit
      limit.spend(left)
      passed += left
      time.pass(10)
    }
    expect(passed).toBeWithin(9_900_000, 10_100_000)
  })

  test('a sender that sends at least every 225 ms gets the whole rate, less one step of 25 ms', () => {
    const pauses = fc.array(fc.integer({ min: 1, max: 225 }), { minLength: 50, maxLength: 200 })
    fc.assert(
      fc.property(pauses, fc.integer({ min: 1000, max: 1e8 }), (all, rate) => {
        const { time, limit } = openLimit(rate)
        const fromMs = time.clock()
        let passed = 0
        for (const ms of all) {
          time.pass(ms)
          const { left } = limit
          limit.spend(left)
          passed += left
        }
        expect(passed).toBeGreaterThanOrEqual((rate * (time.clock() - fromMs - 25)) / 1000 - 1)
      }),
    )
  })

  test('a lowered rate keeps at most 250 ms of the new rate at once; a raised one counts from the next step', () => {
    const { time, limit, setRate } = openLimit(1_000_000)
    time.pass(60_000)
    expect(limit.left).toBe(250_000)
    setRate(100_000)
    expect(limit.left).toBe(25_000)
    limit.spend(25_000)
    setRate(3_000_000)
    expect(limit.left).toBe(0)
    time.pass(25)
    expect(limit.left).toBe(75_000)
  })

  test('a clock set back by an hour delays the next wake-up by 25 ms at most', () => {
    const { time, limit } = openLimit(1_000_000)
    limit.spend(limit.left)
    time.setBack(3_600_000)
    let wakes = 0
    limit.whenMore(() => void (wakes += 1))
    time.pass(25)
    expect(wakes).toBe(1)
  })

  test('an idle credential saves at most 250 ms of its rate', () => {
    const { time, limit } = openLimit(1_000_000)
    time.pass(60_000)
    expect(limit.left).toBe(250_000)
  })

  test('a clock set back by an hour stops a speed limit for 25 ms at most', () => {
    const { time, limit } = openLimit(1_000_000)
    limit.spend(limit.left)
    time.setBack(3_600_000)
    expect(limit.left).toBe(0)
    time.pass(25)
    expect(limit.left).toBe(25_000)
  })

  test('a removed speed limit passes everything and wakes waiting senders', () => {
    const { time, limit, setRate } = openLimit(1000)
    limit.spend(limit.left)
    let wakes = 0
    limit.whenMore(() => void (wakes += 1))
    setRate(Number.POSITIVE_INFINITY)
    expect(limit.left).toBe(Number.POSITIVE_INFINITY)
    time.pass(30)
    expect({ wakes, timers: time.timers }).toEqual({ wakes: 1, timers: 0 })
  })
})

describe('an allowance with a speed limit', () => {
  function open(rate: number) {
    const { time, limit } = openLimit(rate)
    let requests = 0
    const leased = (pool: string): ByteAllowance => {
      const allowance = new ByteAllowance(
        { kind: 'subuser', id: 'a', pool },
        () => void (requests += 1),
        time.clock,
        limit,
      )
      allowance.allow(1_000_000)
      return allowance
    }
    return { time, one: leased('one'), other: leased('other'), requests: () => requests }
  }

  test('two allowances of one credential share its speed limit', () => {
    const { time, one, other } = open(100_000)
    expect(one.take(2000)).toBe(2000)
    expect(other.take(2000)).toBe(500)
    expect({ one: one.left, other: other.left }).toEqual({ one: 0, other: 0 })
    time.pass(25)
    expect({ one: one.left, other: other.left }).toEqual({ one: 2500, other: 2500 })
  })

  test('an allowance at its speed limit sends no lease request and is not used up', () => {
    const { one, requests } = open(100_000)
    one.take(100_000)
    expect({ requests: requests(), isUsedUp: one.isUsedUp, hasSome: one.hasSome }).toEqual({
      requests: 0,
      isUsedUp: false,
      hasSome: true,
    })
  })

  test('an allowance with a speed limit wakes waiting senders in order', () => {
    const { time, one } = open(100_000)
    one.take(100_000)
    const order: string[] = []
    const forget = ['first', 'second'].map((name) => one.onChange(() => void order.push(name)))
    time.pass(25)
    expect(order).toEqual(['first', 'second'])
    for (const each of forget) each()
    time.pass(25)
    expect({ order, timers: time.timers }).toEqual({ order: ['first', 'second'], timers: 0 })
  })

  test('a sender that begins to wait after the next step of 25 ms has begun is woken', () => {
    const { time, one } = open(100_000)
    one.take(100_000)
    // The write between take() and onChange() was slow.
    time.spend(25)
    let wakes = 0
    one.onChange(() => void (wakes += 1))
    time.pass(25)
    expect(wakes).toBe(1)
  })

  test('a sender that found no bytes left when it was woken is woken again, although a step begins meanwhile', () => {
    const { time, one } = open(100_000)
    one.take(100_000)
    const forgetFirst = one.onChange(() => {
      forgetFirst()
      one.take(100_000)
    })
    const lefts: number[] = []
    one.onChange(() => {
      lefts.push(one.left)
      time.spend(25)
    })
    time.pass(25)
    time.pass(25)
    expect(lefts).toEqual([0, 5000])
  })
})
