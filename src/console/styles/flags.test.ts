import { expect, test } from 'bun:test'
import { flagged, flagSvg } from './flags.ts'

test('every flag is a small drawing without text, style or address, and countries without one have none', () => {
  expect(flagged.length).toBeGreaterThan(110)
  for (const code of flagged) {
    const svg = flagSvg(code) ?? ''
    expect([code, svg.length < 2_600, /NaN|undefined|style=|url\(|<text/.test(svg)]).toEqual([code, true, false])
    expect([code, (svg.match(/<path/g) ?? []).length > 0]).toEqual([code, true])
  }
  expect(flagSvg('XX')).toBeUndefined()
})
