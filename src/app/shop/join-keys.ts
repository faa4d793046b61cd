import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeOwnFile } from '../../dataplane/agent/own-file.ts'
import type { JoinKeys } from '../../jobs/local-nodes.ts'
import { joinKeyFile } from '../settings/config.ts'

/** Keys in the data folder, one file for each kind of node. */
export const joinKeysIn = (folder: string): JoinKeys => ({
  has: (kind) => existsSync(joinKeyFile(folder, kind)),
  write(kind, text) {
    const path = joinKeyFile(folder, kind)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // It may have been there before, open to others.
    chmodSync(dirname(path), 0o700)
    writeOwnFile(path, `${text}\n`)
  },
})
