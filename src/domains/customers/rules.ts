import { type Address, contains, type Prefix } from '../../kernel/address.ts'
import { base32Digit, randomBase32 } from '../../kernel/base32.ts'
import type { CustomerId, TokenId } from '../../kernel/ids.ts'
import type { Kopecks } from '../../kernel/money.ts'

/** To look, to buy and change, and to begin a payment. */
export type Scope = 'read' | 'trade' | 'pay'
export const allScopes: readonly Scope[] = ['read', 'trade', 'pay']

export type ShopMode = 'sandbox' | 'production'

export type Customer = {
  readonly id: CustomerId
  readonly name: string
  readonly createdAt: number
  readonly blockedAt: number | null
}

/** A token as it is known once its text is gone. `hint` is the start of the text, enough to tell tokens apart. */
export type Token = {
  readonly id: TokenId
  readonly customer: CustomerId
  readonly hint: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly allowedFrom: readonly Prefix[]
  readonly cap: Kopecks | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

const randomLength = 32
const checkLength = 7

/** How many random bytes a token is made of: 32 characters of 5 bits, 160 in all. */
export const tokenRandomBytes = randomLength

/** `tp_live_` or `tp_test_`, 160 random bits, and a checksum that catches every slip of the keyboard. */
export function makeTokenText(mode: ShopMode, random: Uint8Array): string {
  if (random.length !== tokenRandomBytes) throw new RangeError('a token is made of 32 random bytes')
  const text = `${mode === 'sandbox' ? 'tp_test_' : 'tp_live_'}${randomBase32(random)}`
  return text + checkOf(text)
}

/** Whether a text can be a token at all. It costs no look-up to turn away what is not. */
export function isTokenText(text: string): boolean {
  if (text.length !== 8 + randomLength + checkLength) return false
  if (!text.startsWith('tp_live_') && !text.startsWith('tp_test_')) return false
  return checkOf(text.slice(0, -checkLength)) === text.slice(-checkLength)
}

/** The part of a token that may be shown later. */
export const hintOf = (text: string): string => text.slice(0, 12)

/** A token that scripts are given in advance: any 8 to 200 visible characters. Accepted by a sandbox only. */
export const isSandboxTokenText = (text: string): boolean => /^[\x21-\x7e]{8,200}$/.test(text)

/** Why a token opens nothing now, or undefined if it does. */
export function whyClosed(
  token: Pick<Token, 'expiresAt' | 'revokedAt'>,
  nowMs: number,
): 'revoked' | 'expired' | undefined {
  if (token.revokedAt !== null) return 'revoked'
  if (token.expiresAt !== null && token.expiresAt <= nowMs) return 'expired'
  return undefined
}

/** A token without a lock may be used from anywhere. */
export const mayComeFrom = (token: Token, address: Address | undefined): boolean =>
  token.allowedFrom.length === 0 ||
  (address !== undefined && token.allowedFrom.some((prefix) => contains(prefix, address)))

/** What nodes call a customer: enough to tell whose limits credentials share, and nothing to find the customer by. */
export const ownerName = (customer: CustomerId, sha256: (text: string) => Uint8Array): string =>
  sha256(`owner ${customer}`).toHex().slice(0, 16)

/** Compares without telling by its time where two digests part. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index += 1) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}

/** CRC-32 (IEEE 802.3) in seven characters: a guard against slips, not against forgers. */
function checkOf(text: string): string {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index) & 255
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = (crc ^ 0xffffffff) >>> 0
  let check = ''
  for (let index = 0; index < checkLength; index += 1) {
    check = base32Digit(rest) + check
    rest >>>= 5
  }
  return check
}
