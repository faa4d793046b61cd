import { readdirSync, readFileSync } from 'node:fs'
import type { Engine } from './database.ts'

const nsPerMs = 1_000_000
/** Clock ticks per second in `/proc/stat` (USER_HZ), 100 on every Linux that Bun runs on. */
const msPerTick = 10

/** Reads a file below `/proc`; empty when the process or thread has ended. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

function listProc(path: string): string[] {
  try {
    return readdirSync(`/proc/${path}`)
  } catch {
    return []
  }
}

/** This process, all its descendants and, for a test on PostgreSQL, that server's processes. */
function findInvolved(engine: Engine): string[] {
  const processes = listProc('').flatMap((pid) => {
    const stat = /^\d+$/.test(pid) ? readProc(`${pid}/stat`) : ''
    const end = stat.lastIndexOf(')')
    if (end === -1) return []
    return [{ pid, name: stat.slice(stat.indexOf('(') + 1, end), parent: stat.slice(end + 2).split(' ')[1] ?? '' }]
  })
  const involved = new Set([String(process.pid)])
  for (let size = 0; size !== involved.size; ) {
    size = involved.size
    for (const { pid, parent } of processes) if (involved.has(parent)) involved.add(pid)
  }
  for (const { pid, name } of processes) if (name === engine) involved.add(pid)
  return [...involved]
}

/** The counters of a stopwatch at one moment. */
type Reading = {
  readonly atMs: number
  /** Processor time that the hypervisor gave to other machines. */
  readonly stolenMs: number
  /** By thread: for how long it was runnable but did not run (second field of `schedstat`). */
  readonly runDelaysMs: ReadonlyMap<string, number>
}

function read(engine: Engine): Reading {
  const runDelaysMs = new Map<string, number>()
  for (const pid of findInvolved(engine)) {
    for (const thread of listProc(`${pid}/task`)) {
      const delayNs = Number(readProc(`${pid}/task/${thread}/schedstat`).split(' ')[1] ?? 0)
      runDelaysMs.set(`${pid}/${thread}`, delayNs / nsPerMs)
    }
  }
  const stolenTicks = Number(/^cpu +(?:\d+ ){7}(\d+)/.exec(readProc('stat'))?.[1] ?? 0)
  return { atMs: performance.now(), stolenMs: stolenTicks * msPerTick, runDelaysMs }
}

/** Time between two readings, without run delays of the involved threads and without stolen time. */
export function toElapsedMs(from: Reading, to: Reading): number {
  let waitedMs = to.stolenMs - from.stolenMs
  for (const [thread, delayMs] of to.runDelaysMs) waitedMs += delayMs - (from.runDelaysMs.get(thread) ?? 0)
  return Math.max(0, to.atMs - from.atMs - waitedMs)
}

/**
 * Measures a promise about real time, such as "cut within 2 s", on a machine of any load. The sum of run delays over
 * all threads is at least the delay on the critical path, so load alone never makes the reading exceed the promise.
 * `engine` is the database of the test: PostgreSQL's processes count when it is used.
 */
export function startStopwatch(engine: Engine = 'sqlite'): { elapsedMs(): number } {
  const started = read(engine)
  return { elapsedMs: () => toElapsedMs(started, read(engine)) }
}
