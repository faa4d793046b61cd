import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Timers } from './reactor.ts'

test('timers fire in the order of their times, and cancelled timers do not fire', () => {
  const plan = fc.array(fc.record({ ms: fc.nat(1000), isCancelled: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(plan, (timers) => {
      let nowMs = 0
      const ran: number[] = []
      const heap = new Timers(() => nowMs)
      for (const { ms, isCancelled } of timers) {
        const cancel = heap.after(ms, () => ran.push(ms))
        if (isCancelled) cancel()
      }
      while (heap.dueInMs(5000) < 5000) {
        nowMs += heap.dueInMs(5000)
        heap.run()
      }
      expect(ran).toEqual(
        timers
          .filter(({ isCancelled }) => !isCancelled)
          .map(({ ms }) => ms)
          .toSorted((a, b) => a - b),
      )
      expect(heap.size).toBe(0)
    }),
  )
})

test('a timer of 10 ms does not fire after 9.5 ms, and a timer that it starts fires in the next run()', () => {
  let nowMs = 0
  const ran: string[] = []
  const timers = new Timers(() => nowMs)
  timers.after(10, () => {
    ran.push('first')
    timers.after(0, () => ran.push('second'))
  })
  nowMs = 9.5
  timers.run()
  expect({ ran, dueInMs: timers.dueInMs(1000) }).toEqual({ ran: [], dueInMs: 1 })
  nowMs = 10
  timers.run()
  expect(ran).toEqual(['first'])
  timers.run()
  expect(ran).toEqual(['first', 'second'])
  expect(timers.dueInMs(777)).toBe(777)
})

test('10,000 timers of which 9,900 are cancelled hold fewer than 1,000 entries', () => {
  const timers = new Timers(() => 0)
  const ran: number[] = []
  for (let count = 0; count < 10_000; count += 1) {
    const cancel = timers.after(10_000, () => ran.push(count))
    if (count % 100 !== 0) cancel()
  }
  expect(timers.size).toBeLessThan(1000)
})
