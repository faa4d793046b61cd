import { type ReservedSQL, SQL } from 'bun'
import type { OpenDriver } from '../../src/db/pool.ts'
import type { Process } from './process.ts'
import { type Pace, shortOf } from './stepped-database.ts'
import type { World } from './world.ts'

/** How long real work of the server may take. */
const hangMs = 60_000
const lookMs = 2

type Answer = { readonly resolve: (result: unknown) => void; readonly reject: (error: unknown) => void }
type Statement = Answer & { readonly sql: string; readonly values: unknown[] | undefined }

/** A statement that the server runs, or that waits for a lock; or a connection that is being opened. */
type Running = {
  readonly line: Line
  readonly label: string
  readonly done: Promise<void>
  deliver: (() => void) | undefined
}

const isEnd = (sql: string): boolean => /^\s*(COMMIT|ROLLBACK)\b/i.test(sql)
const isCommit = (sql: string): boolean => /^\s*COMMIT\b/i.test(sql)
const isWrite = (sql: string): boolean => !/^\s*(SELECT|BEGIN|SET|ROLLBACK)\b/i.test(sql)

/** The error of the driver for a connection that the server has ended. */
const connectionLost = (): Error =>
  Object.assign(new Error('the server has ended the connection'), { code: 'ERR_POSTGRES_CONNECTION_CLOSED' })

/** A connection of a simulated process to the real server. */
class Line {
  readonly waiting: Statement[] = []
  current: Statement | undefined
  real: { readonly sql: SQL; readonly connection: ReservedSQL; readonly pid: number } | undefined
  isOver = false
  private isRunning = false

  constructor(
    readonly serial: number,
    readonly process: Process,
    readonly onclose: (error: Error | null) => void,
    private readonly server: SteppedPostgres,
  ) {}

  ask(sql: string, values: unknown[] | undefined): Promise<unknown> {
    if (this.isOver) return Promise.reject(connectionLost())
    return new Promise((resolve, reject) => {
      this.waiting.push({ sql, values, resolve, reject })
      if (!this.isRunning) void this.runAll()
    })
  }

  /** Statements are sent one after another: each may be an await at which others run, or at which its process dies. */
  private async runAll(): Promise<void> {
    this.isRunning = true
    for (let next = this.waiting.shift(); next; next = this.waiting.shift()) {
      this.current = next
      await this.server.run(this, next)
    }
    this.current = undefined
    this.isRunning = false
  }
}

/**
 * A real PostgreSQL server as a part of the simulation. Each statement of each connection is a step; one after another
 * is sent to the server, and the world waits until the server has answered it or lets it wait for a lock. A lock that a
 * commit frees lets others continue: their answers are delivered in the order of the connections.
 */
export class SteppedPostgres {
  private readonly ready: (() => Running)[] = []
  private running: Running[] = []
  private readonly lines = new Set<Line>()
  private readonly monitor
  private readonly name
  /** The database as it was once. */
  private kept: string | undefined
  private count = 0
  /** Connections have ended, so that others may have got their locks. */
  private isShaken = false
  private ending: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly world: World,
    private readonly url: string,
    private readonly pace: Pace,
  ) {
    const own = new URL(url)
    this.name = own.pathname.slice(1)
    // Copies of a database need it without connections.
    own.pathname = '/postgres'
    this.monitor = new SQL(own.href, { max: 1 })
    world.whenQuiet = () => this.runNext()
  }

  /** Connections of one process, for its pool. They end with it. */
  connectOf(process: Process): OpenDriver {
    process.onCrash(() => this.endLines([...this.lines].filter((line) => line.process === process)))
    return (options) => {
      const line = new Line((this.count += 1), process, options.onclose, this)
      const close = async (): Promise<void> => this.endLines([line])
      const reserve = async () => {
        await this.enqueue(line, 'a connection', () => this.open(line, options))
        return { unsafe: (sql: string, values?: unknown[]) => ({ execute: () => line.ask(sql, values) }), close }
      }
      return { reserve, close } as unknown as ReturnType<OpenDriver>
    }
  }

  /** The server ends all connections, as at its restart. */
  cutAll(): void {
    const lines = [...this.lines]
    this.endLines(lines)
    for (const { process, onclose, waiting, current } of lines) {
      if (!process.isAlive) continue
      process.run(() => {
        const lost = connectionLost()
        onclose(lost)
        for (const { reject } of [...(current ? [current] : []), ...waiting.splice(0)]) reject(lost)
      })
    }
  }

  /** Settles once the server has ended all connections that were given up. */
  readonly ended = (): Promise<unknown> => this.ending

  async copy(): Promise<void> {
    this.kept = `${this.name}_kept`
    await this.monitor.unsafe(`CREATE DATABASE ${this.kept} TEMPLATE ${this.name}`)
  }

  async goBack(): Promise<void> {
    await this.monitor.unsafe(`DROP DATABASE ${this.name} WITH (FORCE)`)
    await this.monitor.unsafe(`ALTER DATABASE ${this.kept} RENAME TO ${this.name}`)
    this.kept = undefined
  }

  async close(): Promise<void> {
    this.endLines([...this.lines])
    if (this.kept !== undefined) await this.monitor.unsafe(`DROP DATABASE ${this.kept} WITH (FORCE)`)
    await this.monitor.close()
  }

  /** One step of a statement. Never returns if its connection has ended. */
  async run(line: Line, statement: Statement): Promise<void> {
    const { process } = line
    const { sql, values, resolve, reject } = statement
    const label = isEnd(sql) ? sql.trim().toLowerCase() : shortOf(sql)
    if (isCommit(sql) || this.world.chance(`wait of ${label}`, 100) < this.pace.waits)
      await process.step(label, this.world.chance('time of a statement', this.pace.maxMs + 1))
    if (line.isOver) return await new Promise<never>(() => {})
    try {
      const result = await this.enqueue(line, label, async () => {
        if (!line.real) throw connectionLost()
        return line.real.connection.unsafe(sql, values).execute()
      })
      if (isCommit(sql) || isWrite(sql)) this.world.isChanged = true
      if (isCommit(sql)) await process.step('result of a commit')
      if (!line.isOver) resolve(result)
    } catch (error) {
      reject(error)
    }
  }

  private enqueue(line: Line, label: string, work: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.ready.push(() => {
        const running: Running = {
          line,
          label,
          deliver: undefined,
          done: work().then(
            (result) => void (running.deliver = () => resolve(result)),
            (error: unknown) => void (running.deliver = () => reject(error)),
          ),
        }
        return running
      })
      this.readyLines.push(line)
    })
  }

  /** Of each entry of `ready`. */
  private readonly readyLines: Line[] = []

  private async open(line: Line, options: Parameters<OpenDriver>[0]): Promise<void> {
    this.lines.add(line)
    // The server looks for a deadlock as soon as a statement waits: the last one of a circle is always its victim.
    const connection = { ...options.connection, deadlock_timeout: '1' }
    const sql = new SQL({ ...options, url: this.url, connection, onclose: () => {} })
    const reserved = await sql.reserve()
    const [row] = await reserved.unsafe<{ pid: number }[]>('SELECT pg_backend_pid() AS pid')
    line.real = { sql, connection: reserved, pid: Number(row?.pid) }
  }

  /** Sends the next statement, and delivers all answers once the server has nothing to do. */
  private async runNext(): Promise<boolean> {
    const next = this.takeReady()
    if (!next && !this.isShaken) return false
    this.isShaken = false
    const begun = next?.()
    if (begun) this.running.push(begun)
    await this.untilStill()
    if (begun && !begun.deliver) this.world.note(`${begun.line.process.name} waits for a lock: ${begun.label}`)
    const answered = this.running.filter(({ deliver }) => deliver).toSorted((a, b) => a.line.serial - b.line.serial)
    this.running = this.running.filter(({ deliver }) => !deliver)
    for (const { deliver, line } of answered) if (!line.isOver) deliver?.()
    return true
  }

  private takeReady(): (() => Running) | undefined {
    for (;;) {
      const [next, line] = [this.ready.shift(), this.readyLines.shift()]
      if (!next || (line?.process.isAlive && !line.isOver)) return next
    }
  }

  /** Waits until each statement has its answer, or waits for a lock that a statement which was answered holds. */
  private async untilStill(): Promise<void> {
    const since = performance.now()
    for (;;) {
      const open = this.running.filter(({ deliver, line }) => !deliver && !line.isOver)
      if (open.length === 0) return
      const pause = new Promise<void>((resolve) => void setTimeout(resolve, lookMs))
      await Promise.race([Promise.all(open.map(({ done }) => done)), pause])
      const left = open.filter(({ deliver }) => !deliver)
      if (left.length === 0) continue
      const isStill = await this.areBlocked(left.map(({ line }) => line.real?.pid ?? 0))
      if (isStill && left.every(({ deliver }) => !deliver)) return
      if (performance.now() - since > hangMs) throw new Error('the server does not answer')
    }
  }

  /** Whether all these server processes wait for locks, and none of them in a deadlock, which the server will end. */
  private async areBlocked(pids: readonly number[]): Promise<boolean> {
    const rows = await this.monitor.unsafe<{ pid: number; holders: string }[]>(
      `SELECT pid, array_to_string(pg_blocking_pids(pid), ',') AS holders
       FROM (SELECT DISTINCT pid FROM pg_locks WHERE NOT granted) AS waiting`,
    )
    const holdersOf = new Map(rows.map(({ pid, holders }) => [pid, holders.split(',').filter(Boolean).map(Number)]))
    const isInCycle = (pid: number): boolean => {
      const seen = new Set<number>()
      const next = [...(holdersOf.get(pid) ?? [])]
      for (let each = next.pop(); each !== undefined; each = next.pop()) {
        if (each === pid) return true
        if (seen.has(each)) continue
        seen.add(each)
        next.push(...(holdersOf.get(each) ?? []))
      }
      return false
    }
    return pids.every((pid) => (holdersOf.get(pid)?.length ?? 0) > 0 && !isInCycle(pid))
  }

  /** Ends connections: the server rolls back, and the world waits for it. */
  private endLines(lines: readonly Line[]): void {
    const ended = lines.filter((line) => !line.isOver)
    for (const line of ended) {
      line.isOver = true
      this.lines.delete(line)
    }
    this.running = this.running.filter(({ line }) => !line.isOver)
    const reals = ended.flatMap(({ real }) => real ?? [])
    if (reals.length === 0) return
    this.isShaken = true
    this.ending = Promise.all([this.ending, this.world.real(this.endReal(reals))])
    this.ending.catch((error: unknown) => this.world.fail(error))
  }

  private async endReal(reals: readonly NonNullable<Line['real']>[]): Promise<void> {
    const pids = reals.map(({ pid }) => pid).join(', ')
    await this.monitor.unsafe(
      `SELECT pg_terminate_backend(pid, ${hangMs}) FROM pg_stat_activity WHERE pid IN (${pids})`,
    )
    for (const { sql } of reals) void sql.close({ timeout: 0 }).catch(() => {})
  }
}
