import { expect, test } from 'bun:test'
import { roomWithin } from './limits.ts'

test.each([
  [20_000, 1_048_576, 20_000, 104_857],
  [20_000, 20_000, 5333, 2000],
  [20_000, 1024, 273, 102],
  [20_000, 256, 55, 25],
  [20_000, 64, 8, 8],
  [100, 1_048_576, 100, 104_857],
  [20_000, Number.POSITIVE_INFINITY, 20_000, Number.POSITIVE_INFINITY],
])(
  'roomWithin for %d connections and a limit of %d files gives %d connections and %d customer ports',
  (wanted, files, connections, ports) => {
    expect(roomWithin(wanted, files)).toEqual({ connections, ports })
  },
)
