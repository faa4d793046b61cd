import { statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { soonEnough } from '../../db/open.ts'
import { type Config, databaseAddress } from '../settings/config.ts'

const checkEveryMs = 1_000
/** More than a sale writes. */
const content = new Uint8Array(256 * 1024)

const full = 'The disk of the data folder is full.'
const gone = 'The database is no longer in the data folder.'
const sentences: Readonly<Record<string, string>> = { ENOSPC: full, EDQUOT: full, ENOENT: gone }

async function writeAndRemove(path: string): Promise<void> {
  try {
    await writeFile(path, content, { mode: 0o600 })
  } finally {
    await rm(path, { force: true })
  }
}

/**
 * Whether the data folder of a shop on SQLite still has its database and takes new files. An idle shop writes nothing,
 * so its commits alone do not show a full disk. Checks at most once a second.
 */
export function createDiskCheck(config: Pick<Config, 'databaseUrl' | 'folder'>) {
  const address = databaseAddress(config)
  const find = () => statSync(address, { throwIfNoEntry: false })
  const opened = config.databaseUrl === undefined ? find() : undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let checked: Promise<string | undefined> = Promise.resolve(undefined)

  async function check(): Promise<string | undefined> {
    try {
      const found = find()
      if (found?.ino !== opened?.ino || found?.dev !== opened?.dev) return gone
      await soonEnough(writeAndRemove(join(config.folder, 'space-check')))
      return undefined
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      return sentences[code] ?? 'The data folder cannot be written now.'
    }
  }

  return {
    /** Why sales cannot be written, if they cannot. */
    findProblem(): Promise<string | undefined> {
      if (!opened || performance.now() - checkedAt < checkEveryMs) return checked
      checkedAt = performance.now()
      checked = check()
      return checked
    },
  }
}
