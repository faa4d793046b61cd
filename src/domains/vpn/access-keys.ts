import { toUuid } from '../../core/device-exits.ts'
import type { PeerId } from '../../core/ids.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Peer } from './rules.ts'
import * as peers from './store-peers.ts'
import type { VpnDeps } from './subscriptions.ts'

/** A device's keys for ways in over TLS: the UUID is for VLESS, the password for Trojan and for HTTP proxies. */
export type AccessKeys = { readonly uuid: string; readonly password: string }

/** What gateways get of the keys: SHA-256 of the text that a client of each protocol presents, in hex. */
export type AccessDigests = { readonly vless: string; readonly trojan: string; readonly password: string }

/** The user name of a device at an HTTP proxy. */
const loginOf = (id: PeerId): string => id

const keysContext = (id: PeerId): string => `vpn device ${id} access keys`
const pattern = /^([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}) ([0-9a-z]{20,64})$/

/** Makes the keys of a device, sealed for its row. */
export async function makeAccessKeys(deps: VpnDeps, tx: Tx, id: PeerId): Promise<Uint8Array> {
  const password = await deps.fleet.makePasswordFor(tx, loginOf(id))
  return deps.vault.seal(`${toUuid(deps.random(16))} ${password}`, keysContext(id))
}

/** The keys of a device; undefined for one that has none yet. A damaged text throws. */
export function openAccessKeys(deps: VpnDeps, { id, accessKeys: sealed }: Pick<Peer, 'id' | 'accessKeys'>) {
  if (sealed === null) return undefined
  const [, uuid, password] = pattern.exec(deps.vault.open(sealed, keysContext(id))) ?? []
  if (uuid === undefined || password === undefined) throw new Error('the access keys of a device are not as written')
  return { uuid, password } satisfies AccessKeys
}

/** A Trojan client sends SHA-224 of its password in hex. */
export const toDigests = (deps: Pick<VpnDeps, 'sha256' | 'sha224'>, { uuid, password }: AccessKeys): AccessDigests => ({
  vless: deps.sha256(uuid).toHex(),
  trojan: deps.sha256(deps.sha224(password).toHex()).toHex(),
  password: deps.sha256(password).toHex(),
})

/** The keys of a device that is not removed. */
export async function accessKeys(deps: VpnDeps, id: PeerId): Promise<AccessKeys | undefined> {
  const sealed = await peers.findAccessKeys(deps.db, id)
  return sealed && openAccessKeys(deps, { id, accessKeys: sealed })
}

/** Makes the keys of devices that an earlier version added. Call again while it returns `limit`. */
export async function makeMissingKeys(deps: VpnDeps, limit: number): Promise<number> {
  return deps.db.transact(async (tx) => {
    const without = await peers.lockWithoutKeys(tx, limit)
    for (const id of without) peers.writeAccessKeys(tx, id, await makeAccessKeys(deps, tx, id), deps.clock())
    return without.length
  })
}
