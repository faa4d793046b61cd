/** What goes into a statement. Whole numbers travel as bigint or as safe integers, never as floats. */
export type Value = string | bigint | number | Uint8Array | null

/** Reads with SQL. A row's whole numbers are bigint on both engines, its bytes Uint8Array, its texts string. */
export type Reader = {
  all<Row>(sql: string, values?: readonly Value[]): Promise<Row[]>
  first<Row>(sql: string, values?: readonly Value[]): Promise<Row | undefined>
}

/** A transaction that is open. It must not be kept or used after the function that received it has returned. */
export type Tx = Reader & {
  /** Runs a statement and tells how many rows it changed. */
  run(sql: string, values?: readonly Value[]): Promise<number>
  /**
   * Sends a write without waiting for it. It takes its place in order; should it fail, the whole transaction fails at
   * its commit. On PostgreSQL, writes to different tables that follow one another travel as one statement.
   */
  send(sql: string, values?: readonly Value[]): void
}

/**
 * One SQL text for both engines: parameters are `$1`, `$2`, …; whole numbers are BIGINT, bytes BYTEA; a row is locked
 * with `FOR UPDATE`, which SQLite leaves out because a transaction there has the whole database to itself.
 */
export type Database = Reader & {
  readonly engine: 'sqlite' | 'postgres'
  /**
   * Runs `work` in one transaction and answers only after its commit is on disk. What it throws undoes all that it did
   * and nothing else. It may be run again from the start after a deadlock, so it must have no effect but its SQL. Each
   * statement has seconds, and half an hour where it is `unhurried`.
   */
  transact<Result>(work: (tx: Tx) => Promise<Result>, pace?: 'unhurried'): Promise<Result>
  /** The same for chores over very many rows, which no customer waits for: a statement may take minutes. */
  transactLong<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Runs several reads against one unchanging snapshot; they may take longer than a sale may. */
  snapshot<Result>(work: (reader: Reader) => Promise<Result>): Promise<Result>
  /** Whether the last commit that changed something reached the disk, where this process writes the file itself. */
  isWritable?(): boolean
  close(): Promise<void>
}

/**
 * Gives out whole numbers that nobody else gets, in any process. Gaps are normal; order between processes is not kept.
 */
export type Counter = { take(count: number): Promise<number[]> }

/** A constraint said no: the code that relies on it may tell this apart from a fault. */
export class ConstraintViolation extends Error {
  override readonly name = 'ConstraintViolation'

  constructor(
    readonly kind: 'unique' | 'check' | 'other',
    options: ErrorOptions,
  ) {
    super(`a database constraint (${kind}) refused the statement`, options)
  }
}
