import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createOwnFile, findFile } from '../../dataplane/agent/own-file.ts'
import type { UnshownToken } from '../../jobs/sandbox/open.ts'

/** A file in the data folder, for its owner alone. */
export function unshownTokenIn(folder: string): UnshownToken & { forget(): void } {
  const path = join(folder, 'sandbox-token')
  const find = (): string | undefined => findFile(path)?.trim()
  return {
    find,
    take(make) {
      const kept = find()
      if (kept !== undefined) return kept
      const text = make()
      try {
        createOwnFile(path, `${text}\n`)
        return text
      } catch (error) {
        // Another shop of this folder that starts at the same time has made one.
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return find() ?? text
        throw error
      }
    },
    forget: () => rmSync(path, { force: true }),
  }
}
