import { type Address, contains, type Prefix } from '../../core/address.ts'
import type { CustomerId, TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { isText, makeText } from '../../core/token-text.ts'
import { passwordsHidden } from './errors.ts'

/** Read; buy and change; begin a payment; see passwords in what is read. */
export const allScopes = ['read', 'trade', 'pay', 'passwords'] as const
export type Scope = (typeof allScopes)[number]
export const isScope = (text: string): text is Scope => allScopes.some((each) => each === text)

/** The version of the API for tokens and stored answers from before there were versions. */
export const firstApiVersion = '2026-11-19'

export type ShopMode = 'sandbox' | 'production'

/**
 * The stored name of customers who signed up by themselves. It is neutral, because the row history keeps it after an
 * erasure; operators see the e-mail address in its place.
 */
export const registeredName = 'registered'

export type Customer = {
  readonly id: CustomerId
  readonly name: string
  readonly createdAt: number
  readonly blockedAt: number | null
  /** An operator's note, which the customer never sees. */
  readonly note: string | null
}

/** A stored token. `hint` is the start of its text, enough to tell tokens apart. */
export type Token = {
  readonly id: TokenId
  readonly customer: CustomerId
  readonly hint: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly allowedFrom: readonly Prefix[]
  readonly cap: Kopecks | null
  /** The version of the API that its requests have unless they name one. */
  readonly apiVersion: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The last use, to the minute. */
  readonly usedAt: number | null
  readonly usedFrom: string | null
}

const prefixOf: Readonly<Record<ShopMode, string>> = { production: 'tp_live_', sandbox: 'tp_test_' }

export const makeTokenText = (mode: ShopMode, random: Uint8Array): string => makeText(prefixOf[mode], random)

/** Whether a text has a token's prefix and checksum, which needs no look-up. */
export const isTokenText = (text: string): boolean =>
  isText(prefixOf.production, text) || isText(prefixOf.sandbox, text)

export const hintOf = (text: string): string => text.slice(0, 12)

/** A fixed token of a sandbox: any 8 to 200 visible characters. */
export const isSandboxTokenText = (text: string): boolean => /^[\x21-\x7e]{8,200}$/.test(text)

/** Why a token is refused now, if it is. */
export function whyClosed(
  token: Pick<Token, 'expiresAt' | 'revokedAt'>,
  nowMs: number,
): 'revoked' | 'expired' | undefined {
  if (token.revokedAt !== null) return 'revoked'
  if (token.expiresAt !== null && token.expiresAt <= nowMs) return 'expired'
  return undefined
}

/** A token without an address lock is valid from any address. */
export const mayComeFrom = (token: Token, address: Address | undefined): boolean =>
  token.allowedFrom.length === 0 ||
  (address !== undefined && token.allowedFrom.some((prefix) => contains(prefix, address)))

/** The customer's pseudonym on nodes, by which credentials share limits. */
export const ownerName = (customer: CustomerId, sha256: (text: string) => Uint8Array): string =>
  sha256(`owner ${customer}`).toHex().slice(0, 16)

/** Whether a caller may see existing passwords, keys and secret links. New ones are in the answer that creates them. */
export const seesPasswords = ({ scopes }: { readonly scopes: readonly Scope[] }): boolean =>
  scopes.includes('passwords')

/** For an answer that is of no use without them. `order` is what an earlier request bought, whose answer it is. */
export function assertSeesPasswords(caller: { readonly scopes: readonly Scope[] }, order: string | null = null): void {
  if (!seesPasswords(caller)) throw passwordsHidden(order)
}
