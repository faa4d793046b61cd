import type { Peer } from './rules.ts'
import { ipv4Text } from './rules-addresses.ts'

/** What an operator has settled about every configuration. */
export type Tunnel = {
  readonly endpoint: { readonly host: string; readonly port: number }
  readonly dns: readonly string[]
  readonly mtu: number
  readonly allowed: readonly string[]
  /** Seconds between signs of life that keep a path through NAT open; 0 is none. */
  readonly keepaliveSeconds: number
}

/** The addresses of a device as WireGuard has them: each a block of one. */
export const addressesOf = (peer: Pick<Peer, 'ipv4' | 'ipv6'>): string[] => [
  `${ipv4Text(peer.ipv4)}/32`,
  `${peer.ipv6}/128`,
]

/**
 * A complete configuration for `wg-quick`. Without a private key, because the customer has it, its line is left as a
 * comment to fill in.
 */
export function configText(
  peer: Peer,
  privateKey: string | undefined,
  node: { readonly name: string; readonly publicKey: string; readonly endpoint: Tunnel['endpoint'] },
  tunnel: Tunnel,
): string {
  const host = node.endpoint.host.includes(':') ? `[${node.endpoint.host}]` : node.endpoint.host
  return [
    '[Interface]',
    `# ${peer.name} (${peer.id}) at ${node.name}`,
    privateKey === undefined
      ? '# PrivateKey = (the one that belongs to your public key)'
      : `PrivateKey = ${privateKey}`,
    `Address = ${addressesOf(peer).join(', ')}`,
    ...(tunnel.dns.length > 0 ? [`DNS = ${tunnel.dns.join(', ')}`] : []),
    `MTU = ${tunnel.mtu}`,
    '',
    '[Peer]',
    `PublicKey = ${node.publicKey}`,
    `Endpoint = ${host}:${node.endpoint.port}`,
    `AllowedIPs = ${tunnel.allowed.join(', ')}`,
    ...(tunnel.keepaliveSeconds > 0 ? [`PersistentKeepalive = ${tunnel.keepaliveSeconds}`] : []),
    '',
  ].join('\n')
}
