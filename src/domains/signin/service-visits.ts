import type { Tx } from '../../db/transaction.ts'
import type { Session } from './rules.ts'

/** Where a browser is, as far as it tells. `household` is what is limited: one that has IPv6 has many addresses. */
export type Visitor = {
  readonly source: string | null
  readonly household: string
  readonly agent: string | null
  /** What its cookies hold, whatever that is. */
  readonly shown: readonly string[]
}

/** A session, and what its cookie holds: it is in this answer and nowhere else. */
export type Opened = { readonly secret: string; readonly session: Session }

/** What an operator has shown to be let in. */
export type Credential = {
  /** When it expires, if it does. */
  readonly expiresAt: number | null
  /** Refuses if it, its operator or the role has ended, with the operator's row locked. */
  readonly assertStill: (tx: Tx) => Promise<void>
}
