/** True when the whole counts are wanted: `npm run test:long`. */
export const isLong = process.env['TURNPIKE_TEST_LONG'] === '1'

/** The full count in a long run; otherwise about a tenth of it, so that every change can afford it. */
export function scaled(full: number): number {
  return isLong ? full : Math.max(1, Math.round(full / 10))
}
