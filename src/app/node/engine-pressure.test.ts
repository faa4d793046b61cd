import { expect, test } from 'bun:test'
import { recordingLog } from '../../../test/harness/hand-timing.ts'
import { createPressureLog } from './engine.ts'

test('createPressureLog logs "gateway full" once for each increase of its counters', () => {
  const { entries, log } = recordingLog()
  let pressure = { spared: 0, turnedAway: 0, starved: 0 }
  const check = createPressureLog(log, () => pressure)
  check()
  pressure = { spared: 5, turnedAway: 2, starved: 1 }
  check()
  check()
  // The engine was restarted, and its counters began at 0.
  pressure = { spared: 0, turnedAway: 1, starved: 0 }
  check()
  expect(entries.map(({ level, event, fields }) => [level, event, ...Object.values(fields)])).toEqual([
    ['warn', 'gateway full', 5, 2, 1],
    ['warn', 'gateway full', 0, 1, 0],
  ])
})
