import { z } from 'zod'

/**
 * What the shop tells a node: the whole desired state, then changes. A node learns digests, never passwords, prices or
 * customers: `owner` is a digest that only tells which credentials share one customer's limits.
 */

const moment = z.int().nonnegative()
/** SHA-256 of a password, in hexadecimal digits. */
const digest = z.string().regex(/^[0-9a-f]{64}$/)
const owner = z.string().regex(/^[0-9a-f]{16}$/)
const port = z.int().min(1).max(65_535)

/** A dedicated proxy. `gone` is forgotten; `expires_at` is kept by the node itself, to the second. */
const nodeProxySchema = z.object({
  id: z.int().positive(),
  username: z.string(),
  digest,
  port_type: z.enum(['http', 'socks', 'both']),
  leave_from: z.string(),
  /** Addresses that are let in without a password, at the port that stands for this proxy. */
  sources: z.array(z.string()).default([]),
  entry_port: port.nullable().default(null),
  expires_at: moment,
  state: z.enum(['active', 'blocked', 'gone']),
  owner,
})
export type NodeProxy = z.infer<typeof nodeProxySchema>

/** A premium sub-user. `pools` has what is left in each, as a hint whether a lease is worth asking for. */
const nodeSubuserSchema = z.object({
  id: z.string(),
  login: z.string(),
  digest,
  state: z.enum(['active', 'blocked', 'deleted']),
  tunnels: z.int().positive().nullable(),
  keep_hosts: z.boolean(),
  whitelist: z.array(z.string()),
  /** Each port stands for one login. */
  ports: z.array(z.object({ port, login: z.string() })),
  pools: z.array(z.object({ pool: z.string(), left: z.int().nonnegative() })),
  owner,
})
export type NodeSubuser = z.infer<typeof nodeSubuserSchema>

/**
 * Where traffic of a pool leaves. Places are slugs, as in a login; an upstream's credentials are plain, because the
 * node logs in with them. A node that reaches the exit over a hop gets none.
 */
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
  /**
   * Of a supplier whose login is a template (`acct-country-{country}`): the countries that it offers, or `any`. Its own
   * place means nothing then.
   */
  offers: z.array(z.string()).nullable().default(null),
  /** The gateway that it belongs to: others reach it over a hop. None: every gateway leaves through it itself. */
  node: z.string().nullable().default(null),
  drained: z.boolean(),
})
export type NodeExit = z.infer<typeof nodeExitSchema>

/** A gateway of the fleet: where the others reach it, and the key that it signs with. `gone` is forgotten. */
const nodeGatewaySchema = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  port,
  /** Ed25519, 32 bytes in base64url. */
  key: z.string(),
  state: z.enum(['open', 'gone']),
})
export type NodeGateway = z.infer<typeof nodeGatewaySchema>

/** A VPN device. `up` until `expires_at`, which the node keeps by itself; `down` is cut off at once. */
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

/** Addresses that are tried by the nodes named, or by every gateway where none is. `gone` is forgotten. */
const nodeRangeSchema = z.object({
  id: z.int().positive(),
  prefix: z.string(),
  homes: z.array(z.string()),
  gone: z.boolean(),
})
export type NodeRange = z.infer<typeof nodeRangeSchema>

/** Each sort of thing that a node is told of. */
export type StateParts = {
  ranges: NodeRange
  proxies: NodeProxy
  subusers: NodeSubuser
  exits: NodeExit
  peers: NodePeer
  gateways: NodeGateway
}
export type StatePart = keyof StateParts

/**
 * One page. `cursor` is given back with the next request; what it holds is the shop's business. While `more` is true
 * the next page is there at once; else the request may wait for a change. Hearing the same thing twice changes nothing.
 */
export const statePageSchema = z.object({
  cursor: z.string(),
  more: z.boolean(),
  now: moment,
  mode: z.enum(['sandbox', 'production']),
  gateways: z.array(nodeGatewaySchema),
  /** How fast each credential may carry, both ways together; null for no limit. Left out by shops that know of none. */
  speed_mbit: z.object({ proxies: z.int().positive().nullable(), subusers: z.int().positive().nullable() }).optional(),
  ranges: z.array(nodeRangeSchema),
  proxies: z.array(nodeProxySchema),
  subusers: z.array(nodeSubuserSchema),
  exits: z.array(nodeExitSchema),
  peers: z.array(nodePeerSchema),
})
export type StatePage = z.infer<typeof statePageSchema>

const longestWaitSeconds = 25

/** `GET /node/v1/state?cursor=…&wait=…`: without a cursor, from the beginning. */
export const stateQuerySchema = z.object({
  cursor: z.string().max(12_000).optional(),
  wait: z
    .string()
    .regex(/^\d{1,2}$/)
    .transform(Number)
    .pipe(z.int().max(longestWaitSeconds))
    .optional(),
})

/**
 * `POST /node/v1/find`: a user name that the node does not know (before the first `-`, for premium), or who comes from
 * an address to a port.
 */
export const findBodySchema = z.union([
  z.object({ username: z.string().min(1).max(255) }),
  z.object({ source: z.string().max(45), port }),
])
export type FindBody = z.infer<typeof findBodySchema>

/** Neither, or one of the two. */
export const foundSchema = z.object({ proxy: nodeProxySchema.nullable(), subuser: nodeSubuserSchema.nullable() })
export type Found = z.infer<typeof foundSchema>

/** A hint of what is left, as JSON can carry it: nobody has more than this, so one that is cut short says as much. */
export const toLeft = (bytes: bigint): number =>
  bytes > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(bytes)
