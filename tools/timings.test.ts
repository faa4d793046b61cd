import { expect, test } from 'bun:test'
import { withUnmeasured } from './timings.ts'

test('a test file without a duration counts as 30 s, so that it does not begin last', () => {
  const timings = { version: 1, files: { 'src/known.test.ts': 12 } }
  expect(withUnmeasured(timings, ['src/known.test.ts', 'src/new.test.ts'])).toEqual({
    version: 1,
    files: { 'src/known.test.ts': 12, 'src/new.test.ts': 30_000 },
  })
})
