import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createOwnFile, findFile } from '../../dataplane/agent/own-file.ts'
import type { Config } from './config.ts'
import { BadSetting } from './reading.ts'

export const secretKeyFile = (folder: string): string => join(folder, 'secret.key')

/** The key is in the setting or in a file of the data folder, never in the database. Shops on one database share it. */
export function findSecretKey(config: Pick<Config, 'secretKey' | 'folder'>): Uint8Array | undefined {
  if (config.secretKey !== undefined) return decodeKey(config.secretKey, 'TURNPIKE_SECRET_KEY')
  return readSecretKey(secretKeyFile(config.folder))
}

export function readSecretKey(path: string): Uint8Array | undefined {
  const text = findFile(path)
  return text === undefined ? undefined : decodeKey(text.trim(), path)
}

/** Makes a key, on disk before anything is sealed with it. Two shops that start together share one. */
export function makeSecretKey(folder: string): Uint8Array {
  const key = randomBytes(32)
  try {
    createOwnFile(secretKeyFile(folder), `${key.toString('hex')}\n`)
    return key
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const made = isThere ? findSecretKey({ secretKey: undefined, folder }) : undefined
    if (!made) throw error
    return made
  }
}

export const forgetSecretKey = (folder: string): void => rmSync(secretKeyFile(folder), { force: true })

function decodeKey(text: string, where: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new BadSetting(`${where} must be 64 hexadecimal digits.`)
  return Uint8Array.fromHex(text)
}
