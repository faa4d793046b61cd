import { sealEntry } from '../../core/chain.ts'
import { makeId, type OperatorId, type OperatorTokenId, type RandomBytes } from '../../core/ids.ts'
import { fieldProblem } from '../../core/messages/problems.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { invalidOperatorToken, noSuchOperator, operatorRemoved } from './errors.ts'
import {
  type Entry,
  fieldsOf,
  isOperatorName,
  isOperatorToken,
  makeOperatorToken,
  mayActAs,
  type Operator,
  type OperatorToken,
  type Role,
  toolName,
} from './rules.ts'
import * as store from './store.ts'

const hintLength = 8

type Given = { db: Database; clock: Clock; random: RandomBytes; sha256: (text: string) => Uint8Array }

export type OperatorsDeps = ReturnType<typeof withCaches>

export function withCaches(given: Given) {
  /** A revocation in another process takes effect after this long at most. */
  const cached = { clock: given.clock, ttlMs: 500, maxEntries: 1000 }
  return {
    ...given,
    tokens: createTtlCache({
      ...cached,
      load: (text: string) => findToken(given, text),
      shouldKeep: (found) => found !== undefined,
    }),
    known: createTtlCache({ ...cached, load: (id: OperatorId) => store.findOperator(given.db, id) }),
  }
}

/** Compares the digest again: an index may match by collation. */
async function findToken({ db, sha256 }: Given, text: string) {
  const digest = sha256(text)
  const found = await store.findByDigest(db, digest)
  return found && sameBytes(found.digest, digest) ? found : undefined
}

export async function load(deps: OperatorsDeps, name: string, reader: Reader = deps.db): Promise<Operator> {
  const found = await store.findByName(reader, name)
  if (!found) throw noSuchOperator()
  return found
}

/** Adds an operator. The caller makes the operator's first link in the same transaction. */
export async function add(deps: OperatorsDeps, tx: Tx, name: string, role: Role): Promise<Operator> {
  if (!isOperatorName(name) || name.toLowerCase() === toolName)
    throw new Refusal('operator_name_invalid', {}, [fieldProblem('name', 'operator_name')])
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
  const found = await findPresent(deps, id)
  if (!found) throw invalidOperatorToken('ended')
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

/** Refuses a removed or unknown operator, in the caller's transaction. */
export async function assertPresentIn(tx: Tx, id: OperatorId): Promise<void> {
  const found = await store.findOperator(tx, id)
  if (!found || found.removedAt !== null) throw operatorRemoved()
}

/** The same, with the operator's row locked. */
export async function lockPresentIn(tx: Tx, id: OperatorId): Promise<Operator> {
  const found = await store.lockOperator(tx, id)
  if (!found || found.removedAt !== null) throw operatorRemoved()
  return found
}

export function assertRole({ role }: Pick<Operator, 'role'>, needed: Role): void {
  if (mayActAs(role, needed)) return
  throw new Refusal('role_too_low', { needed, has: role }, { needed, has: role })
}

/** Locks all operators, so that the last owner stays, and returns one of them. */
async function lockToChange(tx: Tx, name: string, keepsOwner: boolean): Promise<Operator> {
  const all = await store.lockOperators(tx)
  const found = all.find((each) => each.name === name)
  if (!found) throw noSuchOperator()
  const owners = all.filter((each) => each.role === 'owner')
  if (!keepsOwner && found.role === 'owner' && owners.length === 1) throw new Refusal('last_owner')
  return found
}

/** Changes a role. The caller ends the operator's views in the same transaction. */
export async function setRole(tx: Tx, name: string, role: Role): Promise<Operator> {
  const operator = await lockToChange(tx, name, role === 'owner')
  await store.setRole(tx, operator.id, role)
  return { ...operator, role }
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
