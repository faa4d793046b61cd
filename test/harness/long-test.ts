import { test } from 'bun:test'
import { isLong } from './scale.ts'

/** A test that only `npm run test:long` runs; `npm test` prints how many there are. */
export const longTest: (title: string, run: () => Promise<void> | void) => void = isLong ? test : () => {}
