import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SocketHandler } from 'bun'
import type { Clock } from '../../core/time.ts'
import { toBootTime } from '../../node-protocol/report.ts'
import { listEarlier } from './earlier.ts'
import { findFile, writeOwnFile } from './own-file.ts'

/** Later times come from a damaged file and are ignored. */
const lastAt = Date.UTC(2500, 0)
const bootPattern = /^([0-9a-z]{9})-[0-9a-f]{8}$/

/** Makes and saves this run's boot id. Ids sort by time, also after the clock was set back. */
export function makeBoot(deps: {
  readonly folder: string
  readonly clock: Clock
  readonly randomBytes: (count: number) => Uint8Array
}): string {
  const path = join(deps.folder, 'last-boot')
  const remembered = findFile(path)?.trim() ?? ''
  const known = [remembered, ...listEarlier(deps.folder)].flatMap(findTime)
  const at = Math.max(Math.trunc(deps.clock()), ...known.map((each) => each + 1))
  const boot = `${toBootTime(at)}-${Buffer.from(deps.randomBytes(4)).toString('hex')}`
  writeOwnFile(path, `${boot}\n`)
  return boot
}

function findTime(boot: string): number[] {
  const at = Number.parseInt(bootPattern.exec(boot)?.[1] ?? '', 36)
  return at < lastAt ? [at] : []
}

const socketPattern = /^running-([0-9a-z_-]{8,64})\.sock$/

/** The Unix socket of a running process, named by its boot id. */
export const runningSocket = (folder: string, boot: string): string => join(folder, `running-${boot}.sock`)

/** Listens under a temporary name and renames the socket: a named socket that does not listen counts as killed. */
export function openRunning<Data>(folder: string, boot: string, socket: SocketHandler<Data>): { close(): void } {
  const path = runningSocket(folder, boot)
  const unnamed = join(folder, `opening-${boot}.sock`)
  const listener = Bun.listen<Data>({ unix: unnamed, socket })
  renameSync(unnamed, path)
  return {
    close() {
      rmSync(path, { force: true })
      listener.stop(true)
    },
  }
}

/** Whether the process of this boot runs; a stopped (SIGSTOP) process counts as running. */
export async function isRunning(folder: string, boot: string): Promise<boolean> {
  const path = runningSocket(folder, boot)
  try {
    const socket = await Bun.connect({ unix: path, socket: { data() {}, error() {} } })
    socket.end()
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    if (code !== 'ECONNREFUSED' || isBound(`-${boot}.sock`)) return true
    rmSync(path, { force: true })
    return false
  }
}

/** Whether a process has bound such a socket; Bun reports a full backlog and a dead socket alike. */
export function isBound(pathEnd: string): boolean {
  try {
    return readFileSync('/proc/net/unix', 'utf8').includes(`${pathEnd}\n`)
  } catch {
    // Only Linux has this list; handover and `up` need Linux.
    return false
  }
}

/** Boots that run now, oldest first. */
export async function listRunning(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const named = readdirSync(folder).flatMap((name) => socketPattern.exec(name)?.[1] ?? [])
  const running: string[] = []
  for (const boot of named.toSorted()) if (await isRunning(folder, boot)) running.push(boot)
  return running
}
