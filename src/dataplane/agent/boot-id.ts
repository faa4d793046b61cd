import { join } from 'node:path'
import type { Clock } from '../../core/time.ts'
import { listEarlier } from './earlier.ts'
import { findFile, writeOwnFile } from './own-file.ts'

const fileName = 'last-boot'
/** Base 36: nine characters hold the milliseconds of the next three thousand years. */
const timeDigits = 9
/** A damaged file must not use up the names that are left. */
const lastAt = Date.UTC(2500, 0)
const pattern = /^([0-9a-z]{9})-[0-9a-f]{8}$/

/**
 * Names this run of the node. Later names sort later, also when the clock was set back since the last run: the shop
 * would take a name that sorts earlier for a dead process and give it nothing. Remembered before it is used.
 */
export function makeBoot(deps: {
  readonly folder: string
  readonly clock: Clock
  readonly randomBytes: (count: number) => Uint8Array
}): string {
  const path = join(deps.folder, fileName)
  const remembered = findFile(path)?.trim() ?? ''
  const known = [remembered, ...listEarlier(deps.folder)].flatMap(findTime)
  const at = Math.max(Math.trunc(deps.clock()), ...known.map((each) => each + 1))
  const boot = `${at.toString(36).padStart(timeDigits, '0')}-${Buffer.from(deps.randomBytes(4)).toString('hex')}`
  writeOwnFile(path, `${boot}\n`)
  return boot
}

/** The moment in a boot's name; nothing for a text that is none, or for a moment that no clock of ours has shown. */
function findTime(boot: string): number[] {
  const at = Number.parseInt(pattern.exec(boot)?.[1] ?? '', 36)
  return at < lastAt ? [at] : []
}
