import { expect, test } from 'bun:test'
import { HandTiming, settle } from '../../test/harness/hand-timing.ts'
import { BulkTurns } from './bulk-turns.ts'

/** Starts a bulk request and notes each of its slices. */
function createRequests(turns: BulkTurns) {
  const events: string[] = []
  const start = async (customer: string, slices: number) => {
    const { next, end } = await turns.start(customer)
    for (let slice = 1; slice <= slices; slice += 1) {
      if (slice > 1) await next()
      events.push(`${customer} ${slice}`)
    }
    await end()
  }
  return { events, start }
}

test('a slice waits until no ordinary request is in progress, and runs in the next turn of the event loop', async () => {
  const turns = new BulkTurns(1, new HandTiming())
  const { events, start } = createRequests(turns)
  const [leaveFirst, leaveSecond] = [turns.enter(), turns.enter()]
  const done = start('anna', 1)
  await settle()
  leaveFirst()
  leaveFirst()
  await settle()
  expect(events).toEqual([])
  leaveSecond()
  expect(events).toEqual([])
  await done
  expect(events).toEqual(['anna 1'])
})

test('a slice waits for ordinary requests for 25 ms, however many follow one another', async () => {
  const timing = new HandTiming()
  const turns = new BulkTurns(1, timing)
  const { events, start } = createRequests(turns)
  turns.enter()
  void start('anna', 1)
  await settle()
  await timing.advance(24)
  turns.enter()
  expect(events).toEqual([])
  await timing.advance(1)
  expect(events).toEqual(['anna 1'])
})

test('the next slice waits 40 ms after a slice of 40 ms in which an ordinary request came', async () => {
  const timing = new HandTiming()
  const turns = new BulkTurns(1, timing)
  const work = await turns.start('anna')
  turns.enter()()
  timing.spend(40)
  const next = work.next().then(() => 'next slice')
  await timing.advance(39)
  expect(await Promise.race([next, Promise.resolve('resting')])).toBe('resting')
  await timing.advance(1)
  expect(await next).toBe('next slice')
})

test('three slices run in consecutive turns, without a pause, if no ordinary request comes', async () => {
  const turns = new BulkTurns(1, new HandTiming())
  const { events, start } = createRequests(turns)
  await start('anna', 3)
  expect(events).toEqual(['anna 1', 'anna 2', 'anna 3'])
})

test('one bulk request of a customer runs at a time, and 2 places go to customers first in first out', async () => {
  const turns = new BulkTurns(2, new HandTiming())
  const held = [await turns.start('anna'), await turns.start('boris')]
  const { events, start } = createRequests(turns)
  const done = [start('anna', 1), start('clara', 1), start('boris', 1)]
  await settle()
  expect(events).toEqual([])
  await held[1]?.end()
  await Promise.all([done[1], done[2]])
  expect(events).toEqual(['clara 1', 'boris 1'])
  await held[0]?.end()
  await done[0]
  expect(events).toEqual(['clara 1', 'boris 1', 'anna 1'])
})
