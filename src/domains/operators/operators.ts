import { sealEntry } from '../../core/chain.ts'
import { makeId, type OperatorId, type OperatorTokenId, type RandomBytes } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { badName, invalidOperatorToken, noSuchOperator, operatorRemoved } from './errors.ts'
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

export type Operators = ReturnType<typeof createOperators>

export function createOperators(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
}) {
  const { db, clock, random } = deps
  /** A revocation in another process takes effect after this long at most. */
  const cached = { clock, ttlMs: 500, maxEntries: 1000 }
  const tokens = createTtlCache({ ...cached, load: findToken, shouldKeep: (found) => found !== undefined })
  const known = createTtlCache({ ...cached, load: (id: OperatorId) => store.findOperator(db, id) })

  /** Compares the digest again: an index may match by collation. */
  async function findToken(text: string) {
    const digest = deps.sha256(text)
    const found = await store.findByDigest(db, digest)
    return found && sameBytes(found.digest, digest) ? found : undefined
  }

  async function load(name: string, reader: Pick<Tx, 'all' | 'first'> = db): Promise<Operator> {
    const found = await store.findByName(reader, name)
    if (!found) throw noSuchOperator()
    return found
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

  return {
    /** Adds an operator. The caller makes the operator's first link in the same transaction. */
    async add(tx: Tx, name: string, role: Role): Promise<Operator> {
      if (!isOperatorName(name) || name.toLowerCase() === toolName) throw badName()
      if (await store.isNameTaken(tx, name)) throw new Refusal('operator_name_taken', { name })
      const nowMs = clock()
      const operator = { id: makeId('operator', nowMs, random), name, role, createdAt: nowMs, removedAt: null }
      store.insertOperator(tx, operator)
      return operator
    },

    list: (): Promise<Operator[]> => store.listOperators(db),

    /** An operator who is not removed, from the cache. */
    async findPresent(id: OperatorId): Promise<Operator | undefined> {
      const found = await known.get(id)
      return found?.removedAt === null ? found : undefined
    },

    /** The same, or a refusal. */
    async loadPresent(id: OperatorId): Promise<Operator> {
      const found = await known.get(id)
      if (found?.removedAt !== null) throw invalidOperatorToken('ended')
      return found
    },

    /** Refuses a removed or unknown operator, in the caller's transaction. */
    async assertPresentIn(tx: Tx, id: OperatorId): Promise<void> {
      const found = await store.findOperator(tx, id)
      if (!found || found.removedAt !== null) throw operatorRemoved()
    },

    /** The same, with the operator's row locked. */
    async lockPresentIn(tx: Tx, id: OperatorId): Promise<Operator> {
      const found = await store.lockOperator(tx, id)
      if (!found || found.removedAt !== null) throw operatorRemoved()
      return found
    },

    load: (name: string): Promise<Operator> => load(name),

    /** Authenticates an operator by token. */
    async authenticate(text: string | undefined): Promise<{ operator: Operator; token: OperatorToken }> {
      if (text === undefined) throw invalidOperatorToken('missing')
      if (!isOperatorToken(text)) throw invalidOperatorToken('malformed')
      const found = await tokens.get(text)
      if (!found) throw invalidOperatorToken('unknown')
      const { token, operator } = found
      const isOver = token.expiresAt !== null && token.expiresAt <= clock()
      if (isOver || token.revokedAt !== null || operator.removedAt !== null) throw invalidOperatorToken('ended')
      return { operator, token }
    },

    assertRole({ role }: Pick<Operator, 'role'>, needed: Role): void {
      if (mayActAs(role, needed)) return
      throw new Refusal('role_too_low', { needed, has: role }, { needed, has: role })
    },

    /** Changes a role. The caller ends the operator's views in the same transaction. */
    async setRole(tx: Tx, name: string, role: Role): Promise<Operator> {
      const operator = await lockToChange(tx, name, role === 'owner')
      await store.setRole(tx, operator.id, role)
      return { ...operator, role }
    },

    /** Removes an operator and revokes the tokens. The caller ends the sessions in the same transaction. */
    async remove(tx: Tx, name: string): Promise<Operator> {
      const operator = await lockToChange(tx, name, false)
      const nowMs = clock()
      await store.remove(tx, operator.id, nowMs)
      return { ...operator, removedAt: nowMs }
    },

    /** Clears the caches. */
    forget(): void {
      tokens.clear()
      known.clear()
    },

    /** Issues a token. Only this answer has its text. */
    issueToken: (operatorName: string, { name, expiresAt }: Pick<OperatorToken, 'name' | 'expiresAt'>) =>
      db.transact(async (tx): Promise<{ text: string; token: OperatorToken }> => {
        const operator = await load(operatorName, tx)
        const text = makeOperatorToken(random(tokenRandomBytes))
        const nowMs = clock()
        const id = makeId('operator_token', nowMs, random)
        const hint = text.slice(0, hintLength)
        const token = { id, operator: operator.id, hint, name, createdAt: nowMs, expiresAt, revokedAt: null }
        store.insertToken(tx, token, deps.sha256(text))
        return { text, token }
      }),

    listTokens: async (name: string): Promise<OperatorToken[]> => store.listTokens(db, (await load(name)).id),

    /** Revokes a token and returns its operator. The caller calls `forget` after the commit. */
    async revokeToken(tx: Tx, id: OperatorTokenId): Promise<OperatorId> {
      const operator = await store.revokeToken(tx, id, clock())
      if (!operator) throw new Refusal('token_not_found')
      await store.lockOperator(tx, operator)
      return operator
    },

    /** Refuses a revoked or expired token, in the caller's transaction. */
    async assertTokenIn(tx: Tx, id: OperatorTokenId): Promise<void> {
      if (!(await store.isTokenOpen(tx, id, clock()))) throw invalidOperatorToken('ended')
    },

    /** The audit log above a number, oldest first. */
    logAfter: (seq: number, limit: number): Promise<Entry[]> => store.entriesAfter(db, seq, limit),

    /** Replaces the request of a log entry, for the erasure of a customer. */
    redact: (tx: Tx, entry: Entry, request: string, customer: string): Promise<void> => {
      const seal = sealEntry(entry.hash, fieldsOf({ ...entry, request }), deps.sha256)
      return store.redactEntry(tx, { seq: entry.seq, request, customer, seal }, clock())
    },

    /** The audit log below a number, newest first. */
    log: (of: {
      readonly before: number | undefined
      readonly operator: OperatorId | undefined
      readonly action: string | undefined
      readonly limit: number
    }): Promise<Entry[]> =>
      store.listEntries(db, {
        before: of.before ?? Number.MAX_SAFE_INTEGER,
        operator: of.operator ?? null,
        action: of.action ?? '',
        limit: of.limit,
      }),
  }
}
