import { type Chain, type Link, type LinkFields, nextPosition, type Sha256, sealEntry } from '../../core/chain.ts'
import type { OperatorId, OperatorTokenId } from '../../core/ids.ts'
import { isText, makeText } from '../../core/token-text.ts'

/** From the most to the least powerful. */
export const roles = ['owner', 'support', 'reader'] as const
export type Role = (typeof roles)[number]

export const mayActAs = (has: Role, needed: Role): boolean => roles.indexOf(has) <= roles.indexOf(needed)

export type Operator = {
  readonly id: OperatorId
  readonly name: string
  readonly role: Role
  readonly createdAt: number
  readonly removedAt: number | null
}

/** A stored token, without its text. */
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

/** An operator signs in with this name. */
export const isOperatorName = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)

/** The actor of an action. The command line has no operator's id. */
export type Actor = {
  readonly operator: OperatorId | null
  readonly name: string
  readonly role: Role
  /** The client address, or the user of the command line, if known. */
  readonly source: string | null
}

/** The command line acts as an owner with this name, which is reserved. */
export const toolName = 'tool'
export const toolActor: Actor = { operator: null, name: toolName, role: 'owner', source: null }

/** An operation's name and its request as JSON, without secrets. */
export type Action = { readonly actor: Actor; readonly operation: string; readonly request: string }

/** An entry of the audit log. */
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

/** The next entry of the log. */
export function toEntry(chain: Chain, { actor, operation, request }: Action, nowMs: number, sha256: Sha256): Entry {
  const { operator, name, role, source } = actor
  const entry = { ...nextPosition(chain, nowMs), operator, name, role, action: operation, request, source }
  return { ...entry, hash: sealEntry(chain.head, fieldsOf(entry), sha256) }
}

/** How many changes of a price list the log keeps. */
const maxChanges = 10

/**
 * The part of an action's result that the log keeps: an amount of money, or a new price list and its first changes. Of
 * a payment's refund, what has gone back of the payment so far: `amount_rub` is the payment's.
 */
function outcomeOf(result: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  if ('refunded_rub' in result && typeof result.refunded_rub === 'number') return { refunded_rub: result.refunded_rub }
  if ('amount_rub' in result && typeof result.amount_rub === 'number') return { amount_rub: result.amount_rub }
  if (!('version' in result && 'changes' in result && Array.isArray(result.changes))) return undefined
  const { version, changes } = result
  return { version, change_count: changes.length, changes: changes.slice(0, maxChanges) }
}

/** The request of a log entry with the outcome of its action, under the name `outcome`. */
export function withOutcome(request: string, result: unknown): string {
  const outcome = outcomeOf(result)
  return outcome === undefined
    ? request
    : `${request.slice(0, -1)}${request === '{}' ? '' : ','}"outcome":${toRequestText(outcome)}}`
}

const maxRequestLength = 4000
const secretFields = /^(current_)?password$|^(secret|private_key|credentials|code|link|token)$/i

/** A request as the log stores it: secret fields are masked, and a long text is cut. */
export function toRequestText(request: unknown): string {
  const text = JSON.stringify(request, (name, value: unknown) => {
    if (secretFields.test(name)) return '[secret]'
    return typeof value === 'bigint' ? String(value) : value
  })
  return text.length <= maxRequestLength ? text : JSON.stringify({ shortened: text.slice(0, maxRequestLength) })
}
