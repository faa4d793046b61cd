import { Secret, TOTP } from 'otpauth'
import type { Codes } from '../domains/signin/ports.ts'

const periodSeconds = 30
const secretBytes = 20
/** A code is taken for half a minute before and after its time: clocks differ. */
const window = 1

const factorOf = (secret: string, label = 'Turnpike'): TOTP =>
  new TOTP({ issuer: 'Turnpike', label, secret: Secret.fromBase32(secret), period: periodSeconds, digits: 6 })

/** RFC 6238 with what every authenticator understands: SHA-1, six digits, half a minute. */
export const codes: Codes = {
  makeSecret: () => new Secret({ size: secretBytes }).base32,
  toUri: (secret, login) => factorOf(secret, login).toString(),
  findStep(secret, code, nowMs) {
    if (!/^\d{6}$/.test(code)) return undefined
    const away = factorOf(secret).validate({ token: code, timestamp: nowMs, window })
    return away === null ? undefined : Math.floor(nowMs / 1000 / periodSeconds) + away
  },
}
