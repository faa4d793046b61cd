import { expect, test } from 'bun:test'
import { recordingLog } from '../../../test/harness/hand-timing.ts'
import { createPressureLog } from './pressure.ts'

test('an exhausted resource is logged once per increase, and nothing is logged otherwise', () => {
  const { entries, log } = recordingLog()
  let pressure = { spared: 0, turnedAway: 0, starved: 0 }
  const look = createPressureLog(log, () => pressure)
  look()
  pressure = { spared: 5, turnedAway: 2, starved: 1 }
  look()
  look()
  // The engine was started again.
  pressure = { spared: 0, turnedAway: 1, starved: 0 }
  look()
  expect(entries.map(({ level, event, fields }) => [level, event, ...Object.values(fields)])).toEqual([
    ['warn', 'gateway full', 5, 2, 1],
    ['warn', 'gateway full', 0, 1, 0],
  ])
})
