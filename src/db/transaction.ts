import { AsyncLocalStorage } from 'node:async_hooks'
import type { DatabaseProblem } from '../core/messages/en.ts'
import { Refusal } from '../core/refusal.ts'
import type { WriteProblem } from './write-check.ts'

/** A bound value. Whole numbers are bigint or safe integers, never floats. */
export type Value = string | bigint | number | Uint8Array | null

/** Reads with SQL. A row's whole numbers are bigint on both engines, its bytes Uint8Array, its texts string. */
export type Reader = {
  all<Row>(sql: string, values?: readonly Value[]): Promise<Row[]>
  first<Row>(sql: string, values?: readonly Value[]): Promise<Row | undefined>
}

/** An open transaction. It must not be used after the function that received it has returned. */
export type Tx = Reader & {
  /** Runs a statement and returns how many rows it changed. */
  run(sql: string, values?: readonly Value[]): Promise<number>
  /** Queues a write; if it fails, the commit fails. PostgreSQL gets writes to different tables as one statement. */
  send(sql: string, values?: readonly Value[]): void
}

/**
 * `unhurried` allows half an hour per statement. `unreplicated` is for bookkeeping that may be lost in a failover or a
 * power failure, such as rate limits: on PostgreSQL its commit waits for no standby and no disk, and takes no permit of
 * those that commits which wait have used up.
 */
export type Pace = 'unhurried' | 'unreplicated'

/**
 * One SQL text for both engines: parameters `$1`, `$2`, …; BIGINT and BYTEA; `FOR UPDATE`, which SQLite omits because
 * its writer has the whole database.
 */
export type Database = Reader & {
  readonly engine: 'sqlite' | 'postgres'
  /**
   * Runs `work` in one transaction and returns after its commit is on disk. `work` may be repeated after a deadlock, so
   * SQL must be its only effect.
   */
  transact<Result>(work: (tx: Tx) => Promise<Result>, pace?: Pace): Promise<Result>
  /** The same for jobs over very many rows: a statement may take minutes. */
  transactLong<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Runs several reads on one snapshot; they may take longer than a sale. */
  snapshot<Result>(work: (reader: Reader) => Promise<Result>): Promise<Result>
  /** Why rows cannot be written now; undefined if they can. */
  findWriteProblem(): Promise<WriteProblem | undefined>
  close(): Promise<void>
}

/** Hands out unique whole numbers across processes. Gaps are normal, order between processes is not kept. */
export type IdCounter = { take(count: number): Promise<number[]> }

/** A violated constraint, as opposed to a fault. */
export class ConstraintViolation extends Error {
  override readonly name = 'ConstraintViolation'

  constructor(
    readonly kind: 'unique' | 'check' | 'other',
    options: ErrorOptions,
  ) {
    super(`a database constraint (${kind}) refused the statement`, options)
  }
}

/** The database cannot be used now. A failed commit may have happened; the Idempotency-Key settles that. */
export function unavailable(problem: DatabaseProblem, cause: unknown): Refusal {
  return Object.assign(new Refusal('database_unavailable', { problem }), { cause })
}

const urgent = new AsyncLocalStorage<true>()

/** Runs work whose transactions go first: reports of nodes, which a busy shop would take for silent. */
export const urgently = <Result>(work: () => Promise<Result>): Promise<Result> => urgent.run(true, work)

export const isUrgent = (): boolean => urgent.getStore() === true
