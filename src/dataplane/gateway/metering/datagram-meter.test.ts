import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { ByteAllowance } from './allowance.ts'
import { DatagramMeter } from './datagram-meter.ts'
import { SpeedLimit } from './speed-limit.ts'

const subject = { kind: 'subuser', id: 'sub', pool: 'pool' } as const

function openMeter(leased: number) {
  let requests = 0
  const allowance = new ByteAllowance(
    subject,
    () => void (requests += 1),
    () => 0,
  )
  allowance.allow(leased)
  let noted = 0
  const through = { received: 0, sent: 0 }
  const meter = new DatagramMeter(allowance, (_, bytes) => void (noted += bytes), through)
  return { meter, allowance, through, noted: () => noted, requests: () => requests }
}

test('DatagramMeter counts exactly the datagrams that the kernel has taken, and never more than the lease', () => {
  const datagram = fc.record({ bytes: fc.integer({ min: 0, max: 3000 }), isUp: fc.boolean(), isTaken: fc.boolean() })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 50_000 }), fc.array(datagram), (leased, datagrams) => {
      const { meter, allowance, through, noted } = openMeter(leased)
      const passed = { received: 0, sent: 0 }
      for (const { bytes, isUp, isTaken } of datagrams) {
        if (!meter.reserve(bytes)) continue
        const receipt = isUp ? meter.sentTo('host') : meter.receivedFrom('host')
        receipt.settle(bytes, isTaken)
        if (isTaken) passed[isUp ? 'sent' : 'received'] += bytes
      }
      const total = passed.received + passed.sent
      expect(total).toBeLessThanOrEqual(leased)
      expect([allowance.counted, through, noted(), allowance.left]).toEqual([passed, passed, total, leased - total])
    }),
  )
})

test('DatagramMeter asks for a lease when a datagram does not fit, and is used up after an answer without more', () => {
  const { meter, allowance, requests } = openMeter(1000)
  expect([meter.reserve(1001), meter.reserve(1000)]).toEqual([false, true])
  expect([requests(), meter.reserve(1), allowance.isUsedUp]).toEqual([1, false, false])
  allowance.noteRequest()
  allowance.allow(1000)
  expect([requests(), meter.reserve(1)]).toEqual([1, false])
  expect(allowance.isUsedUp).toBe(true)
})

test('DatagramMeter drops empty datagrams as soon as no byte of the lease is left', () => {
  const { meter, allowance, requests } = openMeter(1000)
  expect([meter.reserve(0), allowance.left, requests()]).toEqual([true, 1000, 0])
  expect([meter.reserve(1000), meter.reserve(0), requests()]).toEqual([true, false, 1])
  allowance.allow(1000)
  expect([meter.reserve(0), allowance.isUsedUp]).toEqual([false, true])
})

test('a datagram larger than the burst of the speed limit passes whole, and the next waits until it is repaid', () => {
  let nowMs = 0
  const speed = new SpeedLimit(
    () => 10_000,
    () => nowMs,
    () => () => {},
  )
  const allowance = new ByteAllowance(
    { kind: 'proxy', id: 1 },
    () => {},
    () => nowMs,
    speed,
  )
  const meter = new DatagramMeter(allowance, () => {})
  expect(meter.reserve(5000)).toBe(true)
  const passedAt: number[] = []
  for (; nowMs < 1000; nowMs += 25) if (meter.reserve(100)) passedAt.push(nowMs)
  expect(passedAt[0]).toBe(500)
  // The remaining half second allows 5,000 bytes, and one datagram of debt.
  expect(passedAt.length).toBeLessThanOrEqual(51)
})
