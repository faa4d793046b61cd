import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SocketHandler } from 'bun'
import type { Clock } from '../../core/time.ts'
import { listEarlier } from './earlier.ts'
import { findFile, writeOwnFile } from './own-file.ts'

const fileName = 'last-boot'
/** Base 36: nine characters hold the milliseconds of the next three thousand years. */
const timeDigits = 9
/** A damaged file must not use up the names that are left. */
const lastAt = Date.UTC(2500, 0)
const bootPattern = /^([0-9a-z]{9})-[0-9a-f]{8}$/

/**
 * Names this run of the node. Later names sort later, also when the clock was set back since the last run: the shop
 * would take a name that sorts earlier for a dead process and give it nothing. Remembered before it is used.
 */
export function makeBoot(deps: {
  readonly folder: string
  readonly clock: Clock
  readonly randomBytes: (count: number) => Uint8Array
}): string {
  const path = join(deps.folder, fileName)
  const remembered = findFile(path)?.trim() ?? ''
  const known = [remembered, ...listEarlier(deps.folder)].flatMap(findTime)
  const at = Math.max(Math.trunc(deps.clock()), ...known.map((each) => each + 1))
  const boot = `${at.toString(36).padStart(timeDigits, '0')}-${Buffer.from(deps.randomBytes(4)).toString('hex')}`
  writeOwnFile(path, `${boot}\n`)
  return boot
}

/** The moment in a boot's name; nothing for a text that is none, or for a moment that no clock of ours has shown. */
function findTime(boot: string): number[] {
  const at = Number.parseInt(bootPattern.exec(boot)?.[1] ?? '', 36)
  return at < lastAt ? [at] : []
}

const socketPattern = /^running-([0-9a-z_-]{8,64})\.sock$/

/** Where a process of a node can be spoken to while it runs, by the boot that it is. */
export const runningSocket = (folder: string, boot: string): string => join(folder, `running-${boot}.sock`)

/**
 * Opens where this process is spoken to. It gets its name once it listens: before that, whoever looks would take it for
 * one that was killed.
 */
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

/** Whether a boot of the node in this folder is a process that runs now. One that stands still runs too. */
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
    // A killed process leaves its socket file behind.
    rmSync(path, { force: true })
    return false
  }
}

/**
 * Whether a process has a Unix socket open that it bound under a path with this end. Bun reports ECONNREFUSED both for
 * a full queue of connections and for a socket file whose process was killed; this tells one from the other.
 */
export function isBound(pathEnd: string): boolean {
  try {
    return readFileSync('/proc/net/unix', 'utf8').includes(`${pathEnd}\n`)
  } catch {
    // Systems other than Linux have no such list; gateways that hand over, and `up`, are for Linux.
    return false
  }
}

/** The boots of the node in this folder that run now, oldest first. */
export async function listRunning(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const named = readdirSync(folder).flatMap((name) => socketPattern.exec(name)?.[1] ?? [])
  const running: string[] = []
  for (const boot of named.toSorted()) if (await isRunning(folder, boot)) running.push(boot)
  return running
}
