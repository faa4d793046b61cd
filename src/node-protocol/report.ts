import { z } from 'zod'

/** A report is cumulative since the boot or numbered, so it may be repeated, late or reordered. */

const count = z.int().nonnegative()
/** The sum of both directions is still an exact JSON number. */
const byteCount = count.max(2 ** 52 - 1)

export const maxInReport = 1000

/** Draining processes of one node. */
export const maxBeside = 3

const bootName = z.string().regex(/^[0-9a-z_-]{8,64}$/)

/**
 * `boot` identifies a run; later runs sort later. `received` went to the customer. Journals of earlier boots are
 * reported separately, without lease requests.
 */
export const reportBodySchema = z.object({
  boot: bootName,
  /** Earlier runs that still drain and keep their leases; others are closed by a later run's first lease request. */
  beside: z.array(bootName).max(maxBeside).optional(),
  /** A later run has taken over: count the bytes, ignore the health. */
  draining: z.boolean().optional(),
  version: z.string().max(50),
  health: z
    .object({
      /** Open or dialling tunnels, or connected devices. */
      tunnels: count,
      lag_ms: count,
      /** Both directions, since the boot. */
      total_bytes: count,
      /** The part of it that belongs to other gateways. */
      hop_bytes: count.optional(),
      /** The node is stopping: sell nothing more of it. */
      stopping: z.boolean().optional(),
    })
    .optional(),
  proxies: z.array(z.object({ id: z.int().positive(), received: byteCount, sent: byteCount })).max(maxInReport),
  subusers: z
    .array(z.object({ id: z.string(), pool: z.string(), received: byteCount, sent: byteCount }))
    .max(maxInReport),
  peers: z
    .array(z.object({ id: z.string(), received: byteCount, sent: byteCount, handshake_at: count.nullable() }))
    .max(maxInReport),
  /** Numbered lease requests and returns; a lease is topped up without `moving` bytes. */
  lease_requests: z
    .array(
      z.object({
        id: z.string(),
        pool: z.string(),
        turn: z.int().positive(),
        want: z.enum(['lease', 'return']),
        moving: count.optional(),
        /** Bytes per 200 ms at the current rate. */
        pace: count.optional(),
      }),
    )
    .max(maxInReport),
  hosts: z
    .array(
      z.object({ id: z.string(), pool: z.string(), host: z.string().max(253), received: byteCount, sent: byteCount }),
    )
    .max(maxInReport),
  sources: z.array(z.object({ id: z.string(), address: z.string().max(45) })).max(maxInReport),
  /** For comparison with a supplier's bill. */
  exits: z
    .array(z.object({ id: z.string().max(64), received: byteCount, sent: byteCount }))
    .max(maxInReport)
    .optional(),
  /** Ed25519, base64url. */
  hop_key: z
    .string()
    .regex(/^[\w-]{43}$/)
    .optional(),
  /** Customer ports that fit; unlimited if omitted. */
  max_ports: count.optional(),
  /** Exit states, repeated every 10 s. The shop drops states older than 30 s. */
  exit_reports: z
    .array(z.object({ id: z.string().max(64), up: z.boolean(), since: count, reason: z.string().max(200) }))
    .max(maxInReport)
    .optional(),
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
