import type { Engine } from './database.ts'

/** True for the full counts: `npm run test:long`. */
export const isLong = process.env['TURNPIKE_TEST_LONG'] === '1'

/** The full count in `npm run test:long`, a twentieth of it in `npm test`. */
export function scaled(full: number): number {
  return isLong ? full : Math.max(1, Math.round(full / 20))
}

/**
 * Damages that verify must find: all on SQLite; one in six on PostgreSQL, where each takes ten times as long; all on
 * both in a long run.
 */
export const sampledOn = <Item>(engine: Engine, items: readonly Item[]): Item[] =>
  items.filter((_, index) => isLong || engine === 'sqlite' || index % 6 === 0)
