import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { refuseHere } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import { createOwnFile } from '../../dataplane/agent/own-file.ts'
import type { TableSummary } from '../../db/copy/copy.ts'
import { alone } from '../../db/sole.ts'
import { noShopIn } from '../connect.ts'
import { type Config, databaseAddress, nameOf } from '../settings/config.ts'
import { findSecretKey, readSecretKey, secretKeyFile } from '../settings/secret-key.ts'
import { fillTarget, looksRight, openTarget, type RestoreWork } from './restore.ts'

/** Parses the target: PostgreSQL's address, or a data folder for SQLite. */
function readDestination(to: string): { readonly address: string; readonly folder: string | undefined } {
  if (/^postgres(ql)?:\/\//.test(to)) {
    if (!URL.canParse(to)) throw refuseHere('--to is postgres://user:password@host/database, or a folder.')
    return { address: to, folder: undefined }
  }
  // A mistyped address would become the name of a folder, with the password in it.
  if (/:\/|\/\/|[@=\s]/.test(to)) {
    throw refuseHere('The place to move to is neither postgres://user:password@host/database nor the name of a folder.')
  }
  const folder = resolve(to)
  return { address: databaseAddress({ databaseUrl: undefined, folder }), folder }
}

/** Moves a stopped shop to another database. The source closes before the target opens: there are never two shops. */
export async function move(
  config: Config,
  to: string,
  /** `goneWithinMs` is how long to wait for connections of a stopped shop to go. */
  work: RestoreWork & { readonly goneWithinMs?: number },
): Promise<{ held: Record<string, TableSummary>; isRight: boolean; to: string }> {
  const from = databaseAddress(config)
  const destination = readDestination(to)
  if (config.databaseUrl === undefined && !existsSync(from)) throw noShopIn(config)
  if (from === destination.address) throw refuseHere('The shop uses the database of --to already. Name another one.')
  const key = findSecretKey(config)
  if (!key) throw refuseHere(`There is no ${secretKeyFile(config.folder)}; set TURNPIKE_SECRET_KEY.`)
  assertKeyFits(destination.folder, key)
  const moved = await alone(
    from,
    async (sole) => {
      const target = await openTarget(destination.address, work.clock())
      try {
        const held = await fillTarget(target, sole, work.onProgress)
        const isRight = await looksRight(config, target, key, work.verify)
        const because = `It was moved to ${destination.folder ?? nameOf(to)} at ${toIso(work.clock())}.`
        if (isRight) await sole.close(because, work.clock())
        return { held, isRight, target }
      } catch (error) {
        await target.leave()
        throw error
      }
    },
    work.goneWithinMs,
  )
  const { target, ...outcome } = moved
  try {
    if (moved.isRight) {
      if (destination.folder !== undefined) keepKey(config, destination.folder, key)
      await target.finish()
    }
    return { ...outcome, to: destination.folder ?? nameOf(to) }
  } finally {
    await target.leave()
  }
}

function assertKeyFits(folder: string | undefined, key: Uint8Array): void {
  const there = folder === undefined ? undefined : readSecretKey(secretKeyFile(folder))
  if (there && !Buffer.from(there).equals(key)) throw refuseHere(`${folder} holds the key of another shop.`)
}

/** A shop whose key is a setting has no key file. */
function keepKey(config: Config, folder: string, key: Uint8Array): void {
  if (config.secretKey !== undefined || existsSync(secretKeyFile(folder))) return
  createOwnFile(secretKeyFile(folder), `${key.toHex()}\n`)
}
