import { expect, test } from 'bun:test'
import { fill, sinceOf } from './usage-steps.ts'

test('fill returns a value for each of 48 hours, and 0 for an hour without traffic', () => {
  const nowAt = Date.parse('2026-11-15T12:34:56Z')
  const from = sinceOf('hour', nowAt)
  expect(from).toBe('2026-11-13T13:00:00.000Z')
  const item = { key: '2026-11-15T12:00:00.000Z', received_bytes: 5, sent_bytes: 2, gb: 0 }
  const { times, received, sent } = fill('hour', from, [item])
  expect([times.length, received.length, sent.length]).toEqual([48, 48, 48])
  expect([received[0], received.at(-1), sent.at(-1)]).toEqual([0, 5, 2])
})
