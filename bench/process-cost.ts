import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { familyOf, residentMb } from './shop-process.ts'

/** Linux counts in hundredths of a second on every processor that it runs on. */
const ticksInSecond = 100

/**
 * What a process and all that it has started have taken of the processors, in the kernel on their behalf too: also what
 * those took that have ended since.
 */
export const cpuSecondsOf = (pid: number): number => sum(familyOf(pid).map(whileAlive(ticksOf))) / ticksInSecond

export const familyMb = (pids: readonly number[]): number => sum(pids.map(whileAlive(residentMb)))

/** Servers of many processes end some of them at any time; what has ended holds nothing. */
const whileAlive =
  (measure: (pid: number) => number) =>
  (pid: number): number => {
    try {
      return measure(pid)
    } catch (error) {
      if (existsSync(`/proc/${pid}/stat`)) throw error
      return 0
    }
  }

/** Open files and connections, and beside them the ends of pipes, which are kept to be used again. */
export function descriptorsOf(pids: readonly number[]): { readonly others: number; readonly pipes: number } {
  const all = pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).map((name) => nameOf(`/proc/${pid}/fd/${name}`)))
  const pipes = all.filter((name) => name.startsWith('pipe:')).length
  return { others: all.length - pipes, pipes }
}

/** One that was closed meanwhile has no name, and is none. */
function nameOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** utime, stime, cutime and cstime of proc(5). The name before them, in parentheses, may hold anything. */
function ticksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return sum(fields.slice(11, 15).map(Number))
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
