import { keysOfExit, toEntrySecret, toExitsSecret } from '../../../core/device-exits.ts'
import { type KeyKind, proofOfKey } from '../../../core/device-places.ts'
import { type AccessKeys, openAccessKeys } from '../access-keys.ts'
import * as peers from '../store-peers.ts'
import type { VpnDeps } from '../subscriptions.ts'

/** A machine of a device, and the gateway's proof of the key that it has presented. */
export type ShownPlace = {
  readonly device: string
  readonly place: string
  readonly key: KeyKind
  readonly exit?: string | undefined
  readonly proof: string
}

/**
 * Divides machines by whether the gateway has seen a key of their device. Gateways have digests of keys only, so a
 * stolen one cannot take slots of devices that never connected to it; an entry with exits has what the keys for these
 * exits follow from, so it can. Those of devices without keys are in neither part: they are removed, or the shop does
 * not know them.
 */
export async function checkProofs<Place extends ShownPlace>(deps: VpnDeps, node: string, reported: readonly Place[]) {
  const sealed = await peers.listAccessKeys(deps.db, [...new Set(reported.map(({ device }) => device))])
  const keys = new Map<string, AccessKeys | undefined>(sealed.map((each) => [each.id, openAccessKeys(deps, each)]))
  const exits = reported.some(({ exit }) => exit !== undefined) ? await exitsBehind(deps, node) : new Set<string>()
  const known = reported.flatMap((of) => {
    const own = keys.get(of.device)
    const isThere = of.exit === undefined || exits.has(of.exit)
    return own ? [{ of, isProven: isThere && isProven(deps, node, of, own) }] : []
  })
  return {
    proven: known.filter((each) => each.isProven).map(({ of }) => of),
    unproven: known.filter((each) => !each.isProven).map(({ of }) => of),
  }
}

/** The gateways whose customers enter at this node: a device has keys for no others there. */
async function exitsBehind({ fleet }: VpnDeps, node: string): Promise<ReadonlySet<string>> {
  const behind = (await fleet.nodes('gateway')).filter(({ id, entry }) => entry === node && id !== node)
  return new Set(behind.map(({ id }) => id))
}

function isProven(deps: VpnDeps, node: string, of: ShownPlace, own: AccessKeys): boolean {
  const { hmac } = deps
  const secret = (): string => toEntrySecret(hmac, toExitsSecret(hmac, own.password), node)
  const { uuid, password } = of.exit === undefined ? own : keysOfExit(hmac, secret(), of.exit)
  const presented = { vless: uuid, trojan: deps.sha224(password).toHex(), password }[of.key]
  return proofOfKey(hmac, presented, node, of.device, of.place) === of.proof
}
