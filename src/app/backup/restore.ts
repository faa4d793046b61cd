import { existsSync } from 'node:fs'
import { createVault } from '../../adapters/vault.ts'
import type { Verifier } from '../../core/finding.ts'
import { Refusal, refuseHere } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { writeOwnFile } from '../../dataplane/agent/own-file.ts'
import { hasTable } from '../../db/closed.ts'
import type { OnProgress } from '../../db/copy/copy.ts'
import { differing, type Held } from '../../db/copy/digest.ts'
import { noteRestored } from '../../db/counter.ts'
import { isNoDatabase, readSqlite } from '../../db/sqlite-file.ts'
import { createShopKey } from '../../domains/customers/index.ts'
import { type Config, databaseAddress } from '../settings/config.ts'
import { findSecretKey, readSecretKey, secretKeyFile } from '../settings/secret-key.ts'
import { createServices, realRuntime, shopConfigOf } from '../shop/services.ts'
import { filesOf, type Manifest, readManifest } from './manifest.ts'
import { fillTarget, openTarget, type Target } from './target.ts'

/** Looks at a shop before it may be opened; true if every promise holds. */
export type Verify = (verifiers: readonly Verifier[]) => Promise<boolean>

const refused = (problem: string): Refusal => refuseHere(problem)

/**
 * Brings a backup back into a place without a shop, of either engine. It is a shop once `verify` has found nothing
 * wrong; until then nobody can open it, and what is left behind by a kill or a finding is replaced by the next attempt.
 */
export async function restore(
  config: Config,
  folder: string,
  work: { readonly clock: Clock; readonly onProgress: OnProgress; readonly verify: Verify },
): Promise<{ manifest: Manifest; isRight: boolean }> {
  const manifest = readManifest(folder)
  const key = keyFor(config, folder)
  const file = readSqlite(filesOf(folder).rows)
  await assertRows(filesOf(folder).rows, file).catch((error: unknown) => {
    file.close()
    throw error
  })
  const target = await openTarget(databaseAddress(config), work.clock()).catch((error: unknown) => {
    file.close()
    throw error
  })
  try {
    await fillTarget(target, { engine: 'sqlite', reader: file.reader }, work.onProgress, (held) =>
      assertWhole(manifest, held),
    )
    await target.db.transact((tx) => noteRestored(tx, work.clock()))
    const isRight = await looksRight(config, target, key, work.verify)
    if (!isRight) return { manifest, isRight }
    if (config.secretKey === undefined) writeOwnFile(secretKeyFile(config.folder), `${toHex(key)}\n`)
    await target.finish()
    return { manifest, isRight }
  } catch (error) {
    throw isNoDatabase(error) ? damaged(filesOf(folder).rows) : error
  } finally {
    file.close()
    await target.leave()
  }
}

const damaged = (path: string): Refusal =>
  refused(`${path} is damaged, or is not the file of a backup: it cannot be read. Take another one.`)

/** The file of a backup has a shop's tables. One that is somebody else's is refused before anything is made. */
async function assertRows(path: string, { reader }: Pick<ReturnType<typeof readSqlite>, 'reader'>): Promise<void> {
  const isThere = await hasTable({ engine: 'sqlite', ...reader }, 'migrations').catch((error: unknown) => {
    if (isNoDatabase(error)) return false
    throw error
  })
  if (!isThere) throw damaged(path)
}

const toHex = (key: Uint8Array): string => Buffer.from(key).toString('hex')

/** The key that lies with the backup, or the one that is at hand. Two that differ are a mistake of somebody. */
function keyFor(config: Config, folder: string): Uint8Array {
  const path = filesOf(folder).key
  const kept = existsSync(path) ? readSecretKey(path) : undefined
  const own = findSecretKey(config)
  if (kept && own && toHex(kept) !== toHex(own)) {
    const where = config.secretKey === undefined ? secretKeyFile(config.folder) : 'TURNPIKE_SECRET_KEY'
    throw refused(`The key in ${where} is not the one that lies with the backup. Name a folder without a shop.`)
  }
  const key = kept ?? own
  if (!key) {
    throw refused(`${folder} has no secret.key, and there is none at hand. Set TURNPIKE_SECRET_KEY to the shop's key.`)
  }
  return key
}

function assertWhole(manifest: Manifest, held: Record<string, Held>): void {
  const wrong = differing(manifest.tables, held)
  if (wrong.length === 0) return
  throw refused(`The backup is damaged: ${wrong.join(', ')} do not hold what its manifest says. Take another one.`)
}

/** With the shop's own key, as the shop would be opened. */
export async function looksRight(config: Config, { db }: Target, key: Uint8Array, verify: Verify): Promise<boolean> {
  const vault = createVault(key)
  if (!(await createShopKey({ db }).isShop())) throw refused('There is no shop in it.')
  if (!(await createShopKey({ db }).isRight(vault.fingerprint))) {
    throw refused('The key is not the one that what this shop keeps is sealed with.')
  }
  return verify(createServices(db, realRuntime, shopConfigOf(config, vault)).verifiers)
}
