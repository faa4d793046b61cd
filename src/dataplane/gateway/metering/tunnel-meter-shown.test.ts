import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { shownOf } from './tunnel-meter.ts'

const segmentBytes = 1460

test('shownOf never overestimates the acknowledged bytes of short segments', () => {
  const segment = fc.record({
    bytes: fc.integer({ min: 1, max: segmentBytes }),
    state: fc.constantFrom('acknowledged', 'selected', 'unknown'),
  })
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 50 }), fc.boolean(), (segments, isOver) => {
      // Segments before the first gap are acknowledged.
      const gap = segments.findIndex(({ state }) => state !== 'acknowledged')
      const before = gap < 0 ? segments : segments.slice(0, gap)
      const beyond = gap < 0 ? [] : segments.slice(gap).map((each) => ({ ...each, has: each.state !== 'unknown' }))
      const total = (list: readonly { bytes: number }[]): number => list.reduce((sum, { bytes }) => sum + bytes, 0)
      const shown = shownOf({
        acknowledged: total(before),
        sent: total(segments),
        selectedSegments: beyond.filter(({ has }) => has).length,
        unknownSegments: beyond.filter(({ has }) => !has).length + (isOver ? 1 : 0),
        segmentBytes,
        isOver,
      })
      expect(shown).toBeGreaterThanOrEqual(total(before))
      expect(shown).toBeLessThanOrEqual(total(before) + total(beyond.filter(({ has }) => has)))
    }),
  )
})

test('shownOf counts selective acknowledgements of full segments to the byte', () => {
  const of = { acknowledged: 0, segmentBytes, isOver: false }
  const sent = 738 * segmentBytes
  expect(shownOf({ ...of, sent, selectedSegments: 737, unknownSegments: 1 })).toBe(737 * segmentBytes)
  expect(shownOf({ ...of, sent, selectedSegments: 369, unknownSegments: 369 })).toBe(369 * segmentBytes)
  expect(shownOf({ ...of, sent, selectedSegments: 0, unknownSegments: 738 })).toBe(0)
})
