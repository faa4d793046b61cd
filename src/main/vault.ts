import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Vault } from '../kernel/vault.ts'
import { BadSetting } from './config.ts'

const nonceBytes = 12
const tagBytes = 16

/** AES-256-GCM: a fresh nonce each time, the context bound in, and any change to the sealed bytes noticed. */
export function createVault(key: Uint8Array): Vault {
  const derived = new Uint8Array(hkdfSync('sha256', key, 'turnpike', 'vault 1', 32))
  return {
    seal(text, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', derived, nonce)
      cipher.setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(sealed, context) {
      const decipher = createDecipheriv('aes-256-gcm', derived, sealed.subarray(0, nonceBytes))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes))
      const body = sealed.subarray(nonceBytes + tagBytes)
      return decipher.update(body, undefined, 'utf8') + decipher.final('utf8')
    },
  }
}

/**
 * The key lives outside the database: in the setting, or in a file of the data folder that its owner alone can read. Several
 * shops on one database need the same one.
 */
export function loadKey(setting: string | undefined, folder: string): Uint8Array {
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
  return decodeKey(readFileSync(path, 'utf8').trim(), path)
}

function decodeKey(text: string, where: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new BadSetting(`${where} must be 64 hexadecimal digits.`)
  return Uint8Array.fromHex(text)
}
