import type { DedicatedUpkeep } from '../../domains/dedicated/index.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { Vpn } from '../../domains/vpn/index.ts'
import type { NodeExit, NodePeer, NodeProxy, NodeSubuser } from '../../wire/node/state.ts'

type Desired = {
  readonly proxy: Awaited<ReturnType<DedicatedUpkeep['desired']>>[number]
  readonly subuser: Awaited<ReturnType<Premium['nodes']['changes']>>[number]
  readonly exit: Awaited<ReturnType<Premium['nodes']['exits']>>[number]
  readonly peer: Awaited<ReturnType<Vpn['desiredPeers']>>[number]
}

/** A hint may be cut short: nobody has more than this left, and JSON carries no more exactly. */
const toCount = (bytes: bigint): number =>
  bytes > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(bytes)

export const toNodeProxy = (of: Desired['proxy']): NodeProxy => ({
  id: of.id,
  username: of.username,
  digest: of.passwordDigest.toHex(),
  port_type: of.portType,
  leave_from: of.leaveFrom,
  expires_at: of.expiresAt,
  state: of.state,
  owner: of.owner,
})

export const toNodeSubuser = (of: Desired['subuser']): NodeSubuser => ({
  id: of.id,
  login: of.login,
  digest: of.digest.toHex(),
  state: of.state,
  tunnels: of.tunnels,
  keep_hosts: of.keepHosts,
  whitelist: [...of.whitelist],
  ports: of.ports.map(({ port, login }) => ({ port, login })),
  pools: of.left.map((each) => ({ pool: each.pool, left: toCount(each.bytes) })),
  owner: of.owner,
})

export const toNodeExit = (of: Desired['exit']): NodeExit => ({
  id: of.id,
  pool: of.pool,
  kind: of.kind,
  host: of.host,
  port: of.port,
  credentials: of.credentials,
  country: of.slugs.countries,
  state: of.slugs.states,
  city: of.slugs.cities,
  zip: of.slugs.zips,
  asn: of.asn,
  drained: of.drainedAt !== null,
})

export const toNodePeer = (of: Desired['peer']): NodePeer => ({
  id: of.id,
  public_key: of.publicKey,
  allowed: [...of.allowedAddresses],
  state: of.state,
  expires_at: of.expiresAt,
  speed_mbit: of.speedMegabits,
  left: of.trafficLeft === null ? null : toCount(of.trafficLeft),
})
