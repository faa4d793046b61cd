import { z } from 'zod'
import { maxPasswordKeys } from '../core/password-mac.ts'

const moment = z.int().nonnegative()
/** SHA-256 of a password. */
const digest = z.string().regex(/^[0-9a-f]{64}$/)
/** An opaque id of the customer, which groups credentials. */
const owner = z.string().regex(/^[0-9a-f]{16}$/)
const port = z.int().min(1).max(65_535)
/** Length of the mark of a page. */
export const maxMark = 400

/** A dedicated proxy. The node enforces `expires_at` itself. */
const nodeProxySchema = z.object({
  id: z.int().positive(),
  username: z.string(),
  digest,
  port_type: z.enum(['http', 'socks', 'both']),
  leave_from: z.string(),
  /** The gateway that has the address. */
  node: z.string().nullish(),
  /** Client addresses admitted without a password at `entry_port`. */
  sources: z.array(z.string()).default([]),
  entry_port: port.nullable().default(null),
  expires_at: moment,
  /** A page removes a `gone` proxy; a lookup returns it for 30 days, so that its customer reads `expired`. */
  state: z.enum(['active', 'blocked', 'gone']),
  /** With `blocked`: the operator has withdrawn the address, and the term is paused. */
  withdrawn: z.boolean().default(false),
  owner,
})
export type NodeProxy = z.infer<typeof nodeProxySchema>

/** A premium sub-user. `left` is a hint whether a lease is worth requesting. */
const nodeSubuserSchema = z.object({
  id: z.string(),
  login: z.string(),
  digest,
  state: z.enum(['active', 'blocked', 'deleted']),
  tunnels: z.int().positive().nullable(),
  keep_hosts: z.boolean(),
  whitelist: z.array(z.string()),
  ports: z.array(z.object({ port, login: z.string() })),
  pools: z.array(z.object({ pool: z.string(), left: z.int().nonnegative() })),
  owner,
})
export type NodeSubuser = z.infer<typeof nodeSubuserSchema>

/** An exit of a pool, with plain credentials for its upstream. Gateways that reach it by a hop get none. */
const nodeExitSchema = z.object({
  id: z.string(),
  pool: z.string(),
  kind: z.enum(['local', 'http', 'socks5']),
  host: z.string(),
  port: port.nullable(),
  credentials: z.object({ username: z.string(), password: z.string() }).nullable(),
  country: z.string(),
  state: z.string(),
  city: z.string(),
  zip: z.string(),
  asn: z.int().positive().nullable(),
  /** Countries, or `any`, of a supplier with a template login (`acct-country-{country}`); its own place is ignored. */
  offers: z.array(z.string()).nullable().default(null),
  /** The owning gateway, which others reach by a hop. Null: every gateway uses it directly. */
  node: z.string().nullable().default(null),
  drained: z.boolean(),
})
export type NodeExit = z.infer<typeof nodeExitSchema>

const nodeGatewaySchema = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  port,
  /** Ed25519, 32 bytes in base64url. */
  key: z.string(),
  /** Its TLS port, a name in its certificate, and SHA-256 of the certificate's public key (RFC 7469) in base64url. */
  tls: z.object({ port, name: z.string().nullable(), key: z.string() }).nullish(),
  /** The gateway that relays to this one for the customers of its addresses. */
  entry: z.string().nullish(),
  /** Protocols that it serves to VPN devices; all if it has none. A newer shop may name others. */
  vpn_protocols: z.array(z.string()).nullish(),
  state: z.enum(['open', 'gone']),
})
export type NodeGateway = z.infer<typeof nodeGatewaySchema>

/** A VPN device. The node enforces `expires_at` itself. */
const nodePeerSchema = z.object({
  id: z.string(),
  public_key: z.string(),
  allowed: z.array(z.string()),
  state: z.enum(['up', 'down']),
  expires_at: moment,
  speed_mbit: z.int().positive().nullable(),
  left: z.int().nonnegative().nullable(),
})
export type NodePeer = z.infer<typeof nodePeerSchema>

/**
 * A VPN device as a credential of gateways. Each digest is SHA-256 of what a client of that protocol presents: a UUID,
 * the hex digits of SHA-224 of a password, a password. The node enforces `expires_at` itself.
 */
const nodeDeviceSchema = z.object({
  id: z.string(),
  vless: digest,
  trojan: digest,
  password: digest,
  /** A `gone` device is removed; one that is `down` may not connect now. */
  state: z.enum(['up', 'down', 'gone']),
  expires_at: moment,
  speed_mbit: z.int().positive().nullable(),
  /** Until then, one that may not connect reaches the hosts of `grace`. */
  grace_until: moment.nullish(),
  /** An entry's own secret of the device: its keys for each exit behind this gateway follow from it. */
  exit_secret: digest.nullish(),
  owner,
})
export type NodeDevice = z.infer<typeof nodeDeviceSchema>

/** Addresses to try, by the named nodes or by every gateway. */
const nodeRangeSchema = z.object({
  id: z.int().positive(),
  prefix: z.string(),
  node_ids: z.array(z.string()),
  gone: z.boolean(),
})
export type NodeRange = z.infer<typeof nodeRangeSchema>

/**
 * The desired state of a node, without passwords, prices and customers. While `more` is true the next page follows at
 * once, else the request waits. Items may repeat.
 */
export const statePageSchema = z.object({
  cursor: z.string(),
  more: z.boolean(),
  now: moment,
  /** Opaque. The node sends it with its requests; it shows the shop whether its database went back in time. */
  mark: z.string().max(maxMark).optional(),
  mode: z.enum(['sandbox', 'production']),
  gateways: z.array(nodeGatewaySchema),
  /** Both directions together; null for no limit. */
  speed_mbit: z.object({ proxies: z.int().positive().nullable(), subusers: z.int().positive().nullable() }).optional(),
  /** For gateways: the keys of the MACs in passwords (`core/password-mac.ts`), newest first. A secret of the shop. */
  password_keys: z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .max(maxPasswordKeys)
    .optional(),
  ranges: z.array(nodeRangeSchema),
  proxies: z.array(nodeProxySchema),
  subusers: z.array(nodeSubuserSchema),
  exits: z.array(nodeExitSchema),
  peers: z.array(nodePeerSchema),
  /** What a VPN device reaches after its end: the shop, the pages where its customer pays, and these resolvers. */
  grace: z
    .object({
      hosts: z.array(z.object({ host: z.string().max(253), ports: z.array(port).max(10) })).max(101),
      resolvers: z.array(z.string().max(45)).max(20),
    })
    .optional(),
  /** Only for gateways that ask for them: `vpn` in the query. */
  devices: z.array(nodeDeviceSchema).optional(),
})
export type StatePage = z.infer<typeof statePageSchema>
export type StatePart = 'ranges' | 'proxies' | 'subusers' | 'exits' | 'peers' | 'devices' | 'gateways'
export type StateParts = { [Part in StatePart]: NonNullable<StatePage[Part]>[number] }

/** `GET /node/v1/state?cursor=…&wait=…`; earlier gateways also send `acknowledges=1`, which has no effect. */
export const stateQuerySchema = z.object({
  cursor: z.string().max(12_000).optional(),
  wait: z
    .string()
    .regex(/^\d{1,2}$/)
    .transform(Number)
    .pipe(z.int().max(25))
    .optional(),
  mark: z.string().max(maxMark).optional(),
  /** The gateway serves VPN devices. */
  vpn: z.literal('1').optional(),
})

/** `POST /node/v1/find`: an unknown user name (before the first `-`), or a client address and port. */
export const findBodySchema = z.union([
  z.object({ username: z.string().min(1).max(255) }),
  z.object({ source: z.string().max(45), port }),
])
export type FindBody = z.infer<typeof findBodySchema>

export const foundSchema = z.object({ proxy: nodeProxySchema.nullable(), subuser: nodeSubuserSchema.nullable() })
export type Found = z.infer<typeof foundSchema>

/** Clamps to an exact JSON number. */
export const toLeft = (bytes: bigint): number =>
  bytes > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(bytes)
