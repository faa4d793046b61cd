import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { familyOf, residentMb } from './shop-process.ts'

/** Linux counts in hundredths of a second on every processor that it runs on. */
const ticksInSecond = 100

/** What a process and all that it has started have taken of the processors, in the kernel on their behalf too. */
export const cpuSecondsOf = (pid: number): number => sum(familyOf(pid).map(ticksOf)) / ticksInSecond

export const familyMb = (pids: readonly number[]): number => sum(pids.map(residentMb))

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

/** utime and stime of proc(5). The name before them, in parentheses, may hold anything. */
function ticksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
