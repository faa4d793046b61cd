import { type ReservedSQL, SQL } from 'bun'
import { toBound } from './portable.ts'
import type { Listener, Silence } from './silence.ts'
import { isUrgent, unavailable, type Value } from './transaction.ts'

const connectSeconds = 5
/** How long closing waits for running transactions. */
const closeMs = 5_000
/** Pause after the server refused a new connection, while other connections can become free. */
const refusedMs = 1_000
/** How many connections a read tries when connections turn out to be closed or outdated. */
const maxReads = 3

/** Timeouts of the pool. In sum less than the HTTP server's timeout, so that the client gets a refusal. */
export const shippedLimits = {
  /** For a free connection. */
  poolWaitMs: 5_000,
  /** For a lock (lock_timeout). */
  lockWaitMs: 5_000,
  /** For a statement (statement_timeout). */
  statementMs: 15_000,
  /** For any answer. After that the server hangs, or its machine is gone. */
  silentMs: 18_000,
  /** For the answer to a COMMIT, which waits for the standby of a synchronous replication. */
  commitMs: 8_000,
  /** A COMMIT that took longer is proven by the positions of the standbys: its wait may have been cancelled. */
  trustedCommitMs: 50,
  /** Where the role may not see the positions, a second commit is the proof if it takes no longer than this. */
  confirmMs: 1_000,
}
export type PoolLimits = Readonly<typeof shippedLimits>

/** The parts of a reserved connection that are used here. */
type Client = { unsafe(sql: string, values?: unknown[]): { execute(): Promise<unknown> } }

/** A connection, used by one caller at a time. */
export type PooledConnection = {
  /** The server did not answer within `silentMs`; a retry would take as long. */
  wasSilent: boolean
  readonly client: Client
  /** Throws the connection away when the server is silent for longer than usual. */
  readonly listener: Listener
  /** A listener that throws the connection away after `silentMs` without an answer of the server. */
  listenFor(silentMs: number): Listener
  /** Throws the connection away. */
  close(): void
  isLost: boolean
  /** A COMMIT is not answered yet. The server would keep its backend and locks, so the connection is not given up. */
  isCommitting: boolean
  /** The server's process behind the connection; undefined before its first transaction. */
  backend?: Backend | undefined
}

/** A process of a server, and when that server was started: another one may use the number too. */
export type Backend = { readonly pid: number; readonly startedAt: string }

type Waits = (line: PooledConnection | Promise<PooledConnection>) => void

/** Opens connections; the driver, or a test's server between it and the pool. */
export type OpenDriver = (
  options: SQL.PostgresOrMySQLOptions & { onclose(error: Error | null): void },
) => Pick<SQL, 'reserve' | 'close'>
export const connectWithDriver: OpenDriver = (options) => new SQL(options)

/** Connection pool; every wait is limited. A silent connection is discarded: no answer reaches the wrong caller. */
export class Pool {
  readonly #lines = new Set<PooledConnection>()
  /** Idle connections, last in first out: the last one is the warmest. */
  readonly #free: PooledConnection[] = []
  /** Callers that wait for a connection, first in first out, and the urgent ones before them. */
  readonly #waiting = new Set<Waits>()
  readonly #urgent = new Set<Waits>()
  #opening = 0
  /** When a server that refused a connection may be asked again. */
  #mayOpenAt = 0
  /** Set while closing: no new caller is accepted, the current ones finish. */
  #whenEmpty: PromiseWithResolvers<void> | undefined
  #isClosed = false

  constructor(
    private readonly url: string,
    private readonly size: number,
    readonly limits: PoolLimits,
    private readonly silence: Silence,
    private readonly connect = connectWithDriver,
  ) {}

  async read(sql: string, values: readonly Value[] = []): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const line = this.#free.pop() ?? (await this.#next())
      line.listener.sent()
      try {
        return await line.client.unsafe(sql, toBound(values)).execute()
      } catch (error) {
        if (isCut(error) || isOutdated(error)) this.renew(line)
        if (!line.isLost || line.wasSilent || attempt >= maxReads) throw error
      } finally {
        line.listener.heard()
        this.giveBack(line)
      }
    }
  }

  /** `waitMs` is what a caller who has waited already may still wait. */
  take(waitMs?: number): PooledConnection | Promise<PooledConnection> {
    return this.#free.pop() ?? this.#next(waitMs)
  }

  giveBack(line: PooledConnection): void {
    if (line.isLost) return
    const waits = this.#firstWaiting()
    if (waits) waits(line)
    else if (this.#whenEmpty) line.close()
    else this.#free.push(line)
  }

  /** Discards a broken connection and all idle ones, which are as old. */
  renew(line: PooledConnection): void {
    line.close()
    this.#closeFree()
  }

  #closeFree(): void {
    for (const line of this.#free.splice(0)) line.close()
  }

  async close(): Promise<void> {
    this.#whenEmpty ??= Promise.withResolvers()
    this.#closeFree()
    if (this.#lines.size + this.#opening === 0) this.#whenEmpty.resolve()
    const timer = setTimeout(() => this.#whenEmpty?.resolve(), closeMs)
    await this.#whenEmpty.promise
    clearTimeout(timer)
    this.#isClosed = true
    for (const waits of [...this.#urgent, ...this.#waiting]) waits(Promise.reject(closed()))
    for (const line of this.#lines) line.close()
    this.silence.stop()
  }

  #next(waitMs?: number): Promise<PooledConnection> {
    if (this.#whenEmpty) return Promise.reject(closed())
    // A connection that another caller is opening may succeed although this one failed.
    return this.#mayOpen() ? this.#openOrWait(() => this.#lines.size + this.#opening > 0) : this.#wait(waitMs)
  }

  #mayOpen(): boolean {
    const count = this.#lines.size + this.#opening
    return count === 0 || (count < this.size && performance.now() >= this.#mayOpenAt)
  }

  /** If the server refuses another connection, waits for one of the existing ones. */
  async #openOrWait(isWorthIt: () => boolean): Promise<PooledConnection> {
    try {
      return await this.#open()
    } catch (error) {
      if (!isWorthIt()) throw error
      return this.#free.pop() ?? this.#wait()
    }
  }

  #wait(waitMs: number = this.limits.poolWaitMs): Promise<PooledConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<PooledConnection>()
    const queue = isUrgent() ? this.#urgent : this.#waiting
    const listener = this.silence.listen(waitMs, () => {
      queue.delete(waits)
      reject(unavailable('closed', new Error('no connection was free in time')))
    })
    const waits: Waits = (line) => {
      queue.delete(waits)
      listener.heard()
      resolve(line)
    }
    listener.sent()
    queue.add(waits)
    return promise
  }

  async #open(): Promise<PooledConnection> {
    this.#opening += 1
    let line: PooledConnection | undefined
    let closedBy: Error | undefined
    const onclose = (error: Error | null): void => {
      closedBy = error ?? new Error('the connection was closed')
      if (line) this.#lose(line)
    }
    let sql: ReturnType<OpenDriver> | undefined
    try {
      sql = this.connect({ ...optionsOf(this.url, this.limits), onclose })
      const connection = await this.#reserveOn(sql)
      if (this.#isClosed) throw closed()
      if (closedBy) throw closedBy
      line = this.#lineOn(sql, connection)
      this.#lines.add(line)
      return line
    } catch (error) {
      void sql?.close({ timeout: 0 })
      this.#mayOpenAt = performance.now() + refusedMs
      throw error
    } finally {
      this.#opening -= 1
      if (!line) this.#openForNext()
    }
  }

  async #reserveOn(sql: ReturnType<OpenDriver>): Promise<ReservedSQL> {
    const end = new AbortController()
    const listener = this.silence.listen(this.limits.poolWaitMs, () => end.abort())
    listener.sent()
    try {
      return await sql.reserve({ signal: end.signal })
    } catch (error) {
      throw error instanceof DOMException ? late(error) : error
    } finally {
      listener.heard()
    }
  }

  #lineOn(sql: ReturnType<OpenDriver>, connection: ReservedSQL): PooledConnection {
    const close = (): void => {
      this.#lose(line)
      void connection.close({ timeout: 0 })
      void sql.close({ timeout: 0 })
    }
    const listenFor = (silentMs: number): Listener =>
      this.silence.listen(silentMs, () => {
        if (line.isCommitting) return
        line.wasSilent = true
        // Idle connections are likely to be silent, too.
        this.renew(line)
      })
    const client = connection as unknown as Client
    const listener = listenFor(this.limits.silentMs)
    const state = { isLost: false, wasSilent: false, isCommitting: false }
    const line: PooledConnection = { client, listener, listenFor, close, ...state }
    return line
  }

  /** Removes a connection for good and opens a new one for the first waiting caller. */
  #lose(line: PooledConnection): void {
    if (line.isLost) return
    line.isLost = true
    this.#lines.delete(line)
    const at = this.#free.indexOf(line)
    if (at >= 0) this.#free.splice(at, 1)
    this.#openForNext()
  }

  #openForNext(): void {
    const waits = this.#firstWaiting()
    if (waits && this.#mayOpen()) waits(this.#openOrWait(() => this.#lines.size > 0))
    else if (!waits && this.#lines.size + this.#opening === 0) this.#whenEmpty?.resolve()
  }

  #firstWaiting() {
    for (const queue of [this.#urgent, this.#waiting]) for (const waits of queue) return waits
    return undefined
  }
}

const closed = () => late(new Error('the database is closed'))

/** The server or the network has ended the connection. */
export const isCut = (error: unknown): boolean =>
  /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|ECONN|EPIPE)/.test(textIn(error, 'code')) ||
  ['57P01', '57P02', '57P05'].includes(stateOf(error))

/** The server has closed the connection with the error, or refused to open it. */
export const isFatal = (error: unknown): boolean => textIn(error, 'severity') === 'FATAL'

/** A restore in place drops all tables and makes them again. */
export const isMissingTable = (error: unknown): boolean => stateOf(error) === '42P01'

/** The server's SQLSTATE, if it sent one. */
export const stateOf = (error: unknown): string => textIn(error, 'errno')

/** The connection has cached plans of tables that were altered since. */
export const isOutdated = (error: unknown): boolean => textIn(error, 'routine') === 'RevalidateCachedQuery'

/** BEGIN READ WRITE on a standby: a setting that the server cannot take (`feature_not_supported`). */
export const isOnStandby = (error: unknown): boolean =>
  stateOf(error) === '0A000' && /^(call_bool_check_hook|check_)/.test(textIn(error, 'routine'))

function textIn(error: unknown, name: 'code' | 'errno' | 'routine' | 'severity'): string {
  const value = error instanceof Error ? (error as Error & Partial<Record<typeof name, unknown>>)[name] : undefined
  return typeof value === 'string' ? value : ''
}

const loopbackHosts = /^(localhost|127\.[\d.]+|\[::1\]|)$/i

/**
 * The address with `sslmode=prefer`, as libpq has it, unless it names a mode or the server is on this machine: the
 * driver would not ask for TLS. `prefer` encrypts if the server can, and does not prove the server's identity.
 */
export function preferTls(address: string): string {
  const url = new URL(address)
  if (url.searchParams.has('sslmode') || loopbackHosts.test(url.hostname)) return address
  url.searchParams.set('sslmode', 'prefer')
  return url.href
}

const optionsOf = (url: string, { statementMs, lockWaitMs }: PoolLimits) => ({
  url: preferTls(url),
  max: 1,
  bigint: true,
  connectionTimeout: connectSeconds,
  connection: {
    application_name: 'turnpike',
    // Statements here are short; compiling one costs more than it ever saves.
    jit: 'off',
    // LIMIT queries must walk an index in order. A bitmap scan would read and sort all matching rows of a stock that
    // was just added and has no statistics yet.
    enable_bitmapscan: 'off',
    // Hot rows are in memory, where an index lookup costs less than a scan of a few hundred rows.
    random_page_cost: '1.1',
    // BEGIN is not awaited. If it fails, the statements after it must not be committed one by one.
    default_transaction_read_only: 'on',
    statement_timeout: String(statementMs),
    lock_timeout: String(lockWaitMs),
    idle_in_transaction_session_timeout: String(statementMs),
    // The server's side of the connection: it drops a client whose machine or link is gone after 25 s, and with it the
    // client's locks. Its default is two hours, in which no other shop could lead the jobs.
    tcp_keepalives_idle: '10',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
    tcp_user_timeout: '25000',
  },
})

export const late = (cause: unknown) => unavailable('late', cause)
