import type { CustomerId, LinkId, OperatorId, SessionId } from '../../core/ids.ts'
import { isText, makeText } from '../../core/token-text.ts'
import type { Scope } from '../customers/rules.ts'

/** Whoever signs in. */
export type Owner =
  | { readonly kind: 'customer'; readonly id: CustomerId }
  | { readonly kind: 'operator'; readonly id: OperatorId }
export type OwnerKind = Owner['kind']

/** How somebody signs in. `totpSince` is null while the second factor is not confirmed. */
export type Identity = {
  readonly owner: Owner
  readonly login: string
  readonly email: string | null
  readonly password: string | null
  readonly totp: Uint8Array | null
  readonly totpSince: number | null
  readonly totpStep: number
  readonly createdAt: number
  readonly changedAt: number
}

/** A browser that has signed in. `openedBy` is the operator who looks at a customer's pages. */
export type Session = {
  readonly id: SessionId
  readonly owner: Owner
  readonly scopes: readonly Scope[]
  readonly openedBy: OperatorId | null
  readonly source: string | null
  readonly agent: string | null
  readonly createdAt: number
  readonly usedAt: number
  readonly expiresAt: number
  readonly endedAt: number | null
}

/**
 * Whether a session came from a link that an operator below `owner` made for a new customer. It reads, and it sets the
 * first password, which makes it a full session.
 */
export const isProvisional = ({ owner, openedBy, scopes }: Pick<Session, 'owner' | 'openedBy' | 'scopes'>): boolean =>
  owner.kind === 'customer' && openedBy === null && !scopes.includes('trade')

/** What a link to enter with waits for, if an operator below `owner` made it: that the customer is still new. */
export const forNewcomer = 'newcomer'

export type LinkPurpose = 'enter' | 'confirm' | 'reset'

/** A link that works once. One that confirms an e-mail address has no owner yet. */
export type OneTimeLink = {
  readonly id: LinkId
  readonly kind: OwnerKind
  readonly owner: string | null
  readonly purpose: LinkPurpose
  readonly payload: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt: number | null
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** How long a session lasts, however much it is used. */
export const sessionMs: Readonly<Record<OwnerKind, number>> = { customer: 14 * dayMs, operator: 12 * hourMs }
/** How long an operator looks at a customer's pages at the most. */
export const viewMs = hourMs
export const linkMs: Readonly<Record<LinkPurpose, number>> = { enter: dayMs, confirm: dayMs, reset: hourMs / 2 }
/** How many sessions somebody has at once; beyond that the oldest ends. */
export const mostSessions = 20

const sessionPrefix = 'tps_'
export const makeSessionText = (random: Uint8Array): string => makeText(sessionPrefix, random)
export const isSessionText = (text: string): boolean => isText(sessionPrefix, text)

const linkPrefix = 'tpl_'
export const makeLinkText = (random: Uint8Array): string => makeText(linkPrefix, random)
export const isLinkText = (text: string): boolean => isText(linkPrefix, text)

/** One spelling of a login: letters in any case, and what looks alike written alike, are the same one. */
export const toLogin = (text: string): string => text.normalize('NFKC').trim().toLowerCase()

const ofCustomer = /^[a-z0-9][a-z0-9._-]{2,63}$/
/** An operator signs in with the name that he was given, which may be shorter. */
const ofOperator = /^[a-z0-9][a-z0-9._-]{0,63}$/

/**
 * Whether somebody may sign in by this from now on: a name of 3 to 64 letters, digits, dots, dashes and underscores, or
 * what is his already. An e-mail address becomes somebody's by a letter to it, never by his word: else whoever says it
 * first would keep its owner out, or wait in the account that its owner is let into.
 */
export const mayHaveLogin = (
  kind: OwnerKind,
  text: string,
  of: Pick<Identity, 'login' | 'email'> | undefined,
): boolean =>
  (kind === 'operator' ? ofOperator : ofCustomer).test(text) ||
  (of !== undefined && (text === of.login || text === of.email))

/** Where letters to an address go: what stands behind a `+` is for its owner alone. */
export const toMailbox = (email: string): string => email.toLowerCase().replace(/\+[^@]*@/, '@')

/** Enough to tell an address from something else; whether it is one, only a letter to it can tell. */
export const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s@<>(),;:"[\]\\\p{Cc}]{1,64}@[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/u.test(text)

const shortestPassword = 10
const longestPassword = 200

/** Why a password is none, or undefined if it is one. */
export function problemOfPassword(password: string, login: string): string | undefined {
  const { length } = password
  if (length < shortestPassword || length > longestPassword) {
    return `must be ${shortestPassword} to ${longestPassword} characters`
  }
  if (toLogin(password) === login) return 'must not be the login'
  return new Set(password).size < 4 ? 'must have at least four different characters' : undefined
}

/** What login and address come to under one digest, which outlives them in the history. */
export const namedText = (owner: string, login: string, email: string | null): string =>
  JSON.stringify([owner, login, email])

export const isOpen = (of: { readonly expiresAt: number }, endedAt: number | null, nowMs: number): boolean =>
  endedAt === null && of.expiresAt > nowMs
