import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BadSetting } from './reading.ts'

/**
 * The key lives outside the database: in the setting, or in a file of the data folder that its owner alone can read.
 * Several shops on one database need the same one.
 */
export function loadSecretKey(setting: string | undefined, folder: string): Uint8Array {
  if (setting !== undefined) return decodeKey(setting, 'TURNPIKE_SECRET_KEY')
  const path = join(folder, 'secret.key')
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    try {
      writeFileSync(path, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      // Another process that starts at the same time has written it; its key is the one.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
  // A copy that was put back from somewhere may have come with other rights.
  const { mode, uid } = statSync(path)
  if ((mode & 0o077) !== 0 && uid === process.geteuid?.()) chmodSync(path, 0o600)
  return decodeKey(readFileSync(path, 'utf8').trim(), path)
}

function decodeKey(text: string, where: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new BadSetting(`${where} must be 64 hexadecimal digits.`)
  return Uint8Array.fromHex(text)
}
