import { type Backend, Pool, type PooledConnection, type PoolLimits } from './pool.ts'
import { Silence } from './silence.ts'

/** How often the server is asked about the commits that wait. */
const askEveryMs = 5_000

/**
 * Commits that were not answered in time. The server's process waits for a standby and keeps its locks and its slot of
 * `max_connections`, also after its client has disconnected. So the connections are kept, which bounds the commits that
 * wait, until the server answers or no longer has the process.
 */
export class WaitingCommits {
  readonly #lines = new Set<PooledConnection>()
  #isWatching = false

  constructor(
    private readonly url: string,
    private readonly limits: PoolLimits,
    private readonly silence: Silence,
  ) {}

  get count(): number {
    return this.#lines.size
  }

  /** Keeps the connection until `answer` settles, whatever the answer is. */
  add(line: PooledConnection, answer: Promise<unknown>): void {
    this.#lines.add(line)
    const end = () => void this.#lines.delete(line)
    answer.then(end, end)
    this.#watch()
  }

  #watch(): void {
    if (this.#isWatching || this.#lines.size === 0) return
    this.#isWatching = true
    const again = (): void => {
      this.#isWatching = false
      this.#watch()
    }
    const listener = this.silence.listen(askEveryMs, () => void this.#closeDead().then(again))
    listener.sent()
  }

  /**
   * Closes connections whose process the server does not have: it has lost them without a word, or another server has
   * taken its address. A server that does not answer decides nothing.
   */
  async #closeDead(): Promise<void> {
    const lines = [...this.#lines]
    const pids = lines.flatMap(({ backend }) => (backend ? [backend.pid] : []))
    // A connection of its own: all those of the pool may wait.
    const pool = new Pool(this.url, 1, this.limits, new Silence())
    try {
      const list = [0, ...pids].map((_, index) => `CAST($${index + 1} AS int)`).join(', ')
      const sql = `SELECT pid, ${startedSql} FROM pg_stat_activity WHERE pid IN (${list})`
      const found = readBackends(await pool.read(sql, [0, ...pids]))
      for (const line of lines) {
        const isThere = ({ pid, startedAt }: Backend): boolean =>
          pid === line.backend?.pid && startedAt === line.backend.startedAt
        if (!found.some(isThere)) line.close()
      }
    } catch {
      // The next look asks again.
    } finally {
      await pool.close()
    }
  }
}

const startedSql = 'CAST(pg_postmaster_start_time() AS text) AS started_at'

/** The process behind the connection that asks. */
export const backendSql = `SELECT pg_backend_pid() AS pid, ${startedSql}`

const readBackends = (rows: unknown): Backend[] =>
  (Array.isArray(rows) ? rows : []).flatMap((row: unknown) => {
    const isRow = typeof row === 'object' && row !== null && 'pid' in row && 'started_at' in row
    return isRow ? [{ pid: Number(row.pid), startedAt: String(row.started_at) }] : []
  })

export const findBackend = (rows: unknown): Backend | undefined => readBackends(rows)[0]
