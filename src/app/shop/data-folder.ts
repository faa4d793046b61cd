import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isBound } from '../../dataplane/agent/boots.ts'
import { createOwnFile, findFile, writeOwnFile } from '../../dataplane/agent/own-file.ts'
import type { JoinKeys } from '../../jobs/local-nodes.ts'
import type { UnshownToken } from '../../jobs/sandbox/open.ts'
import { type Config, joinKeyFile, shopSocket } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'

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

/** Whether a process listens at a socket. An accepted connection is enough; a killed shop leaves only the file. */
export const isListening = (path: string): Promise<boolean> =>
  Bun.connect({ unix: path, socket: { data() {} } }).then(
    (connection) => {
      connection.end()
      return true
    },
    () => isBound(path),
  )

export const taken = (config: Config): BadSetting =>
  new BadSetting(`Another Turnpike is open on ${config.folder}. End it first, or use another TURNPIKE_DATA (--data).`)

/** Refuses a data folder that another Turnpike uses, before a gateway joins that one. */
export async function assertNotTaken(config: Config): Promise<void> {
  if (await isListening(shopSocket(config.folder))) throw taken(config)
}
