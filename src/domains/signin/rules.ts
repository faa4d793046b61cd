import { isBase32, randomBase32 } from '../../core/base32.ts'
import type { CustomerId, LinkId, OperatorId, SessionId } from '../../core/ids.ts'
import { type FieldProblem, fieldProblem } from '../../core/messages/problems.ts'
import { isText, makeText } from '../../core/token-text.ts'
import type { Scope } from '../customers/rules.ts'

/** The owner of a login: a customer or an operator. */
export type Owner =
  | { readonly kind: 'customer'; readonly id: CustomerId }
  | { readonly kind: 'operator'; readonly id: OperatorId }
export type OwnerKind = Owner['kind']

/** An owner's sign-in data. `totpSince` is null while the second factor is not confirmed. */
export type Identity = {
  readonly owner: Owner
  readonly login: string
  readonly email: string | null
  readonly password: string | null
  readonly totp: Uint8Array | null
  readonly totpSince: number | null
  readonly totpStep: number
  /** Sealed digests of the unused recovery codes; null without any. */
  readonly recovery: Uint8Array | null
  /** When a letter's link was first opened; null before that, 0 for an earlier account of which this is unknown. */
  readonly confirmedAt: number | null
  readonly createdAt: number
  readonly changedAt: number
}

/** A signed-in browser. `openedBy` is the operator who views a customer's pages. */
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

/** The payload of a sign-in link by an operator below `owner`: it works while the customer is new. */
export const forNewcomer = 'newcomer'

/** The payload of a sign-in link that was sent by a letter. */
export const byLetter = 'letter'
/** Whether a sign-in link was sent by a letter: with `byLetter`, or with a visitor's purchase. */
export const isByLetter = (payload: string | null): boolean => payload === byLetter || payload?.startsWith('{') === true

export type LinkPurpose = 'enter' | 'confirm' | 'reset'

/** A link that works once. One that confirms an e-mail address may have no owner yet. */
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

export const sessionMs: Readonly<Record<OwnerKind, number>> = { customer: 14 * dayMs, operator: 12 * hourMs }
/** The longest view of a customer's pages by an operator. */
export const viewMs = hourMs
export const linkMs: Readonly<Record<LinkPurpose, number>> = { enter: dayMs, confirm: dayMs, reset: hourMs / 2 }
/** Open sessions of one owner; beyond that the oldest ends. */
export const maxSessions = 20

const sessionPrefix = 'tps_'
export const makeSessionText = (random: Uint8Array): string => makeText(sessionPrefix, random)
export const isSessionText = (text: string): boolean => isText(sessionPrefix, text)

const linkPrefix = 'tpl_'
export const makeLinkText = (random: Uint8Array): string => makeText(linkPrefix, random)
export const isLinkText = (text: string): boolean => isText(linkPrefix, text)

/** Recovery codes of a second factor that are valid at a time. */
export const recoveryCodeCount = 10
/** 16 characters of 5 bits: a digest of 80 random bits cannot be inverted by trying. */
export const recoveryRandomBytes = 16

/** A recovery code as it is shown: four groups of four characters. */
export const makeRecoveryCode = (random: Uint8Array): string => randomBase32(random).replace(/.{4}(?=.)/g, '$&-')

/** A typed recovery code without separators and letters that look like digits; undefined if it cannot be one. */
export function readRecoveryCode(text: string): string | undefined {
  const plain = text.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
  return plain.length === recoveryRandomBytes && isBase32(plain) ? plain : undefined
}

/** The digested text of a recovery code. */
export const recoveryText = (owner: string, plainCode: string): string => `recovery code of ${owner} ${plainCode}`
export const recoveryContext = (owner: string): string => `recovery of ${owner}`

/** Normalises a login: case, width and compatibility forms. */
export const toLogin = (text: string): string => text.normalize('NFKC').trim().toLowerCase()

const ofCustomer = /^[a-z0-9][a-z0-9._-]{2,63}$/
/** An operator's name may be shorter. */
const ofOperator = /^[a-z0-9][a-z0-9._-]{0,63}$/

/**
 * Whether an owner may take this login: a name, or the owner's present login or address. An e-mail address needs a
 * confirmed letter: else another person could claim it first and keep its owner out.
 */
export const mayHaveLogin = (
  kind: OwnerKind,
  text: string,
  of: Pick<Identity, 'login' | 'email'> | undefined,
): boolean =>
  (kind === 'operator' ? ofOperator : ofCustomer).test(text) ||
  (of !== undefined && (text === of.login || text === of.email))

const ignoresDots = /@(gmail|googlemail)\.com$/

/** The mailbox of an address: without its `+` tag, and without the dots that Gmail ignores. */
export function toMailbox(email: string): string {
  const untagged = email.toLowerCase().replace(/\+[^@]*@/, '@')
  return ignoresDots.test(untagged) ? untagged.replace(/\.(?=.*@)/g, '').replace('@googlemail', '@gmail') : untagged
}

/** A plausible address; only a letter proves it. */
export const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s@<>(),;:"[\]\\\p{Cc}\p{Cf}]{1,64}@[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/u.test(text)

const minPasswordLength = 10
const maxPasswordLength = 200

/** Why a password is refused, if it is. */
export function problemOfPassword(password: string, login: string): FieldProblem | undefined {
  const { length } = password
  if (length < minPasswordLength || length > maxPasswordLength) {
    return fieldProblem('password', 'characters', { from: minPasswordLength, to: maxPasswordLength })
  }
  if (toLogin(password) === login) return fieldProblem('password', 'password_is_login')
  return new Set(password).size < 4 ? fieldProblem('password', 'different_characters') : undefined
}

/** The digested text of login and address; the history keeps the digest. */
export const namedText = (owner: string, login: string, email: string | null): string =>
  JSON.stringify([owner, login, email])

export const isOpen = (of: { readonly expiresAt: number }, endedAt: number | null, nowMs: number): boolean =>
  endedAt === null && of.expiresAt > nowMs
