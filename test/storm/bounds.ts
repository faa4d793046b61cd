/**
 * What an attacker may gain at most, in the attacker's own unit, over a whole storm of so many minutes. These are the
 * bounds that SECURITY.md states, in one place; where it states none, an attacker gains nothing.
 */
export type Bound = (minutes: number) => number

const nothing: Bound = () => 0
const mebibyte = 1024 * 1024

export const bounds = {
  'repeated keys': nothing,
  overdraft: nothing,
  'standing lost within the body': nothing,
  'cap passed by renewals': nothing,
  'foreign ids and cursors': nothing,
  'malformed requests': nothing,
  'noise at the gateway': nothing,
  /** Addresses besides the devices that one subscription may have. */
  'devices added and removed': () => 45,
  /** A lease at a node, both of them. */
  'quota overrun': () => 2 * 8 * mebibyte,
  /** Two seconds after the new password. */
  'revoked lines': nothing,
  /** A node that says it carried what it did not, over all of its boots. */
  'lying gateway': (minutes) => Math.ceil(minutes) * 64 * mebibyte,
  /** Bytes of a device, which are shown and never billed: what a link of 10 Gbit/s carries. */
  'lying VPN node': (minutes) => Math.ceil(minutes + 1) * 75_000_000_000,
  /** Sockets that still wait for an answer after the time that a destination is given. */
  'dials that are never answered': nothing,
  /** Requests of a paying customer that were left unanswered beside them. */
  'idle and dripped connections': nothing,
  /** Names told apart beyond chance, of a hundred. */
  'names told apart': () => 10,
  /** At most 1 MiB a credential and hour, and what is on its way when the hour begins. */
  'bytes not acknowledged': (minutes) => Math.ceil(minutes / 60) * mebibyte + mebibyte,
} as const satisfies Record<string, Bound>

export type AttackName = keyof typeof bounds
