import type { Hmac } from './password-mac.ts'

/** A machine that has been active within this time counts against the device limit. */
export const placeLastsMs = 60_000
/** A device's machine that was silent for this long has moved to another network, if the device connects from there. */
export const placeMovesAfterMs = 15_000
/** Gateways report active machines so often. With a second until a reactor says so, a cut comes within 10 s. */
export const placeReportMs = 8_000

/** What a client presents: a UUID, the hex digits of SHA-224 of a password, or a password. */
export const keyKinds = ['vless', 'trojan', 'password'] as const
export type KeyKind = (typeof keyKinds)[number]

/** A gateway's proof that a machine has presented a key of a device, which the gateway does not have otherwise. */
export const proofOfKey = (hmac: Hmac, key: string, node: string, device: string, place: string): string =>
  hmac(new TextEncoder().encode(key), `machine 1\0${node}\0${device}\0${place}`).toHex()
