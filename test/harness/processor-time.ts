import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second in `/proc/PID/stat` (USER_HZ), 100 on every Linux that Bun runs on. */
const ticksPerSecond = 100

type ProcessTimes = { readonly pid: number; readonly parent: number; readonly seconds: number }

/** Own time of a process and of the children that it has waited for; undefined when the process has ended. */
function readTimes(pid: number): ProcessTimes | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may contain spaces. The fields after it begin with the state.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { pid, parent: Number(fields[1]), seconds: ticks / ticksPerSecond }
  } catch {
    return undefined
  }
}

/**
 * Processor seconds of a process and of all its descendants, alive or ended. The sum never falls: the time of a child
 * that ends moves to its parent. Descendants whose parent ended before them are not found. 0 where there is no `/proc`.
 */
export function readProcessorSeconds(pid: number): number {
  const root = readTimes(pid)
  if (!root) return 0
  const others = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readTimes(Number(name)))
  const children = Map.groupBy(
    others.filter((each) => each !== undefined),
    (each) => each.parent,
  )
  const sum = (process: ProcessTimes): number =>
    process.seconds + (children.get(process.pid) ?? []).reduce((total, child) => total + sum(child), 0)
  return sum(root)
}
