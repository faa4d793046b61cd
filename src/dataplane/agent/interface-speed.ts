import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { maxInterfaceMegabits } from '../../core/bytes.ts'

/** A speed changes with a cable or a driver. Reading one asks the driver, so it is not read for each report. */
const readEveryMs = 60_000

/**
 * The summed speed of the machine's interfaces that are up, in Mbit/s; undefined if none has a speed. Loopback, bonds,
 * bridges and tunnels have no `device`: their traffic leaves through interfaces that are counted.
 */
export function readInterfaceMegabits(folder = '/sys/class/net'): number | undefined {
  if (!existsSync(folder)) return undefined
  const sum = readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'device')))
    .map((name) => readSpeed(join(folder, name)))
    .reduce((total, each) => total + each, 0)
  return sum > 0 ? Math.min(sum, maxInterfaceMegabits) : undefined
}

/** 0 for an interface that is down, or whose driver knows no speed: it answers -1 or EINVAL, as virtual machines do. */
function readSpeed(path: string): number {
  try {
    if (readFileSync(join(path, 'operstate'), 'utf8').trim() !== 'up') return 0
    const speed = Number(readFileSync(join(path, 'speed'), 'utf8'))
    return Number.isSafeInteger(speed) && speed > 0 ? speed : 0
  } catch {
    return 0
  }
}

/** The speed for reports, read at most once a minute. */
export function createInterfaceSpeed(now: () => number, read = readInterfaceMegabits): () => number | undefined {
  let known: { readonly megabits: number | undefined; readonly at: number } | undefined
  return () => {
    if (!known || now() - known.at >= readEveryMs) known = { megabits: read(), at: now() }
    return known.megabits
  }
}
