import { sealEntry } from '../../core/chain.ts'
import { makeId, type OperatorId, type OperatorTokenId, type RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import {
  badName,
  invalidOperatorToken,
  lastOwner,
  nameTaken,
  noSuchOperator,
  noSuchOperatorToken,
  operatorRemoved,
  roleTooLow,
} from './errors.ts'
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

/** How long a look-up is believed. A revocation in another process is known after this long at most. */
const cacheTtlMs = 500
const maxCached = 1000
const hintLength = 8

export type Operators = ReturnType<typeof createOperators>

export function createOperators(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
}) {
  const { db, clock, random } = deps
  const tokens = createTtlCache({
    load: findToken,
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
    shouldKeep: (found) => found !== undefined,
  })
  const known = createTtlCache({
    load: (id: OperatorId) => store.findOperator(db, id),
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
  })

  /** Compared again here: what an index takes for equal is not what opens a door. */
  async function findToken(text: string) {
    const digest = deps.sha256(text)
    const found = await store.findByDigest(db, digest)
    return found && sameBytes(found.digest, digest) ? found : undefined
  }

  async function add(tx: Tx, name: string, role: Role): Promise<Operator> {
    if (!isOperatorName(name) || name.toLowerCase() === toolName) throw badName()
    if (await store.isNameTaken(tx, name)) throw nameTaken(name)
    const nowMs = clock()
    const operator = { id: makeId('operator', nowMs, random), name, role, createdAt: nowMs, removedAt: null }
    store.insertOperator(tx, operator)
    return operator
  }

  /** One who is there. With him go all others, so that the last owner stays. */
  async function take(tx: Tx, name: string, keepsOwner: boolean): Promise<Operator> {
    const all = await store.lockOperators(tx)
    const found = all.find((each) => each.name === name)
    if (!found) throw noSuchOperator()
    const owners = all.filter((each) => each.role === 'owner')
    if (!keepsOwner && found.role === 'owner' && owners.length === 1) throw lastOwner()
    return found
  }

  function forget(): void {
    tokens.clear()
    known.clear()
  }

  return {
    /** Adds an operator, in the caller's transaction: the link that lets him in is made with him. */
    add,

    list: (): Promise<Operator[]> => store.listOperators(db),

    /** One who is there, by his id, at most half a second ago. */
    async findPresent(id: OperatorId): Promise<Operator | undefined> {
      const found = await known.get(id)
      return found?.removedAt === null ? found : undefined
    },

    /** The same, or the refusal of somebody who may not come in. */
    async loadPresent(id: OperatorId): Promise<Operator> {
      const found = await known.get(id)
      if (found?.removedAt !== null) throw invalidOperatorToken('ended')
      return found
    },

    /** Refuses one who is not there, or no longer, as the caller's transaction sees it. */
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

    async load(name: string): Promise<Operator> {
      const found = await store.findByName(db, name)
      if (!found) throw noSuchOperator()
      return found
    },

    /** Lets an operator in by his token, or refuses. */
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

    /** Refuses whoever may not do what wants at least this role. */
    assertRole(operator: Pick<Operator, 'role'>, needed: Role): void {
      if (!mayActAs(operator.role, needed)) throw roleTooLow(needed, operator.role)
    },

    /** Gives an operator another role, in the caller's transaction: the operator's views end with it. */
    async setRole(tx: Tx, name: string, role: Role): Promise<Operator> {
      const operator = await take(tx, name, role === 'owner')
      await store.setRole(tx, operator.id, role)
      return { ...operator, role }
    },

    /** Takes an operator out, in the caller's transaction: his sessions end with it. His tokens are revoked. */
    async remove(tx: Tx, name: string): Promise<Operator> {
      const operator = await take(tx, name, false)
      const nowMs = clock()
      await store.remove(tx, operator.id, nowMs)
      return { ...operator, removedAt: nowMs }
    },

    /** All is asked anew from now on. */
    forget,

    /** Makes a token. Its text is in the answer and nowhere else. */
    issueToken: (name: string, wish: { readonly name: string; readonly expiresAt: number | null }) =>
      db.transact(async (tx): Promise<{ text: string; token: OperatorToken }> => {
        const operator = await store.findByName(tx, name)
        if (!operator) throw noSuchOperator()
        const text = makeOperatorToken(random(tokenRandomBytes))
        const nowMs = clock()
        const token: OperatorToken = {
          id: makeId('operator_token', nowMs, random),
          operator: operator.id,
          hint: text.slice(0, hintLength),
          name: wish.name,
          createdAt: nowMs,
          expiresAt: wish.expiresAt,
          revokedAt: null,
        }
        store.insertToken(tx, token, deps.sha256(text))
        return { text, token }
      }),

    async listTokens(name: string): Promise<OperatorToken[]> {
      const operator = await store.findByName(db, name)
      if (!operator) throw noSuchOperator()
      return store.listTokens(db, operator.id)
    },

    /** Revokes a token, in the caller's transaction, and returns its operator; `forget` follows the commit. */
    async revokeToken(tx: Tx, id: OperatorTokenId): Promise<OperatorId> {
      const operator = await store.revokeToken(tx, id, clock())
      if (!operator) throw noSuchOperatorToken()
      await store.lockOperator(tx, operator)
      return operator
    },

    /** Refuses a token that has ended, as the caller's transaction sees it. */
    async assertTokenIn(tx: Tx, id: OperatorTokenId): Promise<void> {
      if (!(await store.isTokenOpen(tx, id, clock()))) throw invalidOperatorToken('ended')
    },

    /** What was done, in its order, after this number. */
    logAfter: (seq: number, limit: number): Promise<Entry[]> => store.entriesAfter(db, seq, limit),

    /** Shortens what an entry says was asked for, in the caller's transaction and for the erasure of a customer. */
    redact: (tx: Tx, entry: Entry, request: string, customer: string): Promise<void> => {
      const seal = sealEntry(entry.hash, fieldsOf({ ...entry, request }), deps.sha256)
      return store.redactEntry(tx, { seq: entry.seq, request, customer, seal }, clock())
    },

    /** What was done, newest first, below this number. */
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
