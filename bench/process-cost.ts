import { readdirSync, readFileSync } from 'node:fs'
import { familyOf, residentMb } from './shop-process.ts'

/** Linux counts in hundredths of a second on every processor that it runs on. */
const ticksInSecond = 100

/** What a process and all that it has started have taken of the processors, in the kernel on their behalf too. */
export const cpuSecondsOf = (pid: number): number => sum(familyOf(pid).map(ticksOf)) / ticksInSecond

export const familyMb = (pids: readonly number[]): number => sum(pids.map(residentMb))

export const descriptorsOf = (pids: readonly number[]): number =>
  sum(pids.map((pid) => readdirSync(`/proc/${pid}/fd`).length))

/** utime and stime of proc(5). The name before them, in parentheses, may hold anything. */
function ticksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
