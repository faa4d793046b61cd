import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { cpuSecondsOf, descriptorsOf, familyMb } from '../../../bench/process-cost.ts'
import { familyOf } from '../../../bench/shop-process.ts'
import type { RoleProcess } from '../role-process.ts'

/** The figures of one process. */
export type ProcessReading = {
  readonly name: string
  /** How often it was started. */
  readonly run: number
  readonly mb: number
  readonly descriptors: number
  /** Ends of pipes, which the gateway pools, apart. */
  readonly pipes: number
  readonly cpuSeconds: number
}

export type DatabaseReading = {
  readonly mb: number
  readonly rows: ReadonlyMap<string, number>
  /** The database's clock minus this machine's. */
  readonly clockMs: number
}

/** A process that has ended or is being started is not read. */
export function readProcess(name: string, process: RoleProcess): ProcessReading | undefined {
  const { pid, starts } = process
  return pid === undefined || process.isGone ? undefined : readFamily(name, pid, starts)
}

function readFamily(name: string, pid: number, run: number): ProcessReading | undefined {
  try {
    const pids = familyOf(pid)
    const { others, pipes } = descriptorsOf(pids)
    const mb = familyMb(pids)
    // A process that is just ending has no memory any more.
    return Number.isNaN(mb) ? undefined : { name, run, mb, descriptors: others, pipes, cpuSeconds: cpuSecondsOf(pid) }
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}

/** The memory of a database server, of which its processes share most, and its processor seconds. */
export function readServer(pid: number): { readonly mb: number; readonly cpuSeconds: number } {
  const shareOf = (each: number): number => {
    try {
      return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
    } catch {
      // The connection has ended meanwhile.
      return 0
    }
  }
  return { mb: familyOf(pid).reduce((sum, each) => sum + shareOf(each), 0) / 1024, cpuSeconds: cpuSecondsOf(pid) }
}

/** The bytes of all files of a folder, in megabytes. A file may be removed meanwhile. */
export function folderMb(folder: string): number {
  const sizeOf = (path: string): number => {
    try {
      return statSync(path).size
    } catch {
      return 0
    }
  }
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
  return files.reduce((sum, path) => sum + sizeOf(path), 0) / 1e6
}

/** Reads the size of a PostgreSQL database, the rows of its tables and its clock over a connection of its own. */
export class DatabaseReader {
  private readonly sql: SQL

  constructor(url: string) {
    this.sql = new SQL(url, { max: 1 })
  }

  async read(): Promise<DatabaseReading> {
    const tables = await this.ask<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
    )
    const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*)::int AS rows FROM "${name}"`)
    const rows = await this.ask<{ name: string; rows: number }>(counts.join(' UNION ALL '))
    const [size] = await this.ask<{ mb: number }>('SELECT pg_database_size(current_database()) / 1e6::float8 AS mb')
    const beforeMs = Date.now()
    const [clock] = await this.ask<{ ms: number }>('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms')
    const clockMs = (clock?.ms ?? Number.NaN) - (beforeMs + Date.now()) / 2
    return { mb: Number(size?.mb), rows: new Map(rows.map(({ name, rows: count }) => [name, count])), clockMs }
  }

  /** The process of the server, which has one child for each connection. */
  async findServer(): Promise<number> {
    const [backend] = await this.ask<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${backend?.pid}/status`, 'utf8'))?.[1]
    return Number(parent)
  }

  close(): Promise<void> {
    return this.sql.close()
  }

  private ask<Row>(text: string): Promise<Row[]> {
    return this.sql.unsafe<Row[]>(text)
  }
}

/** One gauge of a program's metrics. */
export async function readGauge(url: string, name: string): Promise<number | undefined> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
  const line = (await answer?.text())?.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}
