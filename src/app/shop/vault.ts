import { createVault } from '../../adapters/vault.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import { createShopKey } from '../../domains/customers/index.ts'
import type { Config } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { findSecretKey, forgetSecretKey, makeSecretKey, secretKeyFile } from '../settings/secret-key.ts'

export type OpenedVault = {
  readonly vault: Vault
  /** Asked again once the shop has decided what it is: another one may have opened it first, with another key. */
  readonly confirm: () => Promise<void>
}

/**
 * The key that passwords are sealed with, if it is the one that this shop was opened with. Only a database without a
 * shop gets a new one: what is sealed with a key that is lost stays shut.
 */
export async function openVault(config: Config, db: Database): Promise<OpenedVault> {
  const shopKey = createShopKey({ db })
  const found = findSecretKey(config)
  if (!found && (await shopKey.isShop())) {
    throw new BadSetting(
      `There is no ${secretKeyFile(config.folder)}, and what this shop keeps is sealed with its key. ` +
        'Put that file back, or set TURNPIKE_SECRET_KEY.',
    )
  }
  const vault = createVault(found ?? makeSecretKey(config.folder))
  async function confirm(): Promise<void> {
    if (await shopKey.isRight(vault.fingerprint)) return
    if (!found) forgetSecretKey(config.folder)
    const where = config.secretKey === undefined ? `in ${secretKeyFile(config.folder)}` : 'in TURNPIKE_SECRET_KEY'
    throw new BadSetting(`The key ${where} is not the one that what this shop keeps is sealed with.`)
  }
  await confirm()
  return { vault, confirm }
}
