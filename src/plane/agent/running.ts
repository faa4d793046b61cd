import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const pattern = /^running-([0-9a-z_-]{8,64})\.sock$/

/** Where a process of a node can be spoken to while it runs, by the boot that it is. */
export const runningSocket = (folder: string, boot: string): string => join(folder, `running-${boot}.sock`)

/** Whether a boot of the node in this folder is a process that runs now. One that stands still runs too. */
export async function isRunning(folder: string, boot: string): Promise<boolean> {
  const path = runningSocket(folder, boot)
  try {
    const socket = await Bun.connect({ unix: path, socket: { data() {}, error() {} } })
    socket.end()
    return true
  } catch {
    // What was killed leaves its socket behind.
    rmSync(path, { force: true })
    return false
  }
}

/** The boots of the node in this folder that run now, oldest first. */
export async function listRunning(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const named = readdirSync(folder).flatMap((name) => pattern.exec(name)?.[1] ?? [])
  const running: string[] = []
  for (const boot of named.toSorted()) if (await isRunning(folder, boot)) running.push(boot)
  return running
}
