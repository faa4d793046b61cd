import { z } from 'zod'

/**
 * What a node tells the shop. Everything is cumulative since its boot, or numbered: it may come twice, late or out of
 * order.
 */

const count = z.int().nonnegative()
/** Bytes in one direction: both directions together are still an exact JSON number. */
const byteCount = count.max(2 ** 52 - 1)

export const mostInReport = 1000

/** So many processes of one node, at most, carry on beside the one that has taken over from them. */
export const mostBeside = 3

const bootName = z.string().regex(/^[0-9a-z_-]{8,64}$/)

/**
 * `boot` names one run of the node; a later run's name sorts later. `received` went to the customer, `sent` came from
 * the customer. Counts of an earlier boot, read from its journal, travel in a report of their own without wishes.
 */
export const reportBodySchema = z.object({
  boot: bootName,
  /**
   * Earlier runs of the node that are alive: they carry on what they have, to its end, and keep their leases. Without
   * this the first wish of a later run closes them.
   */
  beside: z.array(bootName).max(mostBeside).optional(),
  /** A later run has taken this one's place: what it has carried counts; that the node is there the later one says. */
  leaving: z.boolean().optional(),
  version: z.string().max(50),
  health: z
    .object({
      /** Connections of customers that are open or being made, or devices that are up. */
      tunnels: count,
      /** How far behind the newest change the node is, as it sees it. */
      lag_ms: count,
      /** Bytes in both directions since the boot, for the operator's eyes. */
      carried: count,
      /** Of these, what was carried for other gateways, which count it themselves. */
      relayed: count.optional(),
      /** It was told to stop: nothing more is to be sold of what it carries. It holds for the rest of this boot. */
      stopping: z.boolean().optional(),
    })
    .optional(),
  proxies: z.array(z.object({ id: z.int().positive(), received: byteCount, sent: byteCount })).max(mostInReport),
  subusers: z
    .array(z.object({ id: z.string(), pool: z.string(), received: byteCount, sent: byteCount }))
    .max(mostInReport),
  peers: z
    .array(z.object({ id: z.string(), received: byteCount, sent: byteCount, handshake_at: count.nullable() }))
    .max(mostInReport),
  /**
   * Numbered by the node, rising: to go on carrying, or to give back what it holds. `moving` bytes of what it may carry
   * are on their way to the customer and not counted yet: nobody else can use them, so a lease is filled up without
   * them.
   */
  wishes: z
    .array(
      z.object({
        id: z.string(),
        pool: z.string(),
        turn: z.int().positive(),
        want: z.enum(['lease', 'return']),
        moving: count.optional(),
        /** Bytes that pass in a moment at the present pace: a lease of that size is not asked for too often. */
        pace: count.optional(),
      }),
    )
    .max(mostInReport),
  /** Where the bytes went, of those who have that on. */
  hosts: z
    .array(
      z.object({ id: z.string(), pool: z.string(), host: z.string().max(253), received: byteCount, sent: byteCount }),
    )
    .max(mostInReport),
  /** Whitelisted addresses that somebody came from. */
  sources: z.array(z.object({ id: z.string(), address: z.string().max(45) })).max(mostInReport),
  /** What went through each exit, for comparing with a supplier's bill. Counted where the customer is. */
  exits: z
    .array(z.object({ id: z.string().max(64), received: byteCount, sent: byteCount }))
    .max(mostInReport)
    .optional(),
  /** The public key that this gateway signs hops with, Ed25519 in base64url. */
  hop_key: z
    .string()
    .regex(/^[\w-]{43}$/)
    .optional(),
  /** How many ports that stand for customers this gateway has room for; unsaid, any number. */
  most_ports: count.optional(),
  /**
   * Which exits can be left through, as this node has tried: since when, and why not. Each is said again within ten
   * seconds; what was not said for half a minute is no longer believed.
   */
  exit_words: z
    .array(z.object({ id: z.string().max(64), up: z.boolean(), since: count, reason: z.string().max(200) }))
    .max(mostInReport)
    .optional(),
})
export type ReportBody = z.infer<typeof reportBodySchema>

/** The parts of a report that are about something a node carries. */
export const reportParts = ['proxies', 'subusers', 'peers', 'wishes', 'hosts', 'sources'] as const
export type ReportPart = (typeof reportParts)[number]

/**
 * For each wish, the count of both directions together that the node must not pass. `replaced`: a later boot holds the
 * node's leases.
 */
export const reportAnswerSchema = z.object({
  now: count,
  replaced: z.boolean(),
  allowances: z.array(z.object({ id: z.string(), pool: z.string(), upto: count })),
})
export type ReportAnswer = z.infer<typeof reportAnswerSchema>
