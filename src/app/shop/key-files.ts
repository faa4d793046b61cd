import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createOwnFile, findFile, writeOwnFile } from '../../dataplane/agent/own-file.ts'
import type { JoinKeys } from '../../jobs/local-nodes.ts'
import type { UnshownToken } from '../../jobs/sandbox/open.ts'
import { joinKeyFile } from '../settings/config.ts'

export const joinKeysIn = (folder: string): JoinKeys => ({
  has: (kind) => existsSync(joinKeyFile(folder, kind)),
  write(kind, text) {
    const path = joinKeyFile(folder, kind)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // An existing folder may be readable by others.
    chmodSync(dirname(path), 0o700)
    writeOwnFile(path, `${text}\n`)
  },
})

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
