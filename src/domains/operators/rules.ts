import { type Chain, type Link, type LinkFields, nextPlace, type Sha256, sealEntry } from '../../core/chain.ts'
import type { OperatorId, OperatorTokenId } from '../../core/ids.ts'
import { isText, makeText } from '../../core/token-text.ts'

/** From the one who may do everything to the one who may only look. */
export const roles = ['owner', 'support', 'reader'] as const
export type Role = (typeof roles)[number]

/** Whether a role may do what wants at least this one. */
export const mayActAs = (has: Role, needed: Role): boolean => roles.indexOf(has) <= roles.indexOf(needed)

export type Operator = {
  readonly id: OperatorId
  readonly name: string
  readonly role: Role
  readonly createdAt: number
  readonly removedAt: number | null
}

/** A token as it is known once its text is gone. */
export type OperatorToken = {
  readonly id: OperatorTokenId
  readonly operator: OperatorId
  readonly hint: string
  readonly name: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

const prefix = 'tpo_'
export const makeOperatorToken = (random: Uint8Array): string => makeText(prefix, random)
export const isOperatorToken = (text: string): boolean => isText(prefix, text)

/** A name is what an operator signs in with: letters, digits, dots, dashes and underscores, in any case. */
export const isOperatorName = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)

/** Who does something. The command line has no operator's id: whoever runs it has the machine. */
export type Actor = {
  readonly operator: OperatorId | null
  readonly name: string
  readonly role: Role
  /** The address that he came from, where there is one. */
  readonly source: string | null
}

/** The command line acts as an owner by this name, which no operator can have. */
export const toolName = 'tool'
export const toolActor: Actor = { operator: null, name: toolName, role: 'owner', source: null }

/** What is done: the operation's name and what was asked for, as JSON, without secrets. */
export type Action = { readonly actor: Actor; readonly operation: string; readonly request: string }

/** One entry of the audit log. */
export type Entry = Link & {
  readonly operator: OperatorId | null
  readonly name: string
  readonly role: string
  readonly action: string
  readonly request: string
  readonly source: string | null
}

export const fieldsOf = (entry: Omit<Entry, 'hash'>): LinkFields => [
  entry.seq,
  entry.at,
  entry.operator,
  entry.name,
  entry.role,
  entry.action,
  entry.request,
  entry.source,
]

/** The entry that an action makes at the end of the log. */
export function toEntry(chain: Chain, { actor, operation, request }: Action, nowMs: number, sha256: Sha256): Entry {
  const { operator, name, role, source } = actor
  const entry = { ...nextPlace(chain, nowMs), operator, name, role, action: operation, request, source }
  return { ...entry, hash: sealEntry(chain.head, fieldsOf(entry), sha256) }
}

const longestRequest = 4000
const secretFields = /^(current_)?password$|^(secret|private_key|credentials|code|link|token)$/i

/** What was asked for, as the log keeps it: without fields that are named like secrets, and cut where it is long. */
export function toRequestText(asked: unknown): string {
  const text = JSON.stringify(asked, (name, value: unknown) => {
    if (secretFields.test(name)) return '[secret]'
    return typeof value === 'bigint' ? String(value) : value
  })
  return text.length <= longestRequest ? text : JSON.stringify({ shortened: text.slice(0, longestRequest) })
}
