import { Secret, TOTP } from 'otpauth'
import { type Codes, factorPeriodMs } from '../domains/signin/ports.ts'

const periodSeconds = factorPeriodMs / 1000
const secretBytes = 20
/** Codes of one period before and after are accepted, because clocks differ. */
const window = 1

const factorOf = (secret: string, label = 'Turnpike'): TOTP =>
  new TOTP({ issuer: 'Turnpike', label, secret: Secret.fromBase32(secret), period: periodSeconds, digits: 6 })

/** TOTP (RFC 6238) as every authenticator supports it: SHA-1, 6 digits, 30 seconds. */
export const codes: Codes = {
  makeSecret: () => new Secret({ size: secretBytes }).base32,
  toUri: (secret, login) => factorOf(secret, login).toString(),
  findStep(secret, code, nowMs) {
    if (!/^\d{6}$/.test(code)) return undefined
    const away = factorOf(secret).validate({ token: code, timestamp: nowMs, window })
    return away === null ? undefined : Math.floor(nowMs / 1000 / periodSeconds) + away
  },
}
