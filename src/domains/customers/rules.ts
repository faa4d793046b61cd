import { type Address, contains, type Prefix } from '../../core/address.ts'
import type { CustomerId, TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { isText, makeText } from '../../core/token-text.ts'

/** To look, to buy and change, to begin a payment, and to see passwords in what may be looked at. */
export type Scope = 'read' | 'trade' | 'pay' | 'passwords'
export const allScopes: readonly Scope[] = ['read', 'trade', 'pay', 'passwords']

export type ShopMode = 'sandbox' | 'production'

export type Customer = {
  readonly id: CustomerId
  readonly name: string
  readonly createdAt: number
  readonly blockedAt: number | null
  /** What operators note about him; he never sees it. */
  readonly note: string | null
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
  /** When and from where it was last used, to the minute. */
  readonly usedAt: number | null
  readonly usedFrom: string | null
}

/** `tp_live_` or `tp_test_`: a token says which kind of shop it opens. */
const prefixOf: Readonly<Record<ShopMode, string>> = { production: 'tp_live_', sandbox: 'tp_test_' }

export const makeTokenText = (mode: ShopMode, random: Uint8Array): string => makeText(prefixOf[mode], random)

/** Whether a text can be a token at all. It costs no look-up to turn away what is not. */
export const isTokenText = (text: string): boolean =>
  isText(prefixOf.production, text) || isText(prefixOf.sandbox, text)

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
