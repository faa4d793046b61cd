import type { RandomBytes } from '../../core/ids.ts'
import { type Hmac, makePassword, maxPasswordKeys } from '../../core/password-mac.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { type PasswordKey, passwordKeyContext } from './rules.ts'
import * as store from './store.ts'

type PasswordKeysDeps = {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly vault: Vault
  readonly hmac: Hmac
  readonly cachedKeys: { read?: { readonly keys: readonly PasswordKey[]; readonly at: number } | undefined }
}

const keyBytes = 32
/** Shorter than the time before a new key signs. */
const cacheMs = 10_000
/** Gateways read their state at least every 25 s, so they have a key before it signs. */
const signsAfterMs = 60_000
/** A key is accepted for so long after the next one signs: by then gateways have all passwords that it signed. */
const acceptedMs = 3_600_000

async function listKeys({ vault }: PasswordKeysDeps, reader: Reader): Promise<readonly PasswordKey[]> {
  const rows = await store.listPasswordKeys(reader, maxPasswordKeys)
  return rows.map(({ id, sealed, signsFrom }) => {
    return { id, signsFrom, key: Uint8Array.fromHex(vault.open(sealed, passwordKeyContext(id))) }
  })
}

/** The newest keys, newest first. */
async function read(deps: PasswordKeysDeps, reader: Reader): Promise<readonly PasswordKey[]> {
  const { cachedKeys, clock } = deps
  const cached = cachedKeys.read
  if (cached && Math.abs(clock() - cached.at) < cacheMs) return cached.keys
  const keys = await listKeys(deps, reader)
  if (keys.length > 0) cachedKeys.read = { keys, at: clock() }
  return keys
}

const insert = ({ vault, random }: PasswordKeysDeps, tx: Tx, id: number, signsFrom: number): Promise<void> =>
  store.insertPasswordKey(tx, { id, signsFrom, sealed: vault.seal(random(keyBytes).toHex(), passwordKeyContext(id)) })

/** Makes the first key. Of two concurrent calls, one makes it. */
export async function ensurePasswordKey(deps: PasswordKeysDeps, tx: Tx): Promise<void> {
  if ((await store.listPasswordKeys(tx, 1)).length === 0) await insert(deps, tx, 1, deps.clock())
}

/**
 * Adds a key, because a thief may know the earlier ones. It signs a minute later. While so many keys are accepted that
 * another one would replace the key that signs, nothing changes: the newest key is younger than a minute.
 */
export async function rotatePasswordKeys(deps: PasswordKeysDeps, tx: Tx): Promise<void> {
  await ensurePasswordKey(deps, tx)
  const keys = await store.listPasswordKeys(tx, maxPasswordKeys)
  const [newest] = keys
  const nowMs = deps.clock()
  if (!newest || keys.filter(({ signsFrom }) => signsFrom > nowMs).length >= maxPasswordKeys - 1) return
  await insert(deps, tx, newest.id + 1, nowMs + signsAfterMs)
}

/** A new password for a user name, with a MAC by which gateways recognise it. */
export async function makePasswordFor(deps: PasswordKeysDeps, tx: Tx, name: string): Promise<string> {
  const nowMs = deps.clock()
  let keys = await read(deps, tx)
  if (keys.length === 0) {
    await ensurePasswordKey(deps, tx)
    // Not from the cache: the transaction may be rolled back.
    keys = await listKeys(deps, tx)
  }
  // After the clock was set back no key may sign yet.
  const signing = keys.find(({ signsFrom }) => signsFrom <= nowMs) ?? keys.at(-1)
  if (!signing) throw new Error('there is no password key')
  return makePassword(deps.hmac, signing.key, name, deps.random)
}

/** The keys by which gateways recognise passwords, newest first. */
export async function acceptedPasswordKeys(deps: PasswordKeysDeps & { readonly db: Reader }): Promise<Uint8Array[]> {
  const nowMs = deps.clock()
  const keys = await read(deps, deps.db)
  const isAccepted = (_: PasswordKey, index: number): boolean => {
    const next = keys[index - 1]
    return next === undefined || nowMs < next.signsFrom + acceptedMs
  }
  return keys.filter(isAccepted).map(({ key }) => key)
}
