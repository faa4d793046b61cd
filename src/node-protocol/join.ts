import { z } from 'zod'

/** What `turnpike node add` prints: good once, for a day. */
export const joinKeyPattern = /^tpj_[0-9a-z]{20,80}$/
/** What a node shows with every request: made by the node itself, known to the shop by its digest. */
export const nodeSecretPattern = /^tpn_[0-9a-f]{64}$/

/**
 * `POST /node/v1/join`. The secret is the node's own choice, so an answer that is lost is mended by asking again with
 * the same one.
 */
export const joinBodySchema = z.object({
  key: z.string().regex(joinKeyPattern),
  secret: z.string().regex(nodeSecretPattern),
  version: z.string().max(50),
})
export type JoinBody = z.infer<typeof joinBodySchema>

export const joinedSchema = z.object({ node: z.string(), name: z.string(), kind: z.enum(['gateway', 'vpn']) })
export type Joined = z.infer<typeof joinedSchema>

/** `GET /node/v1/vpn`: what a VPN node needs besides its peers. */
export const vpnSetupSchema = z.object({
  private_key: z.string(),
  listen_port: z.int().min(1).max(65_535),
  mtu: z.int().min(1280).max(1500),
  /** The node's own addresses inside the tunnel, with the length of the network: `10.66.0.1/16`. */
  addresses: z.array(z.string()),
})
export type VpnSetup = z.infer<typeof vpnSetupSchema>
