import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, release, tmpdir, totalmem } from 'node:os'

/** The machine of the figures, without identifying data. */
export type Machine = {
  readonly cores: number
  readonly cpu: string
  readonly memoryGb: number
  readonly system: string
  readonly disk: string
  readonly versions: readonly string[]
  readonly date: string
  /** The largest share of the processors that other programs used just before a bench. */
  readonly busy: number
}

export function describeMachine(versions: readonly string[], busy: number): Machine {
  const cpu = /^(?:model name|Model)\s*:\s*(.+)$/m.exec(readText('/proc/cpuinfo'))?.[1] ?? 'unnamed CPU'
  const system = /^PRETTY_NAME="?([^"\n]+)/m.exec(readText('/etc/os-release'))?.[1] ?? process.platform
  return {
    cores: availableParallelism(),
    cpu: `${cpu.trim()} (${process.arch})`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${system}, kernel ${release()}`,
    disk: isMemory(tmpdir()) ? 'in memory: nothing waits for a disk, so the figures do not count' : 'a disk',
    versions,
    date: new Date().toISOString().slice(0, 10),
    busy,
  }
}

export const toLines = (machine: Machine): string[] => [
  `${machine.date}; ${machine.cores} cores, ${machine.cpu}; ${machine.memoryGb} GB of memory; ${machine.system}`,
  `Databases on ${machine.disk}; load, shop and database server share the cores`,
  `${Math.round(machine.busy * 100)} % of the processors were busy with other things before the measuring began`,
  machine.versions.join(', '),
]

/** The first line of a program's version output. */
export function versionOf(command: readonly string[]): string | undefined {
  if (Bun.which(command[0] ?? '') === null) return undefined
  const { stdout, stderr } = Bun.spawnSync([...command], { stdin: 'ignore' })
  return (stdout.toString() + stderr.toString()).split('\n')[0]?.trim()
}

/** `tmpfs`, by its number in statfs(2). */
const isMemory = (folder: string): boolean => statfsSync(folder).type === 0x01021994

const readText = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

/**
 * The share of the processors that other programs use now, from 0 to 1. One busy process elsewhere slows a
 * single-threaded shop more than a database server with many processes, so ratios measured beside one are not valid.
 */
export async function measureBusy(): Promise<number> {
  const before = readTimes()
  await Bun.sleep(1_000)
  const after = readTimes()
  const all = after.all - before.all
  return all === 0 ? 0 : 1 - (after.idle - before.idle) / all
}

/** The first line of /proc/stat: user, nice, system, idle, iowait and the rest, in ticks. */
function readTimes(): { idle: number; all: number } {
  const ticks = (readText('/proc/stat').split('\n')[0] ?? '').split(/\s+/).slice(1).map(Number)
  return { idle: (ticks[3] ?? 0) + (ticks[4] ?? 0), all: ticks.reduce((sum, each) => sum + each, 0) }
}
