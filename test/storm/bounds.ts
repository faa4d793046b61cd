import { maxLost } from '../../src/dataplane/gateway/metering/losses.ts'

/**
 * What an attacker may gain at most, in the attacker's own unit, in a storm that has lasted so many minutes. These are
 * the bounds that SECURITY.md states, in one place; where it states none, an attacker gains nothing.
 */
export type Bound = (minutes: number) => number

const nothing: Bound = () => 0
const minutesOfDay = 24 * 60

/** The link that the lying nodes' operator has set. Little, so that a lie is soon beyond it. */
export const liarMegabits = 10
/** What a link carries in that time, and in the tenth of a second that a node begins with. */
const throughLink: Bound = (minutes) => Math.ceil(((minutes * 60 + 0.1) * liarMegabits * 1_000_000) / 8)

/** Bytes that are bought at a time and drawn over many lines at once. */
export const boughtAtOnce = 100_000_000

/** As many as a subscription comes with. */
export const devicesPaid = 5

export const bounds = {
  'repeated keys': nothing,
  overdraft: nothing,
  /** Nothing a second later, however slowly a body arrives. */
  'standing lost within the body': nothing,
  /** Its cap in all, renewals that it has set included. */
  'cap passed by renewals': nothing,
  'foreign ids and cursors': nothing,
  'malformed requests': nothing,
  'noise at the gateway': nothing,
  /** Three a day for each that is paid for, and twenty more; those that are paid for are no gain. */
  'devices added and removed': (minutes) => Math.ceil(minutes / minutesOfDay) * (3 * devicesPaid + 20) - devicesPaid,
  /** One lease at the one gateway that carries: at the rates of loopback an eighth of what is bought at a time. */
  'quota overrun': () => boughtAtOnce / 8,
  /** Nothing two seconds after the new password. */
  'revoked lines': nothing,
  'lying gateway': throughLink,
  'lying VPN node': throughLink,
  /** Sockets that still wait for an answer after the time that a destination is given. */
  'dials that are never answered': nothing,
  /** Requests of a paying customer that were left unanswered beside them. */
  'idle and dripped connections': nothing,
  /** Beyond what chance tells. */
  'names told apart': nothing,
  /** Of one credential at one gateway, counted anew when that is started. */
  'bytes not acknowledged': (minutes) => Math.ceil(minutes / 60) * maxLost.ofCredential,
} as const satisfies Record<string, Bound>

export type AttackName = keyof typeof bounds
