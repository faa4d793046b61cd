import { type ReservedSQL, SQL } from 'bun'
import { toBound } from './portable.ts'
import { Silence } from './silence.ts'
import type { Value } from './transaction.ts'
import { unavailable } from './unavailable.ts'

const connectSeconds = 5

/** How long a server is waited for, besides the five seconds in which it has to let one in. */
export type Limits = {
  /** For a free connection. */
  readonly poolWaitMs: number
  /** For a lock, as the server is told. */
  readonly lockWaitMs: number
  /** For a statement, as the server is told. */
  readonly statementMs: number
  /** Past that and no word from the server: it hangs, or its machine is gone. */
  readonly silentMs: number
}

/** Together less than the HTTP server keeps a silent request for: whoever asked hears why he gets nothing. */
export const shippedLimits: Limits = {
  poolWaitMs: 5_000,
  lockWaitMs: 5_000,
  statementMs: 15_000,
  silentMs: 18_000,
}

/** The parts of a pooled client and of a reserved connection that are used here. */
type Client = { unsafe(sql: string, values?: unknown[]): Promise<unknown> & Running }
type Running = { readonly active: boolean; cancel(): unknown; execute(): Promise<unknown> }

/** Connections of one opening. Those in use are counted: it is closed when the last of them has come back. */
type Opening = { readonly sql: SQL; inUse: number; isLeft: boolean }

/**
 * Connections to one PostgreSQL, none of which is waited for without end. One that stays silent is thrown away and
 * never given to anybody else, so that nobody reads an answer that was meant for another.
 */
export class Pool {
  readonly #open: () => SQL
  readonly #silence = new Silence()
  readonly #left = new Set<Opening>()
  #current: Opening

  constructor(
    url: string,
    size: number,
    readonly limits: Limits,
  ) {
    this.#open = () => new SQL(optionsOf(url, size, limits))
    this.#current = { sql: this.#open(), inUse: 0, isLeft: false }
  }

  /** One statement on whatever connection is least busy. */
  read(sql: string, values: readonly Value[] = []): Promise<unknown> {
    const opening = this.#current
    const query = (opening.sql as unknown as Client).unsafe(sql, toBound(values))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const listener = this.#silence.listen(this.limits.silentMs, () => {
      reject(late(new Error('the server is silent')))
      // One that still waits for a connection says nothing of the server; what the others wait for does.
      if (query.active) this.#leave(opening)
      else query.cancel()
    })
    listener.asked()
    const heard =
      <Answer>(tell: (answer: Answer) => void) =>
      (answer: Answer): void => {
        listener.heard()
        tell(answer)
      }
    query.then(heard(resolve), heard(reject))
    return promise
  }

  /** A connection for one transaction, thrown away if the server is silent for longer than `silentMs`. */
  async reserve(silentMs: number) {
    const opening = this.#current
    opening.inUse += 1
    try {
      const connection = await reserveOn(opening.sql, this.limits.poolWaitMs)
      const listener = this.#silence.listen(silentMs, () => void connection.close({ timeout: 0 }))
      return { client: connection as unknown as Client, listener, release: () => this.#release(opening, connection) }
    } catch (error) {
      this.#giveBack(opening)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#silence.stop()
    await Promise.all([
      this.#current.sql.close({ timeout: 5 }),
      ...[...this.#left].map((opening) => opening.sql.close({ timeout: 0 })),
    ])
  }

  async #release(opening: Opening, connection: ReservedSQL): Promise<void> {
    await connection.release()
    this.#giveBack(opening)
  }

  #giveBack(opening: Opening): void {
    opening.inUse -= 1
    this.#closeIfDone(opening)
  }

  /**
   * A connection that reads share cannot be thrown away alone: all of its opening are. Transactions that run on others
   * end as they would, each within its own limit; new ones get new connections.
   */
  #leave(opening: Opening): void {
    if (opening.isLeft) return
    opening.isLeft = true
    this.#left.add(opening)
    this.#current = { sql: this.#open(), inUse: 0, isLeft: false }
    this.#closeIfDone(opening)
  }

  #closeIfDone(opening: Opening): void {
    if (!opening.isLeft || opening.inUse > 0) return
    this.#left.delete(opening)
    void opening.sql.close({ timeout: 0 })
  }
}

async function reserveOn(sql: SQL, withinMs: number): Promise<ReservedSQL> {
  try {
    return await sql.reserve({ signal: AbortSignal.timeout(withinMs) })
  } catch (error) {
    throw error instanceof DOMException ? late(error) : error
  }
}

const optionsOf = (url: string, size: number, { statementMs, lockWaitMs }: Limits) => ({
  url,
  max: size,
  bigint: true,
  connectionTimeout: connectSeconds,
  connection: {
    application_name: 'turnpike',
    // Statements here are short; compiling one costs more than it ever saves.
    jit: 'off',
    // Whoever asks for the first of many is to get them in an index's order. Through a bitmap all of them would be
    // read and sorted, in every sale from a stock that was just added and that nobody has counted yet.
    enable_bitmapscan: 'off',
    statement_timeout: String(statementMs),
    lock_timeout: String(lockWaitMs),
    idle_in_transaction_session_timeout: String(statementMs),
  },
})

export const late = (cause: unknown) => unavailable('The database did not answer in time.', cause)
