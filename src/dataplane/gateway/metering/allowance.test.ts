import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { ByteAllowance } from './allowance.ts'

const lease = 1000

/** An allowance with a fake shop that grants one lease beyond the counted and moving bytes, within the balance. */
function openAllowance(balance: number) {
  let requests = 0
  const allowance = new ByteAllowance(
    { kind: 'subuser', id: 'sub', pool: 'pool' },
    () => {
      requests += 1
    },
    () => 0,
  )
  /** Sends the request for a lease, and returns a function that delivers the answer. */
  const send = () => {
    const moving = allowance.noteRequest()
    const upto = Math.min(allowance.counted.received + allowance.counted.sent + moving + lease, balance)
    return () => allowance.allow(upto)
  }
  return {
    allowance,
    requests: () => requests,
    send,
    answer: () => {
      if (allowance.isAsking) send()()
    },
  }
}

describe('an allowance of bytes', () => {
  test('ByteAllowance.take() grants at most the balance of the shop for any sequence of requests', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }),
        fc.array(fc.integer({ min: 1, max: 3000 })),
        (balance, requested) => {
          const { allowance, answer } = openAllowance(balance)
          let passed = 0
          for (const bytes of requested) {
            const taken = allowance.take(bytes)
            passed += taken
            allowance.count(undefined, taken, 0)
            answer()
          }
          expect(passed).toBeLessThanOrEqual(balance)
        },
      ),
      { numRuns: scaled(1000) },
    )
  })

  test('an allowance grants a second lease while the bytes of the first are not counted yet', () => {
    const { allowance, answer } = openAllowance(100_000)
    allowance.take(1)
    answer()
    expect(allowance.take(5000)).toBe(lease)
    answer()
    expect(allowance.take(5000)).toBe(lease)
    expect(allowance.isUsedUp).toBe(false)
  })

  test('an answer without more bytes exhausts the allowance only if it was requested with 0 bytes left', () => {
    const { allowance, requests, send, answer } = openAllowance(lease)
    allowance.take(1)
    answer()
    allowance.count(undefined, allowance.take(600), 0)
    const deliver = send()
    allowance.count(undefined, allowance.take(5000), 0)
    allowance.onChange(() => {})
    deliver()
    expect(allowance.isUsedUp).toBe(false)
    // A tunnel waits, so the allowance sends a second request, whose answer is final.
    expect(requests()).toBe(3)
    answer()
    expect(allowance.isUsedUp).toBe(true)
    allowance.take(1)
    expect(requests()).toBe(3)
    allowance.expectMore()
    allowance.take(1)
    expect(requests()).toBe(4)
  })

  test('ByteAllowance.putBack(400) lets take() grant 400 bytes again', () => {
    const { allowance, answer } = openAllowance(lease)
    allowance.take(1)
    answer()
    expect(allowance.take(lease)).toBe(lease)
    allowance.putBack(400)
    expect(allowance.take(lease)).toBe(400)
  })

  test('an allowance counts 500 hosts by name and the rest together', () => {
    const { allowance } = openAllowance(lease)
    for (let index = 0; index < 600; index += 1) allowance.count(`host-${index}`, 1, 2)
    const hosts = allowance.takeChangedHosts()
    expect(hosts).toHaveLength(501)
    expect(hosts.find((each) => each.host === 'other')).toEqual({ host: 'other', received: 100, sent: 200 })
    expect(allowance.takeChangedHosts()).toEqual([])
  })
})

test('the pace of an allowance follows the current rate of the traffic', () => {
  let nowMs = 1000
  const paces: number[] = []
  const allowance: ByteAllowance = new ByteAllowance(
    { kind: 'subuser', id: 'sub', pool: 'residential' },
    () => void paces.push(allowance.pace),
    () => nowMs,
  )
  allowance.askAfresh()
  allowance.allow(8_000_000)
  nowMs += 10
  allowance.take(5_000_000)
  allowance.allow(50_000_000)
  nowMs += 100_000
  allowance.take(30_000_000)
  // Bytes per 200 ms: 0 before the first request, then 5 MB in 10 ms, then 30 MB in 100 s.
  expect(paces).toEqual([0, 100_000_000, 60_000])
})
