import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { familyOf, residentMb } from './shop-process.ts'

/** Linux counts in hundredths of a second on every supported processor. */
const ticksInSecond = 100

/** The CPU time of a process and its descendants, in user and kernel mode, including ended children. */
export const cpuSecondsOf = (pid: number): number => sum(familyOf(pid).map(whileAlive(ticksOf))) / ticksInSecond

export const familyMb = (pids: readonly number[]): number => sum(pids.map(whileAlive(residentMb)))

/** Servers end some of their processes at any time; an ended process counts as 0. */
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

/** Open files and connections, and separately the ends of pooled pipes. */
export function descriptorsOf(pids: readonly number[]): { readonly others: number; readonly pipes: number } {
  const all = pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).map((name) => nameOf(`/proc/${pid}/fd/${name}`)))
  const pipes = all.filter((name) => name.startsWith('pipe:')).length
  return { others: all.length - pipes, pipes }
}

/** A descriptor that was closed meanwhile has no name and is not counted. */
function nameOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** The threads of a process, with their processor seconds. */
export function threadSecondsOf(
  pid: number,
): { readonly id: number; readonly name: string; readonly seconds: number }[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}/stat`
    if (!existsSync(path)) return []
    const text = readFileSync(path, 'utf8')
    const end = text.lastIndexOf(')')
    const fields = text.slice(end + 2).split(' ')
    const seconds = sum(fields.slice(11, 13).map(Number)) / ticksInSecond
    return [{ id: Number(task), name: text.slice(text.indexOf('(') + 1, end), seconds }]
  })
}

/** utime, stime, cutime and cstime of proc(5). The name before them, in parentheses, may contain any character. */
function ticksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return sum(fields.slice(11, 15).map(Number))
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
