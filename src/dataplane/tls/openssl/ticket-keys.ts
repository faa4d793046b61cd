import { hkdfSync, randomBytes } from 'node:crypto'

/** A key of session tickets: its name, for AES-256-CBC, and for HMAC-SHA-256 (RFC 5077, 4). */
export type TicketKey = { readonly name: Uint8Array; readonly cipher: Uint8Array; readonly mac: Uint8Array }

const nameBytes = 16
const keyBytes = 32
export const ticketKeyBytes = nameBytes + 2 * keyBytes

/** From so many random or derived bytes. */
export function toTicketKey(bytes: Uint8Array): TicketKey {
  if (bytes.length !== ticketKeyBytes) throw new Error(`a ticket key has ${ticketKeyBytes} bytes`)
  const at = nameBytes + keyBytes
  return { name: bytes.slice(0, nameBytes), cipher: bytes.slice(nameBytes, at), mac: bytes.slice(at) }
}

export const fromTicketKey = ({ name, cipher, mac }: TicketKey): Uint8Array => Buffer.concat([name, cipher, mac])

export const makeTicketKey = (): TicketKey => toTicketKey(randomBytes(ticketKeyBytes))

const dayMs = 86_400_000
const keyOfDay = (secret: string, day: number): TicketKey =>
  toTicketKey(new Uint8Array(hkdfSync('sha256', secret, '', `turnpike session tickets ${day}`, ticketKeyBytes)))

/**
 * Keys of a secret that several gateways share, by date. The first encrypts; the others decrypt: tickets of the day
 * before, and of a gateway whose clock is ahead.
 */
function ticketKeysOfDay(secret: string, nowMs: number): readonly TicketKey[] {
  const day = Math.floor(nowMs / dayMs)
  return [day, day - 1, day + 1].map((each) => keyOfDay(secret, each))
}

/** Keys of session tickets, the current one first, and when it became current. */
export type TicketKeyState = { readonly keys: readonly TicketKey[]; readonly rotatedAt: number }

/** Random keys change once a day; the one before still decrypts for a day. The same state if nothing changes. */
export function rotateTicketKeys(state: TicketKeyState | undefined, nowMs: number): TicketKeyState {
  if (state && nowMs - state.rotatedAt < dayMs) return state
  const stillUsed = state && nowMs - state.rotatedAt < 2 * dayMs ? state.keys.slice(0, 1) : []
  return { keys: [makeTicketKey(), ...stillUsed], rotatedAt: nowMs }
}

/** Keys of a shared secret if there is one, else random ones. */
export function nextTicketKeys(
  secret: string | undefined,
  state: TicketKeyState | undefined,
  nowMs: number,
): TicketKeyState {
  if (secret === undefined) return rotateTicketKeys(state, nowMs)
  const rotatedAt = nowMs - (nowMs % dayMs)
  return state?.rotatedAt === rotatedAt ? state : { keys: ticketKeysOfDay(secret, nowMs), rotatedAt }
}
