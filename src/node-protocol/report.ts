import { z } from 'zod'
import { readPrefix } from '../core/address.ts'
import { gatewayProtocols } from '../core/vpn-protocols.ts'
import { nodeVersion } from './join.ts'
import { maxInReport } from './limits.ts'
import { maxMark } from './state.ts'

const count = z.int().nonnegative()
/** The largest reported figure: the sum of two is still an exact JSON number. */
const figure = count.max(2 ** 52 - 1)
/** `received` went to the customer. */
const bytes = { received: figure, sent: figure }

const listOf = <Shape extends z.ZodRawShape>(shape: Shape) => z.array(z.object(shape)).max(maxInReport)

/** Draining processes of one node. */
export const maxBeside = 3

/** The milliseconds that a boot name begins with, in base 36: nine digits hold those of the next 3,000 years. */
export const toBootTime = (atMs: number): string => Math.trunc(atMs).toString(36).padStart(9, '0')
/** The shop refuses a boot name that is further ahead of its clock: all later boots would sort before it. */
export const maxBootAheadMs = 86_400_000

const bootName = z.string().regex(/^[0-9a-z_-]{8,64}$/)
const exitId = z.string().max(64)
const hostName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/)

export const maxVanished = 200
const isAddresses = (text: string): boolean =>
  text === '' || text.split(' ').every((each) => readPrefix(each) !== undefined)
export const vanishedSchema = z.object({
  kind: z.enum(['proxy', 'subuser', 'peer']),
  id: z.string().regex(/^\w{1,64}$/),
  /** The user name, the login, or the public key of the device. */
  login: z.string().regex(/^(?:[a-z0-9_]{1,32}|[A-Za-z0-9+/]{43}=)$/),
  /** Addresses or blocks, with spaces between them. */
  address: z.string().max(200).refine(isAddresses),
  owner: z.string().regex(/^[0-9a-f]{0,16}$/),
})
export type VanishedItem = z.infer<typeof vanishedSchema>

/**
 * Counts are cumulative since the boot and lease requests are numbered, so a report may be repeated, late or reordered.
 * `boot` identifies a run; later runs sort later. Journals of earlier boots are reported separately, without lease
 * requests.
 */
export const reportBodySchema = z.object({
  boot: bootName,
  /** Earlier runs that still drain and keep their leases; others are closed by a later run's first lease request. */
  beside: z.array(bootName).max(maxBeside).optional(),
  /** A later run has taken over: of the health, count only the bytes and the tunnels. */
  draining: z.boolean().optional(),
  version: nodeVersion,
  health: z
    .object({
      /** Open or dialling tunnels, or connected devices. */
      tunnels: figure,
      lag_ms: figure,
      /** Both directions, since the boot. */
      total_bytes: figure,
      /** The part of it that belongs to other gateways. */
      hop_bytes: figure.optional(),
      /** The node is stopping: sell nothing more of it. */
      stopping: z.boolean().optional(),
    })
    .optional(),
  proxies: listOf({ id: z.int().positive(), ...bytes }),
  subusers: listOf({ id: z.string(), pool: z.string(), ...bytes }),
  /** A gateway counts a device by protocol; a VPN node names none. */
  peers: listOf({
    id: z.string(),
    protocol: z.enum(gatewayProtocols).optional(),
    ...bytes,
    handshake_at: figure.nullable(),
  }),
  /** Numbered lease requests and returns; a lease is topped up without `moving` bytes. */
  lease_requests: listOf({
    id: z.string(),
    pool: z.string(),
    turn: z.int().positive(),
    want: z.enum(['lease', 'return']),
    moving: figure.optional(),
    /** Bytes per 200 ms at the current rate. */
    pace: figure.optional(),
  }),
  hosts: listOf({ id: z.string(), pool: z.string(), host: z.string().max(253), ...bytes }),
  sources: listOf({ id: z.string(), address: z.string().max(45) }),
  /** For comparison with a supplier's bill. */
  exits: listOf({ id: exitId, ...bytes }).optional(),
  /** Ed25519, base64url. */
  hop_key: z
    .string()
    .regex(/^[\w-]{43}$/)
    .optional(),
  /** Where it accepts hops over TLS: a name in its certificate, and SHA-256 of its public key in base64url. */
  hop_tls: z
    .object({
      port: z.int().min(1).max(65_535),
      name: z.string().max(253).nullable(),
      key: z.string().regex(/^[\w-]{43}$/),
    })
    .optional(),
  /** The state of its connections to other gateways. */
  hops: listOf({ id: exitId, up: z.boolean(), since: count, reason: z.string().max(200) }).optional(),
  /** Processor time of the process, and connections that it refused or failed for its own reasons, since the boot. */
  cpu_ms: figure.optional(),
  errors: figure.optional(),
  /** Summed speed of its network interfaces; unknown if omitted. */
  interface_mbit: figure.min(1).optional(),
  /** Customer ports that fit; unlimited if omitted. */
  max_ports: figure.optional(),
  /**
   * Where it accepts proxies over TLS: a name in its certificate, the port, and the name that gets a 407, if any.
   * `vpn`: it serves VPN devices there. `pin`: SHA-256 of a certificate that no authority has signed, in hex.
   */
  tls: z
    .object({
      host: hostName,
      port: z.int().min(1).max(65_535),
      browser_host: hostName.optional(),
      vpn: z.boolean().optional(),
      pin: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .optional(),
    })
    .optional(),
  /** Exit states, repeated every 10 s. The shop drops states older than 30 s. */
  exit_reports: listOf({ id: exitId, up: z.boolean(), since: figure, reason: z.string().max(200) }).optional(),
  /** The mark of the last state page that it has applied. */
  mark: z.string().max(maxMark).optional(),
  /**
   * Things that a whole state did not have and that the node served until then, repeated until they are taken. The shop
   * takes one list in each life of its database; a report with fewer than `maxVanished` ends it.
   */
  vanished: z.array(vanishedSchema).max(maxVanished).optional(),
})
export type ReportBody = z.infer<typeof reportBodySchema>

export const reportParts = ['proxies', 'subusers', 'peers', 'lease_requests', 'hosts', 'sources'] as const
export type ReportPart = (typeof reportParts)[number]

/** `upto` limits `received` + `sent`. `replaced`: a later boot holds the node's leases. */
export const reportAnswerSchema = z.object({
  now: count,
  replaced: z.boolean(),
  allowances: z.array(z.object({ id: z.string(), pool: z.string(), upto: count })),
})
export type ReportAnswer = z.infer<typeof reportAnswerSchema>
