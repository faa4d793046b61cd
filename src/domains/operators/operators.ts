import { sealEntry } from '../../core/chain.ts'
import { makeId, type OperatorId, type OperatorTokenId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import { tokenRandomBytes } from '../../core/token-text.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { OperatorsDeps } from './deps.ts'
import { badName, invalidOperatorToken, noSuchOperator } from './errors.ts'
import { lockToChange } from './roles.ts'
import {
  type Entry,
  fieldsOf,
  isOperatorName,
  isOperatorToken,
  makeOperatorToken,
  type Operator,
  type OperatorToken,
  type Role,
  toolName,
} from './rules.ts'
import * as store from './store.ts'

const hintLength = 8

export async function load(deps: OperatorsDeps, name: string, reader: Reader = deps.db): Promise<Operator> {
  const found = await store.findByName(reader, name)
  if (!found) throw noSuchOperator()
  return found
}

/** Adds an operator. The caller makes the operator's first link in the same transaction. */
export async function add(deps: OperatorsDeps, tx: Tx, name: string, role: Role): Promise<Operator> {
  if (!isOperatorName(name) || name.toLowerCase() === toolName) throw badName()
  if (await store.isNameTaken(tx, name)) throw new Refusal('operator_name_taken', { name })
  const nowMs = deps.clock()
  const operator = { id: makeId('operator', nowMs, deps.random), name, role, createdAt: nowMs, removedAt: null }
  store.insertOperator(tx, operator)
  return operator
}

/** An operator who is not removed, from the cache. */
export async function findPresent(deps: OperatorsDeps, id: OperatorId): Promise<Operator | undefined> {
  const found = await deps.known.get(id)
  return found?.removedAt === null ? found : undefined
}

/** The same, or a refusal. */
export async function loadPresent(deps: OperatorsDeps, id: OperatorId): Promise<Operator> {
  const found = await deps.known.get(id)
  if (found?.removedAt !== null) throw invalidOperatorToken('ended')
  return found
}

/** Authenticates an operator by token. */
export async function authenticate(
  deps: OperatorsDeps,
  text: string | undefined,
): Promise<{ operator: Operator; token: OperatorToken }> {
  if (text === undefined) throw invalidOperatorToken('missing')
  if (!isOperatorToken(text)) throw invalidOperatorToken('malformed')
  const found = await deps.tokens.get(text)
  if (!found) throw invalidOperatorToken('unknown')
  const { token, operator } = found
  const isOver = token.expiresAt !== null && token.expiresAt <= deps.clock()
  if (isOver || token.revokedAt !== null || operator.removedAt !== null) throw invalidOperatorToken('ended')
  return { operator, token }
}

/** Removes an operator and revokes the tokens. The caller ends the sessions in the same transaction. */
export async function remove(deps: OperatorsDeps, tx: Tx, name: string): Promise<Operator> {
  const operator = await lockToChange(tx, name, false)
  const nowMs = deps.clock()
  await store.remove(tx, operator.id, nowMs)
  return { ...operator, removedAt: nowMs }
}

/** Clears the caches. */
export function forget(deps: OperatorsDeps): void {
  deps.tokens.clear()
  deps.known.clear()
}

/** Issues a token. Only this answer has its text. */
export const issueToken = (
  deps: OperatorsDeps,
  operatorName: string,
  { name, expiresAt }: Pick<OperatorToken, 'name' | 'expiresAt'>,
) =>
  deps.db.transact(async (tx): Promise<{ text: string; token: OperatorToken }> => {
    const operator = await load(deps, operatorName, tx)
    const text = makeOperatorToken(deps.random(tokenRandomBytes))
    const nowMs = deps.clock()
    const id = makeId('operator_token', nowMs, deps.random)
    const hint = text.slice(0, hintLength)
    const token = { id, operator: operator.id, hint, name, createdAt: nowMs, expiresAt, revokedAt: null }
    store.insertToken(tx, token, deps.sha256(text))
    return { text, token }
  })

export const listTokens = async (deps: OperatorsDeps, name: string): Promise<OperatorToken[]> =>
  store.listTokens(deps.db, (await load(deps, name)).id)

/** Revokes a token and returns its operator. The caller calls `forget` after the commit. */
export async function revokeToken(deps: OperatorsDeps, tx: Tx, id: OperatorTokenId): Promise<OperatorId> {
  const operator = await store.revokeToken(tx, id, deps.clock())
  if (!operator) throw new Refusal('token_not_found')
  await store.lockOperator(tx, operator)
  return operator
}

/** Refuses a revoked or expired token, in the caller's transaction. */
export async function assertTokenIn(deps: OperatorsDeps, tx: Tx, id: OperatorTokenId): Promise<void> {
  if (!(await store.isTokenOpen(tx, id, deps.clock()))) throw invalidOperatorToken('ended')
}

/** Replaces the request of a log entry, for the erasure of a customer. */
export const redact = (deps: OperatorsDeps, tx: Tx, entry: Entry, request: string, customer: string): Promise<void> => {
  const seal = sealEntry(entry.hash, fieldsOf({ ...entry, request }), deps.sha256)
  return store.redactEntry(tx, { seq: entry.seq, request, customer, seal }, deps.clock())
}

/** The audit log below a number, newest first. */
export const log = (
  deps: OperatorsDeps,
  of: {
    readonly before: number | undefined
    readonly operator: OperatorId | undefined
    readonly action: string | undefined
    readonly limit: number
  },
): Promise<Entry[]> =>
  store.listEntries(deps.db, {
    before: of.before ?? Number.MAX_SAFE_INTEGER,
    operator: of.operator ?? null,
    action: of.action ?? '',
    limit: of.limit,
  })
