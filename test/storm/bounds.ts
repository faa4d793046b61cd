import { maxLost } from '../../src/dataplane/gateway/metering/losses.ts'

/**
 * The maximum gain of an attacker, in the attacker's unit, in a storm of so many minutes. These are the bounds that
 * SECURITY.md states; where it states none, the bound is 0.
 */
export type Bound = (minutes: number) => number

const nothing: Bound = () => 0
const minutesOfDay = 24 * 60

/** The configured link of the lying nodes. It is slow, so that a lie soon exceeds it. */
export const liarMegabits = 10
/** The bytes that a link moves in that time, and in the initial 0.1 s of a node. */
const throughLink: Bound = (minutes) => Math.ceil(((minutes * 60 + 0.1) * liarMegabits * 1_000_000) / 8)

/** Bytes bought at a time and drawn over many connections at once. */
export const boughtAtOnce = 100_000_000

/** The devices of one subscription. */
export const devicesPaid = 5

export const bounds = {
  'repeated keys': nothing,
  overdraft: nothing,
  /** Nothing after 1 s, however slowly a body arrives. */
  'access revoked within the body': nothing,
  /** Its cap in total, including the renewals that it enabled. */
  'cap passed by renewals': nothing,
  'foreign ids and cursors': nothing,
  'malformed requests': nothing,
  'noise at the gateway': nothing,
  /** Three a day for each paid device, and twenty more; paid devices are no gain. */
  'devices added and removed': (minutes) => Math.ceil(minutes / minutesOfDay) * (3 * devicesPaid + 20) - devicesPaid,
  /** One lease at the one gateway that relays: at loopback speed an eighth of one purchase. */
  'quota overrun': () => boughtAtOnce / 8,
  /** Nothing 2 s after the new password. */
  'revoked lines': nothing,
  'lying gateway': throughLink,
  'lying VPN node': throughLink,
  /** Sockets that still wait for an answer after the connect timeout. */
  'dials that are never answered': nothing,
  /** Unanswered requests of a paying customer beside them. */
  'idle and dripped connections': nothing,
  /** Beyond random guesses. */
  'names told apart': nothing,
  /** Per credential and gateway process. */
  'bytes not acknowledged': (minutes) => Math.ceil(minutes / 60) * maxLost.ofOwner,
} as const satisfies Record<string, Bound>

export type AttackName = keyof typeof bounds
